//! From a path to an opened dataset.
use crate::Failure;
use homenode_capture::{CaptureError, DirStore};
use homenode_host::launch::LaunchError;
use homenode_sampling::SamplingError;
use homenode_trace::TraceError;
use homenode_trace::dataset::DatasetReader;
use std::path::Path;
use std::sync::Arc;

/// An opened dataset and its directory.
pub struct Opened {
    /// The directory.
    pub store: Arc<DirStore>,
    /// What is in it.
    pub reader: DatasetReader,
}

/// Opens a dataset that has all pages.
///
/// # Errors
/// Whatever is wrong with it is bad input, and so is a recording of some pages: what one sees in it would be taken for all.
pub fn open(path: &Path) -> Result<Opened, Failure> {
    let opened = open_any(path)?;
    match opened.reader.manifest().pages {
        None => Ok(opened),
        Some(pages) => Err(Failure::input(format!(
            "{} has one page in {} (record --sample), and this needs them all: record without --sample; report, info, check, compact and \
             export take it",
            path.display(),
            pages.one_in
        ))),
    }
}

/// Opens a dataset, perhaps of some pages alone.
///
/// # Errors
/// Whatever is wrong with it is bad input; of a recording whose recorder was killed the line says what to do.
pub fn open_any(path: &Path) -> Result<Opened, Failure> {
    let store = Arc::new(DirStore::open(path)?);
    match DatasetReader::open(store.clone()) {
        Ok(reader) => Ok(Opened { store, reader }),
        Err(TraceError::Unfinished) => Err(unfinished(&store)),
        Err(e) => Err(Failure::input(format!("{}: {e}", path.display()))),
    }
}

/// Why a recording without an end has none.
fn unfinished(store: &DirStore) -> Failure {
    match store.refuse_while_recorded() {
        Err(alive) => Failure::input(alive),
        Ok(()) => {
            let path = store.root().display();
            Failure::input(format!("{path} was not finished: its recorder was killed; run `homenode recover {path}`"))
        }
    }
}

/// References of all threads, spins included.
pub fn refs(reader: &DatasetReader) -> u64 {
    (0..reader.threads()).map(|t| reader.refs(t)).sum()
}

impl From<CaptureError> for Failure {
    fn from(e: CaptureError) -> Failure {
        match e.exit_status() {
            2 => Failure::usage(e),
            3 => Failure::input(e),
            _ => Failure::work(e),
        }
    }
}

impl From<LaunchError> for Failure {
    fn from(e: LaunchError) -> Failure {
        Failure::from(CaptureError::from(e))
    }
}

impl From<SamplingError> for Failure {
    fn from(e: SamplingError) -> Failure {
        Failure::from(CaptureError::from(e))
    }
}
