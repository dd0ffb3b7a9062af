//! What analyses return: tables for people and files, series for plots.
use serde::Serialize;

/// One cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// Words.
    Text(String),
    /// A count.
    Count(u64),
    /// A ratio or an estimate; always finite.
    Real(f64),
    /// Does not apply here, or cannot be known.
    Absent,
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}
impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}
impl From<u64> for Value {
    fn from(n: u64) -> Value {
        Value::Count(n)
    }
}
impl From<f64> for Value {
    /// A number that is not finite says nothing: it becomes [`Value::Absent`].
    fn from(x: f64) -> Value {
        if x.is_finite() { Value::Real(x) } else { Value::Absent }
    }
}
impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(x: Option<T>) -> Value {
        x.map_or(Value::Absent, Into::into)
    }
}

/// A column: its name, with the unit at the end where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Column(pub &'static str);

/// A table; every row has one value a column.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    /// Name, in words that can be part of a file name.
    pub name: &'static str,
    /// What it says and what it does not, one or two sentences.
    pub note: &'static str,
    /// Columns.
    pub columns: Vec<Column>,
    /// Rows.
    pub rows: Vec<Vec<Value>>,
}

impl Table {
    /// A table without rows.
    pub fn new(name: &'static str, note: &'static str, columns: &[&'static str]) -> Table {
        Table { name, note, columns: columns.iter().map(|c| Column(c)).collect(), rows: Vec::new() }
    }
    /// Adds a row, which must have a value for each column.
    pub fn push(&mut self, row: Vec<Value>) {
        debug_assert_eq!(row.len(), self.columns.len(), "{}", self.name);
        self.rows.push(row);
    }
}

/// A line of a plot.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Series {
    /// What it is, for the legend.
    pub label: String,
    /// Points (x, y), ascending by x.
    pub points: Vec<(f64, f64)>,
}
