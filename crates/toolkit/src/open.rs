//! From a path to an opened dataset.
use crate::Failure;
use homenode_capture::{CaptureError, DirStore};
use homenode_trace::dataset::DatasetReader;
use std::path::Path;
use std::sync::Arc;

/// An opened dataset and its directory.
pub(crate) struct Opened {
    pub(crate) store: Arc<DirStore>,
    pub(crate) reader: DatasetReader,
}

/// Opens a dataset; whatever is wrong with it is bad input.
pub(crate) fn open(path: &Path) -> Result<Opened, Failure> {
    let store = Arc::new(DirStore::open(path)?);
    let reader = DatasetReader::open(store.clone()).map_err(|e| Failure::input(format!("{}: {e}", path.display())))?;
    Ok(Opened { store, reader })
}

/// References of all threads, spins included.
pub(crate) fn refs(reader: &DatasetReader) -> u64 {
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
