//! Files of any number of rows, of which some are in memory at a time.
use crate::{Cell, Column, Table, csv, parquet};
use ::parquet::errors::ParquetError;
use ::parquet::file::writer::SerializedFileWriter;
use std::fmt;
use std::io::{self, BufWriter, Write};

/// How a file has rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values under the names of the columns.
    Csv,
    /// Parquet: its schema's name, and the rows of a row group, which a reader must hold at once.
    Parquet(&'static str, usize),
}

/// A file could not be written.
#[derive(Debug)]
pub struct WriteError(ParquetError);

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
impl std::error::Error for WriteError {}
impl From<ParquetError> for WriteError {
    fn from(e: ParquetError) -> WriteError {
        WriteError(e)
    }
}
impl From<arrow_schema::ArrowError> for WriteError {
    fn from(e: arrow_schema::ArrowError) -> WriteError {
        WriteError(ParquetError::General(e.to_string()))
    }
}
impl From<io::Error> for WriteError {
    fn from(e: io::Error) -> WriteError {
        WriteError(e.into())
    }
}

/// A file that is being written. It is of use only once [`TableFile::finish`] has been called.
pub struct TableFile<W: Write + Send>(To<W>);

enum To<W: Write + Send> {
    Csv { out: BufWriter<W>, columns: usize },
    Parquet { writer: Box<SerializedFileWriter<W>>, rows: Table, group_rows: usize },
}

impl<W: Write + Send> TableFile<W> {
    /// A file without rows.
    ///
    /// # Errors
    /// It cannot be written, or a column of a Parquet file has no kind.
    pub fn new(file: W, format: Format, columns: Vec<Column>) -> Result<TableFile<W>, WriteError> {
        Ok(TableFile(match format {
            Format::Csv => {
                let mut out = BufWriter::new(file);
                csv::head(&mut out, &columns)?;
                To::Csv { out, columns: columns.len() }
            }
            Format::Parquet(name, group_rows) => To::Parquet {
                writer: Box::new(parquet::create(file, name, &columns)?),
                rows: Table::new(columns),
                group_rows,
            },
        }))
    }

    /// Adds a row, which has a cell a column.
    ///
    /// # Errors
    /// The file cannot be written, or a cell is absent where every row has one.
    pub fn push<'c>(&mut self, row: impl IntoIterator<Item = Cell<'c>>) -> Result<(), WriteError> {
        match &mut self.0 {
            To::Csv { out, columns } => csv::row(out, row.into_iter().take(*columns))?,
            To::Parquet { writer, rows, group_rows } => {
                rows.push(row);
                if rows.len() >= *group_rows {
                    group(writer, rows)?;
                }
            }
        }
        Ok(())
    }

    /// Adds so many rows; `cell` has the number of a column and that of a row among these. Faster than row by row.
    ///
    /// # Errors
    /// As [`TableFile::push`].
    pub fn extend<'c>(&mut self, rows: usize, cell: impl Fn(usize, usize) -> Cell<'c>) -> Result<(), WriteError> {
        match &mut self.0 {
            To::Csv { out, columns } => {
                (0..rows).try_for_each(|row| csv::row(out, (0..*columns).map(|column| cell(column, row))))?;
            }
            To::Parquet { writer, rows: kept, group_rows } => {
                let mut from = 0;
                while from < rows {
                    let more = (rows - from).min(*group_rows - kept.len());
                    kept.extend(more, |column, row| cell(column, from + row));
                    from += more;
                    if kept.len() == *group_rows {
                        group(writer, kept)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Ends the file.
    ///
    /// # Errors
    /// As [`TableFile::push`].
    pub fn finish(self) -> Result<(), WriteError> {
        match self.0 {
            To::Csv { mut out, .. } => out.flush()?,
            To::Parquet { mut writer, mut rows, .. } => {
                if !rows.is_empty() {
                    group(&mut writer, &mut rows)?;
                }
                writer.close()?;
            }
        }
        Ok(())
    }
}

fn group<W: Write + Send>(writer: &mut SerializedFileWriter<W>, rows: &mut Table) -> Result<(), WriteError> {
    Ok(parquet::group(writer, &rows.take()?)?)
}
