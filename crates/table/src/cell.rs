//! One cell.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// A cell of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Cell<'a> {
    /// Does not apply, or cannot be known.
    Absent,
    /// Yes or no.
    Flag(bool),
    /// A count.
    Count(u64),
    /// A signed number.
    Int(i64),
    /// A ratio or an estimate.
    Real(f64),
    /// A whole number of at most 38 decimal digits.
    Wide(i128),
    /// Words.
    Text(Cow<'a, str>),
}

impl Cell<'_> {
    /// Cell with words of its own.
    pub fn owned(self) -> Cell<'static> {
        match self {
            Cell::Absent => Cell::Absent,
            Cell::Flag(b) => Cell::Flag(b),
            Cell::Count(n) => Cell::Count(n),
            Cell::Int(n) => Cell::Int(n),
            Cell::Real(x) => Cell::Real(x),
            Cell::Wide(n) => Cell::Wide(n),
            Cell::Text(t) => Cell::Text(Cow::Owned(t.into_owned())),
        }
    }

    /// As people read it: numbers with as many digits as say something.
    pub(crate) fn shown<'c>(&'c self, absent: &'c str) -> Cow<'c, str> {
        match self {
            Cell::Absent => Cow::Borrowed(absent),
            Cell::Text(t) => Cow::Borrowed(t),
            Cell::Real(x) if x.fract() == 0.0 && x.abs() < 1e15 => Cow::Owned(format!("{x:.0}")),
            Cell::Real(x) if x.abs() < 0.01 => Cow::Owned(format!("{x:.2e}")),
            Cell::Real(x) => Cow::Owned(format!("{x:.3}")),
            other => Cow::Owned(other.to_string()),
        }
    }
}

impl fmt::Display for Cell<'_> {
    /// All digits; nothing if it is absent.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::Absent => Ok(()),
            Cell::Flag(b) => write!(f, "{b}"),
            Cell::Count(n) => write!(f, "{n}"),
            Cell::Int(n) => write!(f, "{n}"),
            Cell::Real(x) => write!(f, "{x}"),
            Cell::Wide(n) => write!(f, "{n}"),
            Cell::Text(t) => f.write_str(t),
        }
    }
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Cell<'a> {
        Cell::Text(Cow::Borrowed(text))
    }
}
impl<'a> From<&'a String> for Cell<'a> {
    fn from(text: &'a String) -> Cell<'a> {
        Cell::Text(Cow::Borrowed(text))
    }
}
impl From<String> for Cell<'_> {
    fn from(text: String) -> Self {
        Cell::Text(Cow::Owned(text))
    }
}
impl From<bool> for Cell<'_> {
    fn from(b: bool) -> Self {
        Cell::Flag(b)
    }
}
impl From<u64> for Cell<'_> {
    fn from(n: u64) -> Self {
        Cell::Count(n)
    }
}
impl From<i64> for Cell<'_> {
    fn from(n: i64) -> Self {
        Cell::Int(n)
    }
}
impl From<i128> for Cell<'_> {
    fn from(n: i128) -> Self {
        Cell::Wide(n)
    }
}
impl From<f64> for Cell<'_> {
    /// A number that is not finite says nothing: it becomes [`Cell::Absent`].
    fn from(x: f64) -> Self {
        if x.is_finite() { Cell::Real(x) } else { Cell::Absent }
    }
}
impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(x: Option<T>) -> Cell<'a> {
        x.map_or(Cell::Absent, Into::into)
    }
}
