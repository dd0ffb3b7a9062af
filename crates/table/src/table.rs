//! Columns and rows.
use crate::cells::Cells;
use crate::{Cell, Column};
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, Schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// A table: columns, and rows of which each has a cell a column. As JSON it has
/// names, note and cells, and columns take the kinds of their cells.
#[derive(Debug, Serialize, Deserialize)]
#[serde(try_from = "Plain", into = "Plain")]
pub struct Table {
    /// Name, in words that can be part of a file name; empty if it needs none.
    pub name: Cow<'static, str>,
    /// What it says and what it does not, one or two sentences.
    pub note: Cow<'static, str>,
    columns: Vec<Column>,
    cells: Vec<Cells>,
    rows: usize,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: Vec<Column>) -> Table {
        let cells = columns.iter().map(|c| Cells::new(c.kind)).collect();
        Table { name: Cow::default(), note: Cow::default(), columns, cells, rows: 0 }
    }

    /// Table with a name, and what it says.
    #[must_use]
    pub fn named(self, name: impl Into<Cow<'static, str>>, note: impl Into<Cow<'static, str>>) -> Table {
        Table { name: name.into(), note: note.into(), ..self }
    }

    /// Adds a row; cells that are missing at its end are absent, and cells beyond the last column are left out.
    ///
    /// # Panics
    /// A cell is of another kind than its column.
    pub fn push<'c>(&mut self, row: impl IntoIterator<Item = Cell<'c>>) {
        let mut row = row.into_iter();
        self.cells.iter_mut().for_each(|cells| cells.push(&row.next().unwrap_or(Cell::Absent)));
        self.rows += 1;
    }

    /// Adds so many rows, column by column: `cell` has the number of a column and that of a row among these.
    ///
    /// # Panics
    /// A cell is of another kind than its column.
    pub fn extend<'c>(&mut self, rows: usize, cell: impl Fn(usize, usize) -> Cell<'c>) {
        for (column, cells) in self.cells.iter_mut().enumerate() {
            cells.extend((0..rows).map(|row| cell(column, row)));
        }
        self.rows += rows;
    }

    /// Adds a row of words.
    ///
    /// # Panics
    /// A column is not one of words.
    pub fn push_words<'c, W: Into<Cow<'c, str>>>(&mut self, row: impl IntoIterator<Item = W>) {
        self.push(row.into_iter().map(|word| Cell::Text(word.into())));
    }

    /// Columns, from left to right.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The number of its rows.
    pub const fn len(&self) -> usize {
        self.rows
    }

    /// Whether it has no rows.
    pub const fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The cells of each row.
    pub fn rows(&self) -> impl Iterator<Item = Vec<Cell<'_>>> {
        (0..self.rows).map(|row| self.cells.iter().map(|c| c.get(row)).collect())
    }

    /// One cell.
    ///
    /// # Panics
    /// There is no such row or column.
    pub fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        self.cells[column].get(row)
    }

    /// Whether the cells of a column are words.
    pub(crate) fn is_text(&self, column: usize) -> bool {
        self.cells[column].is_text()
    }

    /// Rows in Arrow's memory format.
    ///
    /// # Errors
    /// A cell is absent where the column has one in every row.
    pub fn batch(&self) -> Result<RecordBatch, ArrowError> {
        self.batch_of(self.rows, self.cells.iter().map(Cells::array).collect())
    }

    /// Rows in Arrow's memory format; the table has none afterwards.
    ///
    /// # Errors
    /// A cell is absent where the column has one in every row.
    pub fn take(&mut self) -> Result<RecordBatch, ArrowError> {
        let arrays = self.cells.iter_mut().map(Cells::take).collect();
        let rows = std::mem::take(&mut self.rows);
        self.batch_of(rows, arrays)
    }

    fn batch_of(&self, rows: usize, arrays: Vec<arrow_array::ArrayRef>) -> Result<RecordBatch, ArrowError> {
        let fields: Vec<_> = self.columns.iter().zip(&arrays).map(|(c, a)| c.field(a.data_type().clone())).collect();
        // Said, since a table without columns does not show it.
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
    }
}

impl PartialEq for Table {
    fn eq(&self, other: &Table) -> bool {
        let same = |a: &Table, b: &Table| (&a.name, &a.note, &a.columns) == (&b.name, &b.note, &b.columns);
        same(self, other) && self.rows().eq(other.rows())
    }
}

impl Clone for Table {
    fn clone(&self) -> Table {
        let mut table = Table::new(self.columns.clone()).named(self.name.clone(), self.note.clone());
        self.rows().for_each(|row| table.push(row));
        table
    }
}

/// A table as JSON has it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Plain {
    name: String,
    note: String,
    columns: Vec<String>,
    rows: Vec<Vec<Cell<'static>>>,
}

impl From<Table> for Plain {
    fn from(table: Table) -> Plain {
        Plain {
            columns: table.columns.iter().map(|c| c.name.clone()).collect(),
            rows: table.rows().map(|row| row.into_iter().map(Cell::owned).collect()).collect(),
            name: table.name.into_owned(),
            note: table.note.into_owned(),
        }
    }
}

impl TryFrom<Plain> for Table {
    type Error = String;

    fn try_from(plain: Plain) -> Result<Table, String> {
        let mut table = Table::new(plain.columns.into_iter().map(Column::named).collect());
        for (at, row) in plain.rows.into_iter().enumerate() {
            let fits =
                row.len() == table.columns.len() && table.cells.iter().zip(&row).all(|(cells, c)| cells.takes(c));
            if !fits {
                return Err(format!("row {at} does not fit the columns"));
            }
            table.push(row);
        }
        Ok(table.named(plain.name, plain.note))
    }
}
