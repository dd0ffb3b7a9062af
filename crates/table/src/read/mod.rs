//! Tables that others wrote, a batch of rows at a time: only the columns that were asked for.
mod csv;
mod delta;
mod pages;
mod parquet;
#[cfg(test)]
mod tests;
mod words;

use std::fmt;
use std::io::{self, BufRead, Read};
use std::sync::Arc;
use words::Words;

/// Rows of a batch, at most.
pub const BATCH_ROWS: usize = 4096;

/// A column that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Names that it may have.
    pub names: &'static [&'static str],
    /// Whether its cells are words; else whole numbers, not negative.
    pub words: bool,
}

/// Cells of one column of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cells {
    /// The table has no such column.
    #[default]
    Missing,
    /// Numbers.
    Counts(Vec<Option<u64>>),
    /// Words, by the numbers that [`TableReader::word`] knows.
    Words(Vec<Option<u32>>),
}

impl Cells {
    /// The number in a row.
    pub fn count(&self, row: usize) -> Option<u64> {
        if let Cells::Counts(all) = self { all.get(row).copied().flatten() } else { None }
    }
    /// The number of the word in a row.
    pub fn word(&self, row: usize) -> Option<u32> {
        if let Cells::Words(all) = self { all.get(row).copied().flatten() } else { None }
    }
}

/// Some rows one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Number of rows.
    pub rows: usize,
    /// Cells of the columns, in the order in which these were asked for.
    pub columns: Vec<Cells>,
    /// Lines of a text in which the rows begin, from 1; empty for Parquet.
    lines: Vec<u64>,
    /// Number of the first row, from 1.
    first: u64,
}

impl Batch {
    /// Where a row stands, for messages.
    pub fn place(&self, row: usize) -> String {
        self.lines.get(row).map_or_else(|| format!("row {}", self.first + row as u64), |line| format!("line {line}"))
    }
}

/// A table cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError(String);

impl ReadError {
    fn new(why: impl Into<String>) -> ReadError {
        ReadError(why.into())
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for ReadError {}

/// Calls what it is given, once. The library of Parquet panics within it at some damaged files; such a panic is caught there and
/// becomes a [`ReadError`], and whoever reports panics can be told around the call that this one is none to report.
pub type Around = fn(&mut dyn FnMut());

/// What holds a Parquet file, which is read from several places.
pub trait Contents: Send + Sync {
    /// How many bytes there are.
    fn bytes(&self) -> u64;
    /// Bytes from a place on, as many as are there and fit; none at the end.
    ///
    /// # Errors
    /// They cannot be read.
    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<usize>;
}

impl Contents for Vec<u8> {
    fn bytes(&self) -> u64 {
        self.len() as u64
    }
    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<usize> {
        let from = usize::try_from(at).unwrap_or(usize::MAX).min(self.len());
        (&self[from..]).read(out)
    }
}

/// A table that is being read. Memory: a batch of rows, the words, and of a Parquet file
/// a page and a dictionary a column, 256 MiB in all at most.
pub struct TableReader<'s> {
    form: Form<'s>,
    asked: Vec<Asked>,
    /// Names of all columns.
    names: Vec<String>,
    /// Where in the table each column stands that was asked for.
    places: Vec<Option<usize>>,
    words: Words,
    batch: Batch,
}

enum Form<'s> {
    Csv(csv::Lines<Box<dyn BufRead + 's>>),
    Parquet(Box<parquet::Groups>),
}

impl<'s> TableReader<'s> {
    /// Comma-separated values under a line of names.
    ///
    /// # Errors
    /// There is no line of names, or a column that is asked for is there twice.
    pub fn csv(text: impl BufRead + 's, asked: &[Asked]) -> Result<TableReader<'s>, ReadError> {
        let mut lines = csv::Lines::new(Box::new(text) as Box<dyn BufRead + 's>);
        let names = lines.names()?;
        TableReader::new(Form::Csv(lines), names, asked)
    }

    /// A Parquet file without nested columns among those that are asked for. The library that reads it is called within `around`.
    ///
    /// # Errors
    /// It is damaged, or a column that is asked for is there twice or of another kind.
    pub fn parquet(file: Arc<dyn Contents>, asked: &[Asked], around: Around) -> Result<TableReader<'s>, ReadError> {
        let groups = parquet::Groups::open(file, around)?;
        let names = groups.names();
        let mut reader = TableReader::new(Form::Parquet(Box::new(groups)), names, asked)?;
        if let Form::Parquet(groups) = &mut reader.form {
            groups.ask(&reader.places, asked)?;
        }
        Ok(reader)
    }

    fn new(form: Form<'s>, names: Vec<String>, asked: &[Asked]) -> Result<TableReader<'s>, ReadError> {
        let places: Result<Vec<_>, _> = asked.iter().map(|a| place(&names, a)).collect();
        let (words, batch) = Default::default();
        Ok(TableReader { form, asked: asked.to_vec(), places: places?, names, words, batch })
    }

    /// A reader for who reads the table again for more columns: rows of a text must have the cells that were asked for, and how many stand
    /// behind these is not looked at.
    #[must_use]
    pub fn glancing(mut self) -> TableReader<'s> {
        if let Form::Csv(lines) = &mut self.form {
            lines.enough = Some(self.places.iter().flatten().max().map_or(1, |last| last + 1));
        }
        self
    }

    /// Whether the table has the column that was asked for as number `asked`.
    pub fn has(&self, asked: usize) -> bool {
        self.places.get(asked).is_some_and(Option::is_some)
    }

    /// Names of the columns that nobody asked for.
    pub fn others(&self) -> Vec<&str> {
        let not_asked = |i: &usize| !self.places.contains(&Some(*i));
        (0..self.names.len()).filter(not_asked).map(|i| self.names[i].as_str()).collect()
    }

    /// The word with this number; empty if there is none.
    pub fn word(&self, number: u32) -> &str {
        self.words.get(number)
    }

    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// The table is damaged, or a cell is not what was asked for: with its line or row and its column.
    pub fn next_batch(&mut self) -> Result<Option<Batch>, ReadError> {
        let mut batch = std::mem::take(&mut self.batch);
        batch.first += batch.rows as u64;
        batch.first = batch.first.max(1);
        batch.rows = 0;
        batch.lines.clear();
        batch.columns.resize(self.asked.len(), Cells::Missing);
        for ((cells, asked), place) in batch.columns.iter_mut().zip(&self.asked).zip(&self.places) {
            *cells = match (place, asked.words) {
                (None, _) => Cells::Missing,
                (Some(_), true) => Cells::Words(Vec::with_capacity(BATCH_ROWS)),
                (Some(_), false) => Cells::Counts(Vec::with_capacity(BATCH_ROWS)),
            };
        }
        match &mut self.form {
            Form::Csv(lines) => lines.batch(&mut batch, &self.places, &self.names, &mut self.words)?,
            Form::Parquet(groups) => groups.batch(&mut batch, &self.asked, &mut self.words)?,
        }
        (self.batch.rows, self.batch.first) = (batch.rows, batch.first);
        Ok((batch.rows > 0).then_some(batch))
    }
}

/// Where the column stands.
fn place(names: &[String], asked: &Asked) -> Result<Option<usize>, ReadError> {
    let mut found = (0..names.len()).filter(|&i| asked.names.contains(&names[i].as_str()));
    let first = found.next();
    match (first, found.next()) {
        (Some(_), Some(again)) => {
            Err(ReadError::new(format!("column {} is there twice, as {}", names[again], asked.names.join(" or "))))
        }
        _ => Ok(first),
    }
}
