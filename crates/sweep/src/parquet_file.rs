//! The table as files: Parquet, and CSV beside it.
use crate::columns::{COLUMNS, Cell, Kind, Line};
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;

/// Rows of a row group.
const GROUP_ROWS: usize = 1 << 16;
/// Largest value of a 38-digit decimal, and one.
const WIDE_END: i128 = 10i128.pow(38);

/// A Parquet file being written.
pub(crate) struct Parquet {
    writer: SerializedFileWriter<File>,
    rows: Vec<Line>,
}

impl Parquet {
    pub(crate) fn new(file: File) -> Result<Parquet, ParquetError> {
        let mut text = "message sweep {\n".to_owned();
        for column in COLUMNS {
            let how = if column.required { "required" } else { "optional" };
            let name = column.name;
            text.push_str(&match column.kind {
                Kind::Text => format!("{how} binary {name} (STRING);\n"),
                Kind::Int => format!("{how} int64 {name};\n"),
                Kind::Wide => format!("{how} fixed_len_byte_array(16) {name} (DECIMAL(38,0));\n"),
                Kind::Real => format!("{how} double {name};\n"),
                Kind::Flag => format!("{how} boolean {name};\n"),
            });
        }
        let schema = Arc::new(parse_message_type(&(text + "}"))?);
        let zstd = Compression::ZSTD(ZstdLevel::try_new(1)?);
        let properties = WriterProperties::builder().set_compression(zstd).build();
        Ok(Parquet { writer: SerializedFileWriter::new(file, schema, Arc::new(properties))?, rows: Vec::new() })
    }

    pub(crate) fn push(&mut self, line: Line) -> Result<(), ParquetError> {
        self.rows.push(line);
        if self.rows.len() >= GROUP_ROWS { self.group() } else { Ok(()) }
    }

    fn group(&mut self) -> Result<(), ParquetError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for column in COLUMNS {
            let mut writer = group.next_column()?.ok_or_else(|| ParquetError::General("a column is missing".into()))?;
            let cells: Vec<Cell<'_>> = self.rows.iter().map(column.cell).collect();
            write_column(writer.untyped(), &cells, column.required)?;
            writer.close()?;
        }
        group.close()?;
        self.rows.clear();
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<(), ParquetError> {
        self.group()?;
        self.writer.close()?;
        Ok(())
    }
}

fn write_column(writer: &mut ColumnWriter<'_>, cells: &[Cell<'_>], required: bool) -> Result<(), ParquetError> {
    let present: Vec<i16> = cells.iter().map(|c| i16::from(*c != Cell::Absent)).collect();
    let levels = (!required).then_some(&present[..]);
    match writer {
        ColumnWriter::ByteArrayColumnWriter(w) => {
            let values: Vec<ByteArray> = cells
                .iter()
                .filter_map(|c| if let Cell::Text(t) = c { Some(ByteArray::from(*t)) } else { None })
                .collect();
            w.write_batch(&values, levels, None)?;
        }
        ColumnWriter::Int64ColumnWriter(w) => {
            let values: Vec<i64> =
                cells.iter().filter_map(|c| if let Cell::Int(n) = c { Some(*n) } else { None }).collect();
            w.write_batch(&values, levels, None)?;
        }
        ColumnWriter::FixedLenByteArrayColumnWriter(w) => {
            let values = cells.iter().filter_map(|c| if let Cell::Wide(n) = c { Some(decimal(*n)) } else { None });
            w.write_batch(&values.collect::<Result<Vec<_>, _>>()?, levels, None)?;
        }
        ColumnWriter::DoubleColumnWriter(w) => {
            let values: Vec<f64> =
                cells.iter().filter_map(|c| if let Cell::Real(x) = c { Some(*x) } else { None }).collect();
            w.write_batch(&values, levels, None)?;
        }
        ColumnWriter::BoolColumnWriter(w) => {
            let values: Vec<bool> =
                cells.iter().filter_map(|c| if let Cell::Flag(b) = c { Some(*b) } else { None }).collect();
            w.write_batch(&values, levels, None)?;
        }
        _ => return Err(ParquetError::General("a column of a kind that the table does not have".into())),
    }
    Ok(())
}

/// A decimal as Parquet has it: 16 bytes, the highest first.
fn decimal(n: i128) -> Result<FixedLenByteArray, ParquetError> {
    if !(-WIDE_END + 1..WIDE_END).contains(&n) {
        return Err(ParquetError::General(format!("the cost {n} has more than 38 digits")));
    }
    Ok(FixedLenByteArray::from(n.to_be_bytes().to_vec()))
}

/// A CSV file being written.
pub(crate) struct Csv(BufWriter<File>);

impl Csv {
    pub(crate) fn new(file: File) -> std::io::Result<Csv> {
        let mut out = BufWriter::new(file);
        let names: Vec<&str> = COLUMNS.iter().map(|c| c.name).collect();
        writeln!(out, "{}", names.join(","))?;
        Ok(Csv(out))
    }
    pub(crate) fn push(&mut self, line: &Line) -> std::io::Result<()> {
        for (i, column) in COLUMNS.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            write!(self.0, "{comma}{}", (column.cell)(line))?;
        }
        writeln!(self.0)
    }
    pub(crate) fn finish(mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_that_no_decimal_can_hold_are_refused() {
        assert!(decimal(WIDE_END).is_err() && decimal(-WIDE_END).is_err());
        assert_eq!(decimal(-1).unwrap().data(), [255; 16]);
        assert!(decimal(WIDE_END - 1).is_ok());
    }

    #[test]
    fn a_full_disk_is_an_error_and_no_panic() {
        let full = || File::options().write(true).open("/dev/full").unwrap();
        let parquet = Parquet::new(full()).and_then(Parquet::finish).map_err(|e| e.to_string());
        assert!(parquet.is_err_and(|e| e.contains("No space left")));
        assert!(Csv::new(full()).and_then(Csv::finish).is_err());
    }
}
