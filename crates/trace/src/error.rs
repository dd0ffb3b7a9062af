//! What can be wrong with a dataset.

/// A dataset that cannot be read. Each message says what is wrong, where, and what to do if anything can be done.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The store failed.
    #[error("cannot read {name}: {source}")]
    Io {
        /// File inside the dataset.
        name: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// Bytes that no version of this format contains.
    #[error("{name} is damaged at byte {offset}: {what}; `homenode recover` keeps everything that is whole")]
    Damaged {
        /// File inside the dataset.
        name: String,
        /// Byte offset of the damage.
        offset: u64,
        /// What was expected and found.
        what: String,
    },
    /// The manifest contradicts itself or the files.
    #[error("manifest.json: {0}")]
    Manifest(String),
    /// The recording goes on, or its recorder was killed: nothing counts yet what the files hold.
    #[error(
        "the recording was not finished: its recorder still runs or was killed; if it was killed, run `homenode recover`"
    )]
    Unfinished,
    /// Written by a later format version.
    #[error("{name} has format version {found}, this homenode reads up to {known}; use a newer homenode")]
    Newer {
        /// File inside the dataset.
        name: String,
        /// Version in the file.
        found: u32,
        /// Newest version this build knows.
        known: u32,
    },
    /// Synchronisation that no execution can have produced.
    #[error("synchronisation events contradict each other: {0}")]
    Cycle(String),
}
