//! From the rows of tasks to the table.
use super::columns::{KEYS, WHAT_IF, columns, varied};
use super::{clusters, read, tasks};
use crate::columns::PARQUET;
use crate::doc::{ClusterRowDoc, FIRST_ROWS};
use crate::resolved::ResolvedStudy;
use crate::store::ResultStore;
use homenode_command::Failure;
use homenode_sys::dir::create_new;
use homenode_table::{Cell, Format, TableFile, WriteError};
use std::fs::File;
use std::path::PathBuf;

/// What is known of files once they are written.
#[derive(Default)]
pub(crate) struct Filled {
    pub(crate) rows: u64,
    pub(crate) units: u64,
    pub(crate) seconds: f64,
    pub(crate) first: Vec<ClusterRowDoc>,
    pub(crate) notes: Vec<String>,
}

/// Writes the rows of all tasks as Parquet into the first of the files, and as CSV into the second if there is one.
pub(crate) fn fill(resolved: &ResolvedStudy, store: &ResultStore, parts: &[PathBuf]) -> Result<Filled, Failure> {
    let unwritten = |e: WriteError| {
        let table = store.table();
        Failure::work(format!(
            "cannot write {}: {e}; with room there, the same command only does this again",
            table.display()
        ))
    };
    let parameters = varied(resolved);
    let create = |(path, format): (&PathBuf, Format)| -> Result<TableFile<File>, WriteError> {
        TableFile::new(create_new(path)?, format, columns(&parameters))
    };
    let files = parts.iter().zip([PARQUET, Format::Csv]).map(create);
    let mut files = files.collect::<Result<Vec<_>, _>>().map_err(unwritten)?;
    let (mut filled, mut said) = (Filled::default(), Vec::new());
    for task in tasks(resolved) {
        let lost = || Failure::work("the rows of a unit are damaged; the same command computes them again");
        let kept = read(store, &resolved.digest, task).ok_or_else(lost)?;
        filled.units += 1;
        filled.seconds += kept.seconds;
        said.push((resolved.traces[task.trace].label.as_str(), kept.tables[0].note.to_string()));
        for row in kept.tables[0].rows() {
            filled.rows += 1;
            if filled.first.len() < FIRST_ROWS {
                filled.first.push(short(&row, parameters.len()));
            }
            files.iter_mut().try_for_each(|file| file.push(row.iter().cloned())).map_err(unwritten)?;
        }
    }
    files.into_iter().try_for_each(TableFile::finish).map_err(unwritten)?;
    filled.notes = together(said);
    Ok(filled)
}

/// A row in short; behind what it is of stand so many parameters, the speedup and the ideal one; third from its end is what is busiest.
fn short(row: &[Cell<'_>], parameters: usize) -> ClusterRowDoc {
    let words = |at: usize| row[at].to_string();
    let number = |at: usize| if let Cell::Real(x) = row[at] { x } else { 0.0 };
    let speedup = KEYS.len() + parameters;
    let busiest = row.len() - 3;
    let or_none = |cell: &Cell<'_>| (*cell != Cell::Absent).then(|| cell.to_string());
    ClusterRowDoc {
        trace: words(0),
        machine: words(1),
        nodes: words(2),
        protocol: words(3),
        what_if: or_none(&row[WHAT_IF]),
        speedup: number(speedup),
        ideal: number(speedup + 1),
        busiest: or_none(&row[busiest]),
    }
}

/// What a reader of the table should know.
pub(crate) fn notes(resolved: &ResolvedStudy) -> Result<Vec<String>, Failure> {
    let mut notes = vec![
        "cycles of a processor, of all threads together; speedup: over one processor of the machine as it is"
            .to_owned(),
    ];
    let mut said = Vec::new();
    for trace in &resolved.traces {
        let of = homenode_cluster::notes(trace.reader()?);
        said.extend(of.into_iter().map(|note| (trace.label.as_str(), note)));
    }
    notes.extend(together(said));
    Ok(notes)
}

/// Notes on traces, each once and behind all traces that it is true of.
fn together(said: Vec<(&str, String)>) -> Vec<String> {
    let mut all: Vec<(Vec<&str>, String)> = Vec::new();
    for (label, note) in said.into_iter().filter(|(_, note)| !note.is_empty()) {
        match all.iter_mut().find(|(_, known)| *known == note) {
            Some((labels, _)) if labels.contains(&label) => {}
            Some((labels, _)) => labels.push(label),
            None => all.push((vec![label], note)),
        }
    }
    all.into_iter().map(|(labels, note)| format!("{}: {note}", labels.join(", "))).collect()
}

/// How many clusters a study has.
pub(crate) fn count(resolved: &ResolvedStudy) -> u64 {
    clusters(resolved).len() as u64
}
