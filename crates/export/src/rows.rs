//! The rows of an export as files: one list of columns that the Parquet schema, the CSV header and the cells come from.
use crate::names::{Place, Texts};
use crate::words::{COUNTED, ESTIMATED, WRITE_BACK, charged};
use homenode_command::instructions::Between;
use homenode_machine::AccessClass;
use homenode_trace::{DataSource, Op};
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;

/// Rows of a Parquet row group: what a reader must hold at once.
const GROUP_ROWS: usize = 1 << 18;

/// One row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// None for write-backs.
    pub(crate) thread: Option<u32>,
    pub(crate) space: u32,
    pub(crate) addr: u64,
    pub(crate) size: u32,
    /// None for write-backs.
    pub(crate) op: Option<Op>,
    /// None for write-backs.
    pub(crate) site: Option<u32>,
    pub(crate) place: Place,
    pub(crate) object: u32,
    pub(crate) thread_node: Option<u16>,
    pub(crate) node: Option<u16>,
    pub(crate) phase: u32,
    pub(crate) charged: AccessClass,
    pub(crate) times: u32,
    pub(crate) weight: u32,
    pub(crate) source: DataSource,
    pub(crate) latency: Option<u32>,
    pub(crate) cpu: Option<u16>,
    pub(crate) instructions: Between,
}

/// Which columns there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Those of samples.
    pub(crate) sampled: bool,
    /// Those of what policies saw.
    pub(crate) after_caches: bool,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// An unsigned number of 16, 32 or 64 bits.
    Number(u8),
    /// Words; Parquet keeps different ones once.
    Text,
}

/// A value of a row.
#[derive(Clone, Copy, Debug)]
enum Cell<'a> {
    Absent,
    Number(u64),
    Text(&'a ByteArray),
}

/// Whether something holds for files of this shape.
type Holds = fn(Shape) -> bool;

pub(crate) struct Column {
    name: &'static str,
    kind: Kind,
    /// Whether every row has it.
    required: Holds,
    /// Whether there is such a column.
    when: Holds,
    cell: for<'a> fn(&Row, &'a Texts) -> Cell<'a>,
}

const ALWAYS: Holds = |_| true;
const NEVER: Holds = |_| false;
const SAMPLED: Holds = |s| s.sampled;
const CONSECUTIVE: Holds = |s| !s.sampled && !s.after_caches;
const AFTER_CACHES: Holds = |s| s.after_caches;
/// What a write-back has not.
const REFERENCE: Holds = |s| !s.after_caches;

fn number<'a>(n: Option<impl Into<u64>>) -> Cell<'a> {
    n.map_or(Cell::Absent, |n| Cell::Number(n.into()))
}

fn text(texts: &Texts, number: u32) -> Cell<'_> {
    texts.get(number).map_or(Cell::Absent, Cell::Text)
}

/// The number of instructions, and how it is known.
fn between(r: &Row) -> (Option<u64>, Option<&'static str>) {
    match r.instructions {
        Between::Counted(n) => (Some(n), Some(COUNTED)),
        Between::Estimated(n) => (Some(n.into()), Some(ESTIMATED)),
        Between::Unknown => (None, None),
    }
}

/// One of a few words.
fn word<'a>(texts: &'a Texts, word: &str) -> Cell<'a> {
    texts.fixed(word).map_or(Cell::Absent, Cell::Text)
}

const fn column(
    name: &'static str,
    kind: Kind,
    (when, required): (Holds, Holds),
    cell: for<'a> fn(&Row, &'a Texts) -> Cell<'a>,
) -> Column {
    Column { name, kind, required, when, cell }
}

const COLUMNS: [Column; 21] = [
    column("thread", Kind::Number(32), (ALWAYS, REFERENCE), |r, _| number(r.thread)),
    column("space", Kind::Number(32), (AFTER_CACHES, ALWAYS), |r, _| number(Some(r.space))),
    column("addr", Kind::Number(64), (ALWAYS, ALWAYS), |r, _| number(Some(r.addr))),
    column("size", Kind::Number(32), (ALWAYS, ALWAYS), |r, _| number(Some(r.size))),
    column("op", Kind::Text, (ALWAYS, ALWAYS), |r, t| word(t, r.op.map_or(WRITE_BACK, Op::name))),
    column("site", Kind::Number(32), (ALWAYS, REFERENCE), |r, _| number(r.site)),
    column("file", Kind::Text, (ALWAYS, NEVER), |r, t| text(t, r.place.file)),
    column("line", Kind::Number(32), (ALWAYS, NEVER), |r, _| number(Some(r.place.line).filter(|l| *l > 0))),
    column("function", Kind::Text, (ALWAYS, NEVER), |r, t| text(t, r.place.function)),
    column("object", Kind::Text, (ALWAYS, NEVER), |r, t| text(t, r.object)),
    column("thread_node", Kind::Number(16), (ALWAYS, NEVER), |r, _| number(r.thread_node)),
    column("node", Kind::Number(16), (ALWAYS, NEVER), |r, _| number(r.node)),
    column("phase", Kind::Text, (ALWAYS, NEVER), |r, t| text(t, r.phase)),
    column("charged", Kind::Text, (AFTER_CACHES, ALWAYS), |r, t| word(t, charged(r.charged))),
    column("times", Kind::Number(32), (AFTER_CACHES, ALWAYS), |r, _| number(Some(r.times))),
    column("weight", Kind::Number(32), (SAMPLED, ALWAYS), |r, _| number(Some(r.weight))),
    column("source", Kind::Text, (SAMPLED, ALWAYS), |r, t| word(t, r.source.name())),
    column("latency", Kind::Number(32), (SAMPLED, NEVER), |r, _| number(r.latency)),
    column("cpu", Kind::Number(16), (SAMPLED, NEVER), |r, _| number(r.cpu)),
    column("instructions", Kind::Number(64), (CONSECUTIVE, NEVER), |r, _| number(between(r).0)),
    column("instructions_are", Kind::Text, (CONSECUTIVE, NEVER), |r, t| {
        between(r).1.map_or(Cell::Absent, |w| word(t, w))
    }),
];

fn columns(shape: Shape) -> Vec<&'static Column> {
    COLUMNS.iter().filter(|c| (c.when)(shape)).collect()
}

/// A file that is being written.
pub(crate) enum Sink {
    Parquet { writer: Box<SerializedFileWriter<File>>, rows: Vec<Row>, shape: Shape },
    Csv { out: BufWriter<File>, columns: Vec<&'static Column> },
}

impl Sink {
    pub(crate) fn parquet(file: File, shape: Shape) -> Result<Sink, ParquetError> {
        let mut schema = "message homenode {\n".to_owned();
        for c in columns(shape) {
            let how = if (c.required)(shape) { "required" } else { "optional" };
            schema += &match c.kind {
                Kind::Text => format!("{how} binary {} (STRING);\n", c.name),
                Kind::Number(64) => format!("{how} int64 {} (INTEGER(64,false));\n", c.name),
                Kind::Number(bits) => format!("{how} int32 {} (INTEGER({bits},false));\n", c.name),
            };
        }
        let schema = Arc::new(parse_message_type(&(schema + "}"))?);
        let zstd = Compression::ZSTD(ZstdLevel::try_new(1)?);
        let properties = WriterProperties::builder().set_compression(zstd).build();
        let writer = SerializedFileWriter::new(file, schema, Arc::new(properties))?;
        Ok(Sink::Parquet { writer: Box::new(writer), rows: Vec::with_capacity(GROUP_ROWS), shape })
    }

    pub(crate) fn csv(file: File, shape: Shape) -> Result<Sink, ParquetError> {
        let (mut out, columns) = (BufWriter::new(file), columns(shape));
        let names: Vec<&str> = columns.iter().map(|c| c.name).collect();
        writeln!(out, "{}", names.join(","))?;
        Ok(Sink::Csv { out, columns })
    }

    pub(crate) fn push(&mut self, row: Row, texts: &Texts) -> Result<(), ParquetError> {
        match self {
            Sink::Csv { out, columns } => {
                for (i, column) in columns.iter().enumerate() {
                    if i > 0 {
                        out.write_all(b",")?;
                    }
                    match (column.cell)(&row, texts) {
                        Cell::Absent => {}
                        Cell::Number(n) => write!(out, "{n}")?,
                        Cell::Text(text) => write_field(out, text.data())?,
                    }
                }
                out.write_all(b"\n")?;
            }
            Sink::Parquet { writer, rows, shape } => {
                rows.push(row);
                if rows.len() >= GROUP_ROWS {
                    write_group(writer, rows, *shape, texts)?;
                    rows.clear();
                }
            }
        }
        Ok(())
    }

    pub(crate) fn finish(self, texts: &Texts) -> Result<(), ParquetError> {
        match self {
            Sink::Csv { mut out, .. } => out.flush()?,
            Sink::Parquet { mut writer, rows, shape } => {
                if !rows.is_empty() {
                    write_group(&mut writer, &rows, shape, texts)?;
                }
                writer.close()?;
            }
        }
        Ok(())
    }
}

/// A field of CSV, in quotes where it needs them.
fn write_field(out: &mut impl Write, text: &[u8]) -> std::io::Result<()> {
    if !text.iter().any(|b| b",\"\r\n".contains(b)) {
        return out.write_all(text);
    }
    out.write_all(b"\"")?;
    for byte in text {
        out.write_all(if *byte == b'"' { b"\"\"" } else { std::slice::from_ref(byte) })?;
    }
    out.write_all(b"\"")
}

/// Parquet's unsigned columns are signed ones with the same bits.
fn write_group(
    writer: &mut SerializedFileWriter<File>,
    rows: &[Row],
    shape: Shape,
    texts: &Texts,
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for column in columns(shape) {
        let mut to = group.next_column()?.ok_or_else(|| ParquetError::General("a column is missing".to_owned()))?;
        let cells = || rows.iter().map(|row| (column.cell)(row, texts));
        let levels: Option<Vec<i16>> =
            (!(column.required)(shape)).then(|| cells().map(|c| i16::from(!matches!(c, Cell::Absent))).collect());
        let levels = levels.as_deref();
        let numbers = || cells().filter_map(|c| if let Cell::Number(n) = c { Some(n) } else { None });
        match to.untyped() {
            ColumnWriter::Int32ColumnWriter(w) => {
                w.write_batch(&numbers().map(|n| n as i32).collect::<Vec<_>>(), levels, None)?
            }
            ColumnWriter::Int64ColumnWriter(w) => {
                w.write_batch(&numbers().map(|n| n as i64).collect::<Vec<_>>(), levels, None)?
            }
            ColumnWriter::ByteArrayColumnWriter(w) => {
                let words = cells().filter_map(|c| if let Cell::Text(t) = c { Some(t.clone()) } else { None });
                w.write_batch(&words.collect::<Vec<_>>(), levels, None)?
            }
            _ => return Err(ParquetError::General("a column of a kind that exports do not have".to_owned())),
        };
        to.close()?;
    }
    group.close()?;
    Ok(())
}
