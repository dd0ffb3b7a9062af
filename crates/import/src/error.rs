//! Why a file did not become a dataset.
use homenode_capture::CaptureError;
use std::path::PathBuf;

/// An import that did not happen.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file cannot be imported.
    #[error("{path}: {why}")]
    File {
        /// The file.
        path: PathBuf,
        /// Reason why the file cannot be imported, in words.
        why: String,
    },
    /// What is in the file cannot be a dataset; [`crate::read`] says of which file.
    #[error("{0}")]
    Content(String),
    /// The dataset cannot be written, or something is in its way.
    #[error(transparent)]
    Dataset(#[from] CaptureError),
}

impl ImportError {
    /// Exit status of the command line: 1 the work failed, 2 usage, 3 bad input.
    pub fn exit_status(&self) -> u8 {
        match self {
            ImportError::File { .. } | ImportError::Content(_) => 3,
            ImportError::Dataset(e) => e.exit_status(),
        }
    }
}
