//! References by batches, read while they are taken.
use crate::table::{Table, schema, stream};
use crate::work::{GLANCE, STACK_BYTES, Watch, WorkError, raised};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use homenode_command::Failure;
use homenode_export::{RowsRequest, batches};
use homenode_trace::order::OrderKind;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};

/// Batches that wait to be taken: reading goes on meanwhile, and no more than these are in memory.
const WAITING: usize = 2;

type Next = Result<RecordBatch, Failure>;

/// References of a recording in order, as an iterator of tables and as an Arrow stream, once.
#[pyclass(frozen, module = "homenode")]
pub(crate) struct References {
    schema: SchemaRef,
    /// The first batch, and where the others come from; none once somebody took them.
    left: Mutex<Option<Left>>,
}

struct Left {
    first: Option<RecordBatch>,
    rest: Receiver<Next>,
    watch: Watch,
}

impl Left {
    /// The next batch. Ctrl-C ends the waiting.
    fn next(&mut self) -> Option<PyResult<RecordBatch>> {
        if let Some(first) = self.first.take() {
            return Some(Ok(first));
        }
        loop {
            match self.rest.recv_timeout(GLANCE) {
                Ok(Ok(batch)) if batch.num_rows() == 0 => {}
                Ok(next) => return Some(next.map_err(|failure| raised(&failure))),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(stopped) = Python::attach(|py| py.check_signals()) {
                        return Some(Err(stopped));
                    }
                }
            }
        }
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        self.watch.stop();
    }
}

#[pymethods]
impl References {
    /// Begins to read.
    #[new]
    #[pyo3(signature = (dataset, *, order, seed, machine, block, map, after_caches, realign, rows))]
    #[expect(clippy::too_many_arguments, reason = "each is one of the command's options, by name")]
    fn new(
        py: Python<'_>,
        dataset: PathBuf,
        order: &str,
        seed: u64,
        machine: String,
        block: Option<u64>,
        map: Option<String>,
        after_caches: bool,
        realign: Option<String>,
        rows: usize,
    ) -> PyResult<References> {
        let order = order_of(order, seed)?;
        let request = RowsRequest { dataset, order, after_caches, machine, block, map, realign };
        let (give, rest) = sync_channel::<Next>(WAITING);
        let watch = Watch::default();
        let mut told = watch.clone();
        let body = move || {
            let taken = |batch| give.send(Ok(batch)).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe));
            if let Err(failure) = batches(&request, rows.max(1), &mut { taken }, &mut told) {
                // Nobody listens if the rows are not wanted any more.
                let _ = give.send(Err(failure));
            }
        };
        std::thread::Builder::new().name("homenode".to_owned()).stack_size(STACK_BYTES).spawn(body)?;
        let mut left = Left { first: None, rest, watch };
        let first = py.detach(|| left.next());
        let first = first.unwrap_or_else(|| Err(WorkError::new_err("reading ended before it began")))?;
        let schema = first.schema();
        left.first = Some(first).filter(|first| first.num_rows() > 0);
        Ok(References { schema, left: Mutex::new(Some(left)) })
    }

    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|f| f.name().clone()).collect()
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Table>> {
        let next = py.detach(|| {
            let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
            left.as_mut().and_then(Left::next)
        });
        next.transpose().map(|batch| batch.map(Table::new))
    }

    /// The schema, by Arrow's C interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema(py, &self.schema)
    }

    /// What has not been taken yet, by Arrow's C interface. Columns come as they are, whatever schema is asked for.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer leave the request aside.
        drop(requested_schema);
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner).take();
        let left = left.ok_or_else(|| WorkError::new_err("these references were taken already: ask for them again"))?;
        stream(py, Box::new(Stream { schema: self.schema.clone(), left }))
    }

    fn __repr__(&self) -> String {
        format!("<homenode.References: columns {}>", self.column_names().join(", "))
    }
}

/// The rest of the references as Arrow takes them.
struct Stream {
    schema: SchemaRef,
    left: Left,
}

impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;
    fn next(&mut self) -> Option<Self::Item> {
        let next = self.left.next()?;
        Some(next.map_err(|e| {
            // An error of a stream is words; Ctrl-C is to arrive as such.
            let is_stopped = Python::attach(|py| e.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py));
            if is_stopped {
                let again = Python::attach(|py| py.import("_thread")?.call_method0("interrupt_main").map(drop));
                drop(again);
            }
            ArrowError::ExternalError(e.to_string().into())
        }))
    }
}

impl RecordBatchReader for Stream {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// An order by its name.
pub(crate) fn order_of(name: &str, seed: u64) -> PyResult<OrderKind> {
    match name {
        "model" => Ok(OrderKind::Model),
        "recorded" => Ok(OrderKind::Recorded { seed }),
        _ => Err(raised(&Failure::usage(format!("order: there is no order '{name}': model or recorded")))),
    }
}
