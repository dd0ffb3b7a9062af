//! Tables that Python takes as Arrow: the PyCapsule interface.
use crate::work::WorkError;
use arrow_array::RecordBatch;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatchIterator, RecordBatchReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, Schema};
use homenode_table::{Cell, Column, Kind, Layout};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use serde_json::Value;

/// Rows and columns, for whatever takes Arrow: `pyarrow.table(t)`, `polars.DataFrame(t)`, `pandas.DataFrame.from_arrow(t)`, a query of
/// DuckDB.
#[pyclass(frozen, module = "homenode")]
pub(crate) struct Table {
    batch: RecordBatch,
    /// The first rows as text; empty for batches of references.
    head: String,
}

/// Rows that a table shows of itself.
const SHOWN_ROWS: usize = 20;

impl Table {
    pub(crate) fn new(batch: RecordBatch) -> Table {
        Table { batch, head: String::new() }
    }
    pub(crate) fn of(table: &homenode_table::Table) -> PyResult<Table> {
        let mut first = homenode_table::Table::new(table.columns().to_vec());
        table.rows().take(SHOWN_ROWS).for_each(|row| first.push(row));
        let head = first.lines(&Layout { absent: "-", ..Layout::default() }).join("\n");
        let batch = table.batch().map_err(|e| unmade(&e))?;
        Ok(Table { batch, head })
    }
}

pub(crate) fn unmade(e: &ArrowError) -> PyErr {
    WorkError::new_err(e.to_string())
}

#[pymethods]
impl Table {
    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|f| f.name().clone()).collect()
    }
    /// Number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }
    /// The schema, by Arrow's C interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema(py, &self.batch.schema())
    }
    /// The rows, by Arrow's C interface. Columns come as they are, whatever schema is asked for.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer leave the request aside.
        drop(requested_schema);
        let rows = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        stream(py, Box::new(rows))
    }
    fn __repr__(&self) -> String {
        let (rows, columns) = (self.batch.num_rows(), self.batch.num_columns());
        let what = format!("homenode.Table: {rows} rows, {columns} columns");
        if self.head.is_empty() { format!("<{what}>") } else { format!("{}\n{what}", self.head) }
    }
}

pub(crate) fn schema<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(|e| unmade(&e))?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

pub(crate) fn stream<'py>(py: Python<'py>, rows: Box<dyn RecordBatchReader + Send>) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(rows), c"arrow_array_stream")
}

/// What the cells of a column are, found by looking at them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Nothing,
    Kind(Kind),
}

/// Objects of a document as rows: members of members get names joined by `_`, lists are JSON. Columns come in the order in which
/// members are first met. Costs beyond 53 bits, which documents have as digits, are numbers again.
pub(crate) fn rows(name: &'static str, items: &[Value]) -> homenode_table::Table {
    let flat: Vec<Vec<(String, &Value)>> = items.iter().map(flat).collect();
    let mut columns: Vec<(String, Seen)> = Vec::new();
    for (member, value) in flat.iter().flatten() {
        let at = columns.iter().position(|(known, _)| known == member).unwrap_or_else(|| {
            columns.push((member.clone(), Seen::Nothing));
            columns.len() - 1
        });
        columns[at].1 = joined(columns[at].1, value);
    }
    let kind = |seen| if let Seen::Kind(kind) = seen { kind } else { Kind::Text };
    let shown = columns.iter().map(|(name, seen)| Column::new(name.clone(), kind(*seen)));
    let mut table = homenode_table::Table::new(shown.collect()).named(name, "");
    for row in &flat {
        let value = |name: &String| row.iter().find(|(member, _)| member == name).map(|(_, value)| *value);
        table.push(columns.iter().map(|(name, seen)| value(name).map_or(Cell::Absent, |v| cell(v, kind(*seen)))));
    }
    table
}

/// Members of an object, those of inner objects too; anything else is a member called `value`.
fn flat(item: &Value) -> Vec<(String, &Value)> {
    let Value::Object(members) = item else { return vec![("value".to_owned(), item)] };
    let mut out = Vec::new();
    for (name, value) in members {
        match value {
            Value::Object(_) => out.extend(flat(value).into_iter().map(|(inner, v)| (format!("{name}_{inner}"), v))),
            _ => out.push((name.clone(), value)),
        }
    }
    out
}

/// The digits of a number that a document has as a string.
fn digits(text: &str) -> Option<i128> {
    let is_number = text.len() >= 16 && text.trim_start_matches('-').bytes().all(|b| b.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

fn joined(seen: Seen, value: &Value) -> Seen {
    let kind = match value {
        Value::Null => return seen,
        Value::Bool(_) => Kind::Flag,
        Value::Number(n) if n.is_u64() => Kind::Count,
        Value::Number(n) if n.is_i64() => Kind::Int,
        Value::Number(_) => Kind::Real,
        Value::String(text) if digits(text).is_some() => Kind::Wide,
        Value::String(_) | Value::Array(_) | Value::Object(_) => Kind::Text,
    };
    let Seen::Kind(known) = seen else { return Seen::Kind(kind) };
    let numbers = [Kind::Count, Kind::Int, Kind::Wide, Kind::Real];
    let rank = |kind: Kind| numbers.iter().position(|k| *k == kind);
    Seen::Kind(match (rank(known), rank(kind)) {
        (Some(a), Some(b)) => numbers[a.max(b)],
        _ if known == kind => kind,
        _ => Kind::Text,
    })
}

fn cell(value: &Value, kind: Kind) -> Cell<'_> {
    let number = |n: &serde_json::Number| n.as_i128();
    match (kind, value) {
        (_, Value::Null) => Cell::Absent,
        (Kind::Flag, Value::Bool(b)) => Cell::Flag(*b),
        (Kind::Count, Value::Number(n)) => n.as_u64().map_or(Cell::Absent, Cell::Count),
        (Kind::Int, Value::Number(n)) => n.as_i64().map_or(Cell::Absent, Cell::Int),
        (Kind::Wide, Value::Number(n)) => number(n).map_or(Cell::Absent, Cell::Wide),
        (Kind::Wide, Value::String(text)) => digits(text).map_or(Cell::Absent, Cell::Wide),
        (Kind::Real, Value::Number(n)) => n.as_f64().map_or(Cell::Absent, Cell::Real),
        (Kind::Real, Value::String(text)) => digits(text).map_or(Cell::Absent, |n| Cell::Real(n as f64)),
        (_, Value::String(text)) => Cell::from(text.as_str()),
        (_, other) => Cell::Text(other.to_string().into()),
    }
}
