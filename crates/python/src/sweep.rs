//! Sweeps: whole, and in the pieces that a scheduler hands out; runs of reproductions, which are such pieces too.
use crate::work::{self, Watch, raised};
use homenode_command::Failure;
use homenode_sweep::{Message, ResolvedStudy, ResultStore, SweepRequest, Task};
use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// A request from JSON.
fn request(text: &str) -> PyResult<SweepRequest> {
    serde_json::from_str(text).map_err(|e| raised(&Failure::usage(format!("no request of a sweep: {e}"))))
}

/// Answers a study with worker processes, which `worker` starts; the summary, as JSON.
#[pyfunction]
pub(crate) fn sweep(
    py: Python<'_>,
    asked: &str,
    worker: Vec<OsString>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let request = SweepRequest { worker: Some(worker), ..request(asked)? };
    work::run(py, progress.as_ref(), &Watch::default(), move |watch| {
        homenode_sweep::sweep(&request, watch).map(|doc| doc.to_json())
    })
}

/// A study whose tasks somebody else hands out.
#[pyclass(frozen, module = "homenode")]
pub(crate) struct Sweep {
    opened: Arc<Mutex<Opened>>,
}

struct Opened {
    request: SweepRequest,
    resolved: ResolvedStudy,
    store: ResultStore,
    began: Instant,
    /// The summary of an earlier call that did all of it.
    done: Option<String>,
}

#[pymethods]
impl Sweep {
    /// Reads the study and takes its folder, in which an earlier call may have done some of it.
    #[new]
    fn new(py: Python<'_>, asked: &str) -> PyResult<Sweep> {
        let request = request(asked)?;
        work::run(py, None, &Watch::default(), move |_| open(request))
            .map(|opened| Sweep { opened: Arc::new(Mutex::new(opened)) })
    }
    /// Folder of the sweep.
    #[getter]
    fn folder(&self) -> PathBuf {
        self.with(|opened| opened.store.path().to_owned())
    }
    /// The summary, as JSON, if an earlier call did all of it.
    #[getter]
    fn done(&self) -> Option<String> {
        self.with(|opened| opened.done.clone())
    }
    /// What can be done now and is not done, as JSON, one text a task; of one replay, its units alone. A partition that was made brings
    /// more.
    #[pyo3(signature = (replay = None))]
    fn pending(&self, py: Python<'_>, replay: Option<usize>) -> Vec<String> {
        py.detach(|| {
            self.with(|Opened { resolved, store, .. }| {
                let tasks = match replay {
                    Some(replay) => homenode_sweep::pending_of(resolved, store, replay),
                    None => homenode_sweep::pending(resolved, store),
                };
                tasks.iter().map(|task| serde_json::to_string(task).expect("numbers serialise")).collect()
            })
        })
    }
    /// Makes the table when nothing is pending; the summary, as JSON.
    fn finish(&self, py: Python<'_>) -> PyResult<String> {
        let opened = self.opened.clone();
        work::run(py, None, &Watch::default(), move |_| {
            let opened = opened.lock().unwrap_or_else(PoisonError::into_inner);
            let Opened { request, resolved, store, began, .. } = &*opened;
            homenode_sweep::finish(resolved, store, request, *began).map(|doc| doc.to_json())
        })
    }
}

impl Sweep {
    fn with<T>(&self, look: impl FnOnce(&Opened) -> T) -> T {
        look(&self.opened.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn open(request: SweepRequest) -> Result<Opened, Failure> {
    let began = Instant::now();
    let (resolved, store, done) = homenode_sweep::open(&request)?;
    let done = done.map(|doc| doc.to_json());
    Ok(Opened { request, resolved, store, began, done })
}

/// Does a task in the folder of a sweep, in this process.
#[pyfunction]
pub(crate) fn carry_out(py: Python<'_>, folder: PathBuf, memory_bytes: u64, task: String) -> PyResult<()> {
    let watch = Watch::default();
    work::run(py, None, &watch, move |_| carry_out_here(&folder, memory_bytes, &task))
}

/// Does one run of a recording for the reproduction of a paper; its result, as JSON on one line.
#[pyfunction]
pub(crate) fn carry_out_run(py: Python<'_>, unit: String) -> PyResult<String> {
    work::run(py, None, &Watch::default(), move |_| homenode_papers::carry_out(&unit))
}

/// As a worker process does it.
fn carry_out_here(folder: &Path, memory_bytes: u64, task: &str) -> Result<(), Failure> {
    let task: Task = serde_json::from_str(task).map_err(|e| Failure::usage(format!("no task: {e}")))?;
    let mut said = Vec::new();
    let line = homenode_command::json_line(&task);
    homenode_sweep::serve(folder, memory_bytes, line.as_bytes(), &mut said)?;
    let last = said.split(|b| *b == b'\n').rfind(|line| !line.is_empty()).unwrap_or_default();
    match serde_json::from_slice(last) {
        Ok(Message::Done) => Ok(()),
        Ok(Message::Failed(status, message)) => Err(Failure { class: homenode_command::Class::of(status), message }),
        _ => Err(Failure::work("the task was not done")),
    }
}
