//! Reading Parquet, column by column of each row group.
use super::delta::Checked;
use super::words::{Recent, Words};
use super::{Around, Asked, BATCH_ROWS, Batch, Cells, Contents, ReadError, pages};
use bytes::Bytes;
use parquet::basic::{ConvertedType, LogicalType, Type};
use parquet::column::page::PageReader;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;
use std::io::{BufReader, Read};
use std::sync::Arc;

/// Most bytes that the chunk of one column in one row group may claim to be.
const CHUNK_MAX: i64 = 1 << 30;

impl From<ParquetError> for ReadError {
    fn from(e: ParquetError) -> ReadError {
        ReadError::new(format!("it is damaged, or of a kind that cannot be read: {e}"))
    }
}

/// A file as the library reads it.
struct File(Arc<dyn Contents>);

/// The bytes of a file from a place on.
struct Tail {
    file: Arc<dyn Contents>,
    at: u64,
}

impl Read for Tail {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let n = self.file.read_at(self.at, out)?;
        self.at += n as u64;
        Ok(n)
    }
}

impl Length for File {
    fn len(&self) -> u64 {
        self.0.bytes()
    }
}

impl ChunkReader for File {
    type T = BufReader<Tail>;

    fn get_read(&self, start: u64) -> ParquetResult<BufReader<Tail>> {
        Ok(BufReader::new(Tail { file: self.0.clone(), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let mut out = Vec::new();
        // Grows with what is there, not with what is claimed.
        Tail { file: self.0.clone(), at: start }.take(length as u64).read_to_end(&mut out)?;
        if out.len() < length {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} are not all there")));
        }
        Ok(out.into())
    }
}

/// Reads row groups.
pub(super) struct Groups {
    file: SerializedFileReader<File>,
    contents: Arc<dyn Contents>,
    around: Around,
    /// The group that is read next.
    group: usize,
    /// Columns of the group that is being read, in the order of the columns asked for.
    open: Vec<Option<Column>>,
    places: Vec<Option<usize>>,
}

/// A column of a group.
struct Column {
    reader: ColumnReader,
    name: String,
    unsigned: bool,
    /// Level of a value that is present; 0 if all are.
    present: i16,
    levels: Vec<i16>,
    recent: Recent,
}

impl Groups {
    pub(super) fn open(contents: Arc<dyn Contents>, around: Around) -> Result<Groups, ReadError> {
        let (open, places) = Default::default();
        let file = File(contents.clone());
        let file = guarded(around, || Ok(SerializedFileReader::new(file)?))?;
        Ok(Groups { file, contents, around, group: 0, open, places })
    }

    /// Names of all columns; those within others have points in them.
    pub(super) fn names(&self) -> Vec<String> {
        let schema = self.file.metadata().file_metadata().schema_descr();
        schema.columns().iter().map(|c| c.path().string()).collect()
    }

    /// Takes note of what is asked for.
    pub(super) fn ask(&mut self, places: &[Option<usize>], asked: &[Asked]) -> Result<(), ReadError> {
        let schema = self.file.metadata().file_metadata().schema_descr_ptr();
        for (place, asked) in places.iter().zip(asked) {
            if let Some(place) = place {
                fits(&schema.column(*place), asked)?;
            }
        }
        self.places = places.to_vec();
        Ok(())
    }

    /// Reads up to [`BATCH_ROWS`] rows of one group.
    pub(super) fn batch(&mut self, batch: &mut Batch, asked: &[Asked], words: &mut Words) -> Result<(), ReadError> {
        guarded(self.around, || self.rows(batch, asked, words))
    }

    fn rows(&mut self, batch: &mut Batch, asked: &[Asked], words: &mut Words) -> Result<(), ReadError> {
        loop {
            if self.open.is_empty() && !self.next_group()? {
                return Ok(());
            }
            let mut rows = None;
            for ((column, cells), asked) in self.open.iter_mut().zip(&mut batch.columns).zip(asked) {
                let Some(column) = column else { continue };
                let read = column.read(cells, asked, words)?;
                if *rows.get_or_insert(read) != read {
                    return Err(ReadError::new(format!(
                        "column {} has fewer or more rows than another one",
                        column.name
                    )));
                }
            }
            batch.rows = rows.unwrap_or(0);
            if batch.rows > 0 {
                return Ok(());
            }
            self.open.clear();
        }
    }

    /// Opens the columns of the next group. False if there is none.
    fn next_group(&mut self) -> Result<bool, ReadError> {
        if self.group >= self.file.num_row_groups() {
            return Ok(false);
        }
        let group = self.file.get_row_group(self.group)?;
        let schema = self.file.metadata().file_metadata().schema_descr_ptr();
        self.group += 1;
        let mut memory = 0;
        for place in &self.places {
            let Some(place) = *place else {
                self.open.push(None);
                continue;
            };
            let description = schema.column(place);
            let chunk = group
                .metadata()
                .columns()
                .get(place)
                .ok_or_else(|| ReadError::new("a row group has too few columns"))?;
            memory += self.look(chunk, description.name())?;
            if memory > pages::PAGES_MAX {
                let why = format!(
                    "its pages take more than {} bytes of memory: write it with smaller ones",
                    pages::PAGES_MAX
                );
                return Err(ReadError::new(why));
            }
            let (found, present) = (group.get_column_page_reader(place)?, description.max_def_level());
            let checked = Checked { pages: found, levels: present > 0 };
            let words = description.physical_type() == Type::BYTE_ARRAY;
            let pages: Box<dyn PageReader> = if words { Box::new(checked) } else { checked.pages };
            self.open.push(Some(Column {
                name: description.name().to_owned(),
                unsigned: is_unsigned(&description),
                reader: get_column_reader(description, pages),
                present,
                levels: Vec::new(),
                recent: Recent::default(),
            }));
        }
        Ok(true)
    }

    /// Looks at the pages of a column before they are read. Returns the bytes of memory that they will take.
    fn look(&self, chunk: &ColumnChunkMetaData, name: &str) -> Result<u64, ReadError> {
        let bytes = chunk.uncompressed_size().max(chunk.compressed_size());
        if !(0..=CHUNK_MAX).contains(&bytes) {
            let why = format!("a row group has {bytes} bytes of column {name}: write it with smaller row groups");
            return Err(ReadError::new(why));
        }
        let (start, length) = chunk.byte_range();
        let end = start.saturating_add(length);
        if end > self.contents.bytes() {
            return Err(ReadError::new(format!("it is damaged: column {name} goes on behind the end of the file")));
        }
        pages::check(&*self.contents, start..end, name)
    }
}

/// The result of something that reads Parquet. The library indexes past the end of pages whose counts are wrong, and panics: such a
/// file is damaged like others, and nothing of what read it is used again.
fn guarded<V>(around: Around, read: impl FnOnce() -> Result<V, ReadError>) -> Result<V, ReadError> {
    let (mut read, mut found) = (Some(read), None);
    around(&mut || {
        if let Some(read) = read.take() {
            found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)).ok();
        }
    });
    found.unwrap_or_else(|| Err(ReadError::new("it is damaged: its pages contradict their headers")))
}

/// Whether a column can be what is asked for.
fn fits(column: &ColumnDescriptor, asked: &Asked) -> Result<(), ReadError> {
    let name = column.path().string();
    if column.max_rep_level() > 0 || column.path().parts().len() != 1 {
        return Err(ReadError::new(format!("column {name} is nested")));
    }
    let (good, needed): (&[Type], _) =
        if asked.words { (&[Type::BYTE_ARRAY], "words") } else { (&[Type::INT32, Type::INT64], "whole numbers") };
    let is = column.physical_type();
    if good.contains(&is) { Ok(()) } else { Err(ReadError::new(format!("column {name} is {is}: {needed} are needed"))) }
}

fn is_unsigned(column: &ColumnDescriptor) -> bool {
    use ConvertedType as C;
    let logical = matches!(column.logical_type_ref(), Some(LogicalType::Integer(int)) if !int.is_signed);
    logical || matches!(column.converted_type(), C::UINT_8 | C::UINT_16 | C::UINT_32 | C::UINT_64)
}

impl Column {
    /// Reads cells; returns how many.
    fn read(&mut self, cells: &mut Cells, asked: &Asked, words: &mut Words) -> Result<usize, ReadError> {
        let Column { reader, name, unsigned, present, levels, recent } = self;
        let negative = || ReadError::new(format!("column {name} has a number below 0"));
        match (reader, cells) {
            (ColumnReader::Int32ColumnReader(reader), Cells::Counts(out)) => fill(reader, *present, levels, out, |n| {
                if *unsigned { Ok(u64::from(n as u32)) } else { u64::try_from(n).map_err(|_| negative()) }
            }),
            (ColumnReader::Int64ColumnReader(reader), Cells::Counts(out)) => fill(reader, *present, levels, out, |n| {
                if *unsigned { Ok(n as u64) } else { u64::try_from(n).map_err(|_| negative()) }
            }),
            (ColumnReader::ByteArrayColumnReader(reader), Cells::Words(out)) => {
                fill(reader, *present, levels, out, |bytes: ByteArray| {
                    let number = recent.number(bytes.data(), words)?;
                    number.ok_or_else(|| ReadError::new(format!("column {name} is no UTF-8")))
                })
            }
            _ => Err(ReadError::new(format!("column {name} is not {}", if asked.words { "words" } else { "numbers" }))),
        }
    }
}

/// Reads cells of one column, present ones and absent ones.
fn fill<T: DataType, V>(
    reader: &mut ColumnReaderImpl<T>,
    present: i16,
    levels: &mut Vec<i16>,
    out: &mut Vec<Option<V>>,
    mut value: impl FnMut(T::T) -> Result<V, ReadError>,
) -> Result<usize, ReadError> {
    levels.clear();
    let mut values = Vec::new();
    let with_levels = (present > 0).then_some(&mut *levels);
    let (rows, ..) = reader.read_records(BATCH_ROWS, with_levels, None, &mut values)?;
    let mut values = values.into_iter();
    for row in 0..rows {
        let is_present = present == 0 || levels.get(row) == Some(&present);
        let cell = if is_present { values.next().map(&mut value).transpose()? } else { None };
        out.push(cell);
    }
    Ok(rows)
}
