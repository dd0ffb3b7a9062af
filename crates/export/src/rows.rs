//! The rows of an export: one list of columns.
use crate::names::{Place, Texts};
use crate::words::{COUNTED, ESTIMATED, WRITE_BACK, charged};
use homenode_command::instructions::Between;
use homenode_machine::AccessClass;
use homenode_table::{Cell, Format, Kind, RecordBatch, Table, TableFile, WriteError};
use homenode_trace::{DataSource, Op};
use std::fs::File;

/// Rows of a Parquet row group: what a reader must hold at once.
pub(crate) const GROUP_ROWS: usize = 1 << 18;

/// Rows that are handed on together: they stay in the caches.
const ROWS_AT_ONCE: usize = 1024;

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
    /// Pages of which one was recorded.
    pub(crate) pages_one_in: u32,
}

/// Which columns there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Whether there are columns of samples.
    pub(crate) sampled: bool,
    /// Whether there are columns of what policies saw.
    pub(crate) after_caches: bool,
    /// Whether references are to some pages alone.
    pub(crate) some_pages: bool,
}

/// Whether something holds for files of this shape.
type Holds = fn(Shape) -> bool;

struct Column {
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
const SOME_PAGES: Holds = |s| s.some_pages;
const AFTER_CACHES: Holds = |s| s.after_caches;
/// What a write-back has not.
const REFERENCE: Holds = |s| !s.after_caches;

fn number<'a>(n: Option<impl Into<u64>>) -> Cell<'a> {
    n.map_or(Cell::Absent, |n| Cell::Count(n.into()))
}

fn text(texts: &Texts, number: u32) -> Cell<'_> {
    Cell::from(texts.get(number))
}

/// The number of instructions, and how it is known.
fn between(r: &Row) -> (Option<u64>, Option<&'static str>) {
    match r.instructions {
        Between::Counted(n) => (Some(n), Some(COUNTED)),
        Between::Estimated(n) => (Some(n.into()), Some(ESTIMATED)),
        Between::Unknown => (None, None),
    }
}

const fn column(
    name: &'static str,
    kind: Kind,
    (when, required): (Holds, Holds),
    cell: for<'a> fn(&Row, &'a Texts) -> Cell<'a>,
) -> Column {
    Column { name, kind, required, when, cell }
}

const COLUMNS: [Column; 22] = [
    column("thread", Kind::Count32, (ALWAYS, REFERENCE), |r, _| number(r.thread)),
    column("space", Kind::Count32, (AFTER_CACHES, ALWAYS), |r, _| number(Some(r.space))),
    column("addr", Kind::Count, (ALWAYS, ALWAYS), |r, _| number(Some(r.addr))),
    column("size", Kind::Count32, (ALWAYS, ALWAYS), |r, _| number(Some(r.size))),
    column("op", Kind::Text, (ALWAYS, ALWAYS), |r, _| Cell::from(r.op.map_or(WRITE_BACK, Op::name))),
    column("site", Kind::Count32, (ALWAYS, REFERENCE), |r, _| number(r.site)),
    column("file", Kind::Text, (ALWAYS, NEVER), |r, t| text(t, r.place.file)),
    column("line", Kind::Count32, (ALWAYS, NEVER), |r, _| number(Some(r.place.line).filter(|l| *l > 0))),
    column("function", Kind::Text, (ALWAYS, NEVER), |r, t| text(t, r.place.function)),
    column("object", Kind::Text, (ALWAYS, NEVER), |r, t| text(t, r.object)),
    column("thread_node", Kind::Count16, (ALWAYS, NEVER), |r, _| number(r.thread_node)),
    column("node", Kind::Count16, (ALWAYS, NEVER), |r, _| number(r.node)),
    column("phase", Kind::Text, (ALWAYS, NEVER), |r, t| text(t, r.phase)),
    column("charged", Kind::Text, (AFTER_CACHES, ALWAYS), |r, _| Cell::from(charged(r.charged))),
    column("times", Kind::Count32, (AFTER_CACHES, ALWAYS), |r, _| number(Some(r.times))),
    column("weight", Kind::Count32, (SAMPLED, ALWAYS), |r, _| number(Some(r.weight))),
    column("source", Kind::Text, (SAMPLED, ALWAYS), |r, _| Cell::from(r.source.name())),
    column("latency", Kind::Count32, (SAMPLED, NEVER), |r, _| number(r.latency)),
    column("cpu", Kind::Count16, (SAMPLED, NEVER), |r, _| number(r.cpu)),
    column("pages_one_in", Kind::Count32, (SOME_PAGES, ALWAYS), |r, _| number(Some(r.pages_one_in))),
    column("instructions", Kind::Count, (CONSECUTIVE, NEVER), |r, _| number(between(r).0)),
    column("instructions_are", Kind::Text, (CONSECUTIVE, NEVER), |r, _| Cell::from(between(r).1)),
];

/// Takes batches of rows.
type Give<'s> = &'s mut (dyn FnMut(RecordBatch) -> std::io::Result<()> + Send);

/// Where rows go.
enum To<'s> {
    File(TableFile<File>),
    /// Rows that are not handed on yet, and their number then.
    Batches(Table, usize, Give<'s>),
}

/// A file that is being written, or who takes batches.
pub(crate) struct Sink<'s> {
    to: To<'s>,
    columns: Vec<&'static Column>,
    /// Rows that are not there yet.
    rows: Vec<Row>,
}

impl<'s> Sink<'s> {
    pub(crate) fn file(file: File, format: Format, shape: Shape) -> Result<Sink<'s>, WriteError> {
        let (columns, shown) = columns(shape);
        Ok(Sink { to: To::File(TableFile::new(file, format, shown)?), columns, rows: Vec::new() })
    }

    pub(crate) fn batches(rows: usize, give: Give<'s>, shape: Shape) -> Sink<'s> {
        let (columns, shown) = columns(shape);
        Sink { to: To::Batches(Table::new(shown), rows, give), columns, rows: Vec::new() }
    }

    pub(crate) fn push(&mut self, row: Row, texts: &Texts) -> Result<(), WriteError> {
        self.rows.push(row);
        if self.rows.len() == ROWS_AT_ONCE { self.write(texts) } else { Ok(()) }
    }

    fn write(&mut self, texts: &Texts) -> Result<(), WriteError> {
        let Sink { to, columns, rows } = self;
        let cell = |column: usize, row: usize| (columns[column].cell)(&rows[row], texts);
        match to {
            To::File(file) => file.extend(rows.len(), cell)?,
            To::Batches(table, whole, give) => {
                let mut from = 0;
                while from < rows.len() {
                    let more = (rows.len() - from).min(*whole - table.len());
                    table.extend(more, |column, row| cell(column, from + row));
                    from += more;
                    if table.len() == *whole {
                        give(table.take()?)?;
                    }
                }
            }
        }
        rows.clear();
        Ok(())
    }

    pub(crate) fn finish(mut self, texts: &Texts) -> Result<(), WriteError> {
        self.write(texts)?;
        match self.to {
            To::File(file) => file.finish(),
            To::Batches(table, ..) if table.is_empty() => Ok(()),
            To::Batches(mut table, _, give) => Ok(give(table.take()?)?),
        }
    }
}

/// The columns of such a file, and as tables have them.
fn columns(shape: Shape) -> (Vec<&'static Column>, Vec<homenode_table::Column>) {
    let columns: Vec<&'static Column> = COLUMNS.iter().filter(|c| (c.when)(shape)).collect();
    let table = |c: &&Column| {
        let column = homenode_table::Column::new(c.name, c.kind);
        if (c.required)(shape) { column.required() } else { column }
    };
    let shown = columns.iter().map(table).collect();
    (columns, shown)
}
