//! References as rows of a table: what CSV and Parquet have in common.
//!
//! The columns are those of `homenode export`. `thread`, `addr` and `op` must be there; `docs/import.md` has the list. The order of the
//! rows is the order of the references: each run of rows of a thread is a batch with the number of its row as its stamp, and the
//! manifest says that stamps are the order. The table is read twice: first for the numbers of its threads and sites, so that these stay.
mod objects;
mod phases;
mod sites;
mod survey;
#[cfg(test)]
mod tests;
mod writing;

use super::ReadError;
use crate::report::{FileReport, ImportSink};
use homenode_table::read::{Asked, TableReader};
use homenode_trace::Op;
use survey::Survey;
use writing::Writing;

/// Places in [`ASKED`].
pub(super) const THREAD: usize = 0;
pub(super) const ADDR: usize = 1;
const OP: usize = 2;
const SIZE: usize = 3;
const TIME: usize = 4;
const SITE: usize = 5;
const FILE: usize = 6;
const LINE: usize = 7;
const FUNCTION: usize = 8;
const OBJECT: usize = 9;
const PHASE: usize = 10;
const INSTRUCTIONS: usize = 11;
const COUNTED: usize = 12;
/// Columns of tables that are no references as they were made.
const WEIGHT: usize = 13;
const CHARGED: usize = 14;
const PAGES: usize = 15;

const fn count(names: &'static [&'static str]) -> Asked {
    Asked { names, words: false }
}

const fn words(names: &'static [&'static str]) -> Asked {
    Asked { names, words: true }
}

/// The columns.
pub(super) const ASKED: [Asked; 16] = [
    count(&["thread", "tid"]),
    count(&["addr", "address"]),
    words(&["op", "kind"]),
    count(&["size"]),
    count(&["time"]),
    count(&["site"]),
    words(&["file"]),
    count(&["line"]),
    words(&["function"]),
    words(&["object"]),
    words(&["phase"]),
    count(&["instructions"]),
    words(&["instructions_are"]),
    count(&["weight"]),
    words(&["charged"]),
    count(&["pages_one_in"]),
];

/// Columns that an export computes for a machine: they are computed again from the dataset.
const COMPUTED: [&str; 2] = ["thread_node", "node"];

/// What an operation may be called.
const OPS: [(&str, Op); 8] = [
    ("load", Op::Read),
    ("read", Op::Read),
    ("r", Op::Read),
    ("store", Op::Write),
    ("write", Op::Write),
    ("w", Op::Write),
    ("atomic", Op::Atomic),
    ("spin", Op::Spin),
];

/// What cannot be read is the file's fault.
pub(super) fn refused(e: homenode_table::read::ReadError) -> ReadError {
    ReadError::File(e.to_string())
}

/// Reads a table that `begin` opens from its beginning, as often as it is asked to, and hands to a function.
pub(super) fn read(
    mut begin: impl FnMut(&[Asked], &mut dyn FnMut(TableReader<'_>) -> Result<(), ReadError>) -> Result<(), ReadError>,
    sink: &mut dyn ImportSink,
) -> Result<FileReport, ReadError> {
    let mut survey = Survey::default();
    begin(&survey::asked(), &mut |table| survey.read(table.glancing()))?;
    let mut report = FileReport::default();
    let exact = sink.exact().map_err(ReadError::Sink)?;
    begin(&ASKED, &mut |mut table| {
        let notes = checked(&table)?;
        let mut writing = Writing::new(&survey, &table, exact)?;
        while let Some(batch) = table.next_batch().map_err(refused)? {
            (0..batch.rows).try_for_each(|row| writing.row(&batch, row, &table))?;
        }
        report = writing.finish(&table)?;
        report.notes.extend(notes);
        Ok(())
    })?;
    report.notes.extend(survey.notes());
    Ok(report)
}

/// Whether a table has references as they were made. What a reader should know of its columns.
fn checked(table: &TableReader<'_>) -> Result<Vec<String>, ReadError> {
    let refuse = |why: &str| Err(ReadError::File(why.to_owned()));
    if let Some(missing) = [THREAD, ADDR, OP].into_iter().find(|&asked| !table.has(asked)) {
        return refuse(&format!("it has no column {}", ASKED[missing].names.join(" or ")));
    }
    if table.has(CHARGED) {
        return refuse(
            "its rows are what policies saw behind caches (`homenode export --after-caches`), not references",
        );
    }
    if table.has(WEIGHT) {
        return refuse(
            "its rows are samples, with weights, and a table does not say how they were drawn: only one of all references can be imported; \
             analyse the recording itself, from which the table was exported",
        );
    }
    if table.has(PAGES) {
        return refuse(
            "its rows are the references to some pages alone (`record --sample`): those to all others are missing, and a table cannot \
             say which; record without `--sample`, or analyse the recording itself",
        );
    }
    let unknown: Vec<&str> = table.others().into_iter().filter(|name| !COMPUTED.contains(name)).collect();
    let mut notes = Vec::new();
    if !unknown.is_empty() {
        notes.push(format!("columns that are not known were passed over: {}", unknown.join(", ")));
    }
    if !table.has(SIZE) {
        notes.push("it has no column size: each reference counts as one byte".to_owned());
    }
    Ok(notes)
}
