//! Parquet: each batch a row group.
use crate::{Column, Kind};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Float64Type, Int64Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, DictionaryArray, RecordBatch, UInt32Array};
use arrow_schema::DataType;
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::io::Write;
use std::sync::Arc;

/// Words that are handed on together: they stay in the caches. A multiple of the rows that the writer looks at at once.
const PIECE: usize = 1 << 13;
/// Largest value of a 38-digit decimal, and one.
const WIDE_END: i128 = 10i128.pow(38);

/// A file without rows; `name` is that of its schema.
pub(crate) fn create<W: Write + Send>(
    file: W,
    name: &str,
    columns: &[Column],
) -> Result<SerializedFileWriter<W>, ParquetError> {
    let mut text = format!("message {name} {{\n");
    for column in columns {
        let (how, name) = (if column.required { "required" } else { "optional" }, &column.name);
        let kind = column.kind.ok_or_else(|| ParquetError::General(format!("column {name} has no kind")))?;
        text.push_str(&match kind {
            Kind::Text => format!("{how} binary {name} (STRING);\n"),
            Kind::Count16 => format!("{how} int32 {name} (INTEGER(16,false));\n"),
            Kind::Count32 => format!("{how} int32 {name} (INTEGER(32,false));\n"),
            Kind::Count => format!("{how} int64 {name} (INTEGER(64,false));\n"),
            Kind::Int => format!("{how} int64 {name};\n"),
            Kind::Wide => format!("{how} fixed_len_byte_array(16) {name} (DECIMAL(38,0));\n"),
            Kind::Real => format!("{how} double {name};\n"),
            Kind::Flag => format!("{how} boolean {name};\n"),
        });
    }
    let schema = Arc::new(parse_message_type(&(text + "}"))?);
    let zstd = Compression::ZSTD(ZstdLevel::try_new(1)?);
    let properties = WriterProperties::builder().set_compression(zstd).build();
    SerializedFileWriter::new(file, schema, Arc::new(properties))
}

/// Writes the rows as one row group.
pub(crate) fn group<W: Write + Send>(
    writer: &mut SerializedFileWriter<W>,
    batch: &RecordBatch,
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    let schema = batch.schema();
    for (array, field) in batch.columns().iter().zip(schema.fields()) {
        let mut to = group.next_column()?.ok_or_else(|| ParquetError::General("a column is missing".to_owned()))?;
        let present = field.is_nullable().then(|| match array.nulls() {
            None => vec![1; array.len()],
            Some(nulls) => nulls.iter().map(i16::from).collect::<Vec<i16>>(),
        });
        column(to.untyped(), array.as_ref(), present.as_deref())?;
        to.close()?;
    }
    group.close()?;
    Ok(())
}

/// Parquet's unsigned columns are signed ones with the same bits.
fn column(to: &mut ColumnWriter<'_>, from: &dyn Array, present: Option<&[i16]>) -> Result<(), ParquetError> {
    match (to, from.data_type()) {
        (ColumnWriter::ByteArrayColumnWriter(w), DataType::Dictionary(..)) => {
            let (words, numbers) = words(from.as_dictionary());
            for at in (0..numbers.len()).step_by(PIECE) {
                let piece = numbers.slice(at, PIECE.min(numbers.len() - at));
                let word = |number: u32| words[number as usize].clone();
                let present = present.map(|p| &p[at..at + piece.len()]);
                w.write_batch(&values::<UInt32Type, _>(&piece, word), present, None)?;
            }
            return Ok(());
        }
        (ColumnWriter::Int32ColumnWriter(w), DataType::UInt16) => {
            w.write_batch(&values::<UInt16Type, _>(from, i32::from), present, None)?
        }
        (ColumnWriter::Int32ColumnWriter(w), DataType::UInt32) => {
            w.write_batch(&values::<UInt32Type, _>(from, |n| n as i32), present, None)?
        }
        (ColumnWriter::Int64ColumnWriter(w), DataType::UInt64) => {
            w.write_batch(&values::<UInt64Type, _>(from, |n| n as i64), present, None)?
        }
        (ColumnWriter::Int64ColumnWriter(w), DataType::Int64) => {
            w.write_batch(&values::<Int64Type, _>(from, |n| n), present, None)?
        }
        (ColumnWriter::FixedLenByteArrayColumnWriter(w), DataType::Decimal128(..)) => {
            let decimals: Result<Vec<_>, _> = values::<Decimal128Type, _>(from, decimal).into_iter().collect();
            w.write_batch(&decimals?, present, None)?
        }
        (ColumnWriter::DoubleColumnWriter(w), DataType::Float64) => {
            w.write_batch(&values::<Float64Type, _>(from, |x| x), present, None)?
        }
        (ColumnWriter::BoolColumnWriter(w), DataType::Boolean) => {
            let flags: Vec<bool> = from.as_boolean().iter().flatten().collect();
            w.write_batch(&flags, present, None)?
        }
        _ => return Err(ParquetError::General("a column of a kind that tables do not have".to_owned())),
    };
    Ok(())
}

/// The values that are present.
fn values<T: ArrowPrimitiveType, V>(from: &dyn Array, value: impl Fn(T::Native) -> V) -> Vec<V> {
    let array = from.as_primitive::<T>();
    match array.nulls() {
        None => array.values().iter().map(|v| value(*v)).collect(),
        Some(nulls) => nulls.valid_indices().map(|i| value(array.values()[i])).collect(),
    }
}

/// The words of a column, and the number of that of each row.
fn words(array: &DictionaryArray<UInt32Type>) -> (Vec<ByteArray>, &UInt32Array) {
    (array.values().as_string::<i32>().iter().flatten().map(ByteArray::from).collect(), array.keys())
}

/// A decimal as Parquet has it: 16 bytes, the highest first.
fn decimal(n: i128) -> Result<FixedLenByteArray, ParquetError> {
    if !(-WIDE_END + 1..WIDE_END).contains(&n) {
        return Err(ParquetError::General(format!("the cost {n} has more than 38 digits")));
    }
    Ok(FixedLenByteArray::from(n.to_be_bytes().to_vec()))
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
}
