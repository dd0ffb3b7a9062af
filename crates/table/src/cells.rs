//! The cells of one column, in Arrow's layout, while rows are added.
use crate::words::Words;
use crate::{Cell, Kind};
use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Decimal128Builder, Float64Builder, Int64Builder, UInt16Builder, UInt32Builder,
    UInt64Builder,
};
use arrow_array::{ArrayRef, NullArray};
use std::borrow::Cow;
use std::sync::Arc;

/// Places of words that are remembered while rows are added.
const LATELY: usize = 64;

/// Builders of Arrow's arrays.
#[derive(Debug)]
pub(crate) enum Cells {
    /// So many absent cells of a column whose kind is not known yet.
    Undecided(usize),
    /// The number of each word, and the words.
    Text(UInt32Builder, Words),
    Count16(UInt16Builder),
    Count32(UInt32Builder),
    Count(UInt64Builder),
    Int(Int64Builder),
    Wide(Decimal128Builder),
    Real(Float64Builder),
    Flag(BooleanBuilder),
}

/// Does the same with the builder of any kind.
macro_rules! each {
    ($cells:expr, $n:ident => $undecided:expr, $b:ident => $same:expr) => {
        match $cells {
            Cells::Undecided($n) => $undecided,
            Cells::Text($b, _) => $same,
            Cells::Count16($b) => $same,
            Cells::Count32($b) => $same,
            Cells::Count($b) => $same,
            Cells::Int($b) => $same,
            Cells::Wide($b) => $same,
            Cells::Real($b) => $same,
            Cells::Flag($b) => $same,
        }
    };
}

impl Cells {
    pub(crate) fn new(kind: Option<Kind>) -> Cells {
        match kind {
            None => Cells::Undecided(0),
            Some(Kind::Text) => Cells::Text(UInt32Builder::new(), Words::default()),
            Some(Kind::Count16) => Cells::Count16(UInt16Builder::new()),
            Some(Kind::Count32) => Cells::Count32(UInt32Builder::new()),
            Some(Kind::Count) => Cells::Count(UInt64Builder::new()),
            Some(Kind::Int) => Cells::Int(Int64Builder::new()),
            Some(Kind::Wide) => Cells::Wide(Decimal128Builder::new().with_data_type(Kind::Wide.arrow())),
            Some(Kind::Real) => Cells::Real(Float64Builder::new()),
            Some(Kind::Flag) => Cells::Flag(BooleanBuilder::new()),
        }
    }

    /// Whether such a cell can be added.
    pub(crate) fn takes(&self, cell: &Cell<'_>) -> bool {
        match (self, cell) {
            (_, Cell::Absent) | (Cells::Undecided(_), _) | (Cells::Text(..), Cell::Text(_)) => true,
            (Cells::Count16(_), Cell::Count(n)) => u16::try_from(*n).is_ok(),
            (Cells::Count32(_), Cell::Count(n)) => u32::try_from(*n).is_ok(),
            (Cells::Count(_), Cell::Count(_)) | (Cells::Int(_), Cell::Int(_)) | (Cells::Wide(_), Cell::Wide(_)) => true,
            (Cells::Real(_), Cell::Real(_)) | (Cells::Flag(_), Cell::Flag(_)) => true,
            _ => false,
        }
    }

    /// Adds a cell.
    ///
    /// # Panics
    /// It is not one that the column [takes](Self::takes).
    pub(crate) fn push(&mut self, cell: &Cell<'_>) {
        if let (Cells::Undecided(absent), Some(kind)) = (&*self, kind(cell)) {
            let mut decided = Cells::new(Some(kind));
            (0..*absent).for_each(|_| decided.push(&Cell::Absent));
            *self = decided;
        }
        match (&mut *self, cell) {
            (Cells::Text(b, words), Cell::Text(t)) => b.append_value(words.number(t)),
            (Cells::Count16(b), Cell::Count(n)) if *n <= u64::from(u16::MAX) => b.append_value(*n as u16),
            (Cells::Count32(b), Cell::Count(n)) if *n <= u64::from(u32::MAX) => b.append_value(*n as u32),
            (Cells::Count(b), Cell::Count(n)) => b.append_value(*n),
            (Cells::Int(b), Cell::Int(n)) => b.append_value(*n),
            (Cells::Wide(b), Cell::Wide(n)) => b.append_value(*n),
            (Cells::Real(b), Cell::Real(x)) => b.append_value(*x),
            (Cells::Flag(b), Cell::Flag(x)) => b.append_value(*x),
            (this, cell) => {
                assert_eq!(*cell, Cell::Absent, "a column has cells of one kind");
                each!(this, n => *n += 1, b => b.append_null());
            }
        }
    }

    /// Adds cells; the kinds that long tables have most of take a loop of their own each.
    ///
    /// # Panics
    /// As [`push`](Self::push).
    pub(crate) fn extend<'c>(&mut self, cells: impl Iterator<Item = Cell<'c>>) {
        let other = |cell: &Cell<'_>| assert_eq!(*cell, Cell::Absent, "a column has cells of one kind");
        match self {
            Cells::Text(b, words) => {
                // What is borrowed stays the same while the rows are added: the place of a word tells it.
                let mut lately = [(0, 0, 0); LATELY];
                cells.for_each(|cell| match cell {
                    Cell::Text(Cow::Borrowed(t)) => {
                        let (place, bytes) = (t.as_ptr().addr(), t.len());
                        let known = &mut lately[(place >> 4) % LATELY];
                        if (known.0, known.1) != (place, bytes) {
                            *known = (place, bytes, words.number(t));
                        }
                        b.append_value(known.2);
                    }
                    Cell::Text(t) => b.append_value(words.number(&t)),
                    cell => (other(&cell), b.append_null()).1,
                });
            }
            Cells::Count(b) => cells.for_each(|cell| match cell {
                Cell::Count(n) => b.append_value(n),
                cell => (other(&cell), b.append_null()).1,
            }),
            Cells::Count32(b) => cells.for_each(|cell| match cell {
                Cell::Count(n) if n <= u64::from(u32::MAX) => b.append_value(n as u32),
                cell => (other(&cell), b.append_null()).1,
            }),
            Cells::Count16(b) => cells.for_each(|cell| match cell {
                Cell::Count(n) if n <= u64::from(u16::MAX) => b.append_value(n as u16),
                cell => (other(&cell), b.append_null()).1,
            }),
            _ => cells.for_each(|cell| self.push(&cell)),
        }
    }

    /// The cell of a row.
    pub(crate) fn get(&self, row: usize) -> Cell<'_> {
        let there = |validity: Option<&[u8]>| validity.is_none_or(|v| bit(v, row));
        let valid = each!(self, n => *n == usize::MAX, b => there(b.validity_slice()));
        if !valid {
            return Cell::Absent;
        }
        match self {
            Cells::Undecided(_) => Cell::Absent,
            Cells::Text(b, words) => Cell::from(words.get(b.values_slice()[row])),
            Cells::Count16(b) => Cell::Count(b.values_slice()[row].into()),
            Cells::Count32(b) => Cell::Count(b.values_slice()[row].into()),
            Cells::Count(b) => Cell::Count(b.values_slice()[row]),
            Cells::Int(b) => Cell::Int(b.values_slice()[row]),
            Cells::Wide(b) => Cell::Wide(b.values_slice()[row]),
            Cells::Real(b) => Cell::Real(b.values_slice()[row]),
            Cells::Flag(b) => Cell::Flag(bit(b.values_slice(), row)),
        }
    }

    /// Arrow's array of them.
    pub(crate) fn array(&self) -> ArrayRef {
        match self {
            Cells::Text(b, words) => words.array(b.finish_cloned()),
            other => each!(other, n => Arc::new(NullArray::new(*n)), b => ArrayBuilder::finish_cloned(b)),
        }
    }

    /// Arrow's array of them, leaving none.
    pub(crate) fn take(&mut self) -> ArrayRef {
        match self {
            Cells::Text(b, words) => std::mem::take(words).array(b.finish()),
            other => each!(other, n => Arc::new(NullArray::new(std::mem::take(n))), b => ArrayBuilder::finish(b)),
        }
    }

    /// Whether the cells are words.
    pub(crate) const fn is_text(&self) -> bool {
        matches!(self, Cells::Text(..))
    }
}

fn kind(cell: &Cell<'_>) -> Option<Kind> {
    match cell {
        Cell::Absent => None,
        Cell::Flag(_) => Some(Kind::Flag),
        Cell::Count(_) => Some(Kind::Count),
        Cell::Int(_) => Some(Kind::Int),
        Cell::Real(_) => Some(Kind::Real),
        Cell::Wide(_) => Some(Kind::Wide),
        Cell::Text(_) => Some(Kind::Text),
    }
}

/// A bit of a bitmap as Arrow has them.
fn bit(bits: &[u8], i: usize) -> bool {
    bits[i / 8] >> (i % 8) & 1 == 1
}
