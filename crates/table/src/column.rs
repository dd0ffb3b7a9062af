//! What a column is.
use arrow_schema::{DataType, Field};

/// What the cells of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Words.
    Text,
    /// Unsigned numbers below 2^16.
    Count16,
    /// Unsigned numbers below 2^32.
    Count32,
    /// Unsigned numbers below 2^64.
    Count,
    /// Signed numbers of 64 bits.
    Int,
    /// Whole numbers of at most 38 decimal digits: sums of costs do not fit into 64 bits.
    Wide,
    /// Ratios and estimates.
    Real,
    /// Yes or no.
    Flag,
}

impl Kind {
    /// Arrow's type.
    pub(crate) fn arrow(self) -> DataType {
        match self {
            Kind::Text => DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8)),
            Kind::Count16 => DataType::UInt16,
            Kind::Count32 => DataType::UInt32,
            Kind::Count => DataType::UInt64,
            Kind::Int => DataType::Int64,
            Kind::Wide => DataType::Decimal128(38, 0),
            Kind::Real => DataType::Float64,
            Kind::Flag => DataType::Boolean,
        }
    }
}

/// Side of a column on which its cells are flush in text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name, with the unit at its end where the cells have one; the heading of the column.
    pub name: String,
    /// What its cells are; the kind of the first cell that is present if it is not said.
    pub kind: Option<Kind>,
    /// Whether every row has a cell.
    pub required: bool,
    /// Where cells stand in text; numbers stand to the right unless it is said.
    pub side: Option<Side>,
    /// Characters of its text, at least.
    pub width: usize,
    /// Characters below which its text is not squeezed; `None` if it is never squeezed.
    pub least: Option<usize>,
}

impl Column {
    /// A column of this kind; a cell may be absent.
    pub fn new(name: impl Into<String>, kind: Kind) -> Column {
        Column { kind: Some(kind), ..Column::named(name) }
    }
    /// A column of the kind of its first cell.
    pub fn named(name: impl Into<String>) -> Column {
        Column { name: name.into(), kind: None, required: false, side: None, width: 0, least: None }
    }
    /// Words that may be squeezed down to `least` characters.
    pub fn words(name: impl Into<String>, least: usize) -> Column {
        Column { least: Some(least), ..Column::new(name, Kind::Text) }
    }
    /// Numbers that are words already, with their units: flush right.
    pub fn number(name: impl Into<String>) -> Column {
        Column { side: Some(Side::Right), ..Column::new(name, Kind::Text) }
    }
    /// Column of which every row has a cell.
    #[must_use]
    pub fn required(self) -> Column {
        Column { required: true, ..self }
    }
    /// Column with at least so many characters in text.
    #[must_use]
    pub fn wide(self, width: usize) -> Column {
        Column { width, ..self }
    }
    /// Arrow's field, for cells of this type.
    pub(crate) fn field(&self, kind: DataType) -> Field {
        Field::new(&self.name, kind, !self.required)
    }
}
