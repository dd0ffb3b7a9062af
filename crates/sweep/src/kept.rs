//! Tables that a task left, kept like the answer of a unit.
use crate::store::ResultStore;
use homenode_command::Failure;
use homenode_table::Table;
use serde::{Deserialize, Serialize};

/// Tables of a task, as they are kept until all is done.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kept {
    study: String,
    name: String,
    /// Processor time that they took.
    pub(crate) seconds: f64,
    pub(crate) tables: Vec<Table>,
}

/// Keeps tables under a name.
pub(crate) fn keep(
    store: &ResultStore,
    study: &str,
    name: String,
    seconds: f64,
    tables: Vec<Table>,
) -> Result<(), Failure> {
    let kept = Kept { study: study.to_owned(), name, seconds, tables };
    store.put(&kept.name, &kept)
}

/// What [`keep`] wrote, if it is there and whole.
pub(crate) fn read(store: &ResultStore, study: &str, name: &str) -> Option<Kept> {
    store.get(name).filter(|k: &Kept| k.study == study && k.name == name)
}
