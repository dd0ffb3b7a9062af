//! Commands whose answer is a document.
use crate::work::{self, Watch, raised};
use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;

/// Version of the native module.
#[pyfunction]
pub(crate) fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// What a recording holds, as JSON.
#[pyfunction]
pub(crate) fn info(py: Python<'_>, dataset: PathBuf) -> PyResult<String> {
    work::run(py, None, &Watch::default(), move |watch| {
        homenode_toolkit::info(&dataset, watch).map(|doc| doc.to_json())
    })
}

/// Whether a recording is whole, as JSON.
#[pyfunction]
pub(crate) fn check(py: Python<'_>, dataset: PathBuf) -> PyResult<String> {
    work::run(py, None, &Watch::default(), move |_| homenode_toolkit::check(&dataset).map(|doc| doc.to_json()))
}

/// Makes a recording of files of another tool; what was made of them, as JSON.
#[pyfunction]
pub(crate) fn import_files(py: Python<'_>, files: Vec<PathBuf>, output: PathBuf, force: bool) -> PyResult<String> {
    work::run(py, None, &Watch::default(), move |_| {
        homenode_toolkit::import(&files, &output, force).map(|doc| doc.to_json())
    })
}

/// Members of a family, or the families, as JSON.
#[pyfunction]
pub(crate) fn members(family: Option<&str>) -> PyResult<String> {
    let doc = homenode_toolkit::families::list(family).map_err(|failure| raised(&failure))?;
    Ok(doc.to_json())
}

/// A plan of where data and threads of the recorded program should live, as JSON.
#[pyfunction]
#[pyo3(signature = (dataset, *, machine, rule, map, move_threads, capacity, page_bytes))]
#[expect(clippy::too_many_arguments, reason = "each is one of the command's options, by name")]
pub(crate) fn place(
    py: Python<'_>,
    dataset: PathBuf,
    machine: String,
    rule: Option<String>,
    map: Option<String>,
    move_threads: bool,
    capacity: Option<Vec<u64>>,
    page_bytes: Option<u64>,
) -> PyResult<String> {
    let request = homenode_place::PlaceRequest { dataset, machine, rule, map, move_threads, capacity, page_bytes };
    work::run(py, None, &Watch::default(), move |watch| homenode_place::place(&request, watch).map(|doc| doc.to_json()))
}

/// Runs a command line of `homenode`, whose first word is the command's own name; `itself` starts another process that does. Returns
/// the exit status.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, words: Vec<OsString>, itself: Vec<OsString>) -> u8 {
    py.detach(|| homenode_cli::run(words, itself))
}
