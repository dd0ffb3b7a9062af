//! # homenode-import: recordings of other tools as datasets
//!
//! A family of formats; whatever the format, its samples and notices become the same dataset, which every analysis reads.
//!
//! **Invariant:** a file is read or refused with the reason, never believed: no length in it is allocated before that many
//! bytes were read. A refused file leaves nothing behind, and what stood at the output stays.
//!
//! What is no recording is refused, and one that holds no evidence as well:
//! ```
//! let dir = tempfile::tempdir().unwrap();
//! let (file, out) = (dir.path().join("perf.data"), dir.path().join("x.hnt"));
//! std::fs::write(&file, "a letter, and no recording at all").unwrap();
//! let refused = homenode_import::import(&file, &out, false).unwrap_err();
//! assert!(refused.to_string().contains("no other format can be imported"));
//! assert_eq!((refused.exit_status(), out.exists()), (3, false));
//! assert!(homenode_import::formats::ALL.iter().any(|format| format.name == "perf.data"));
//! ```
//!
//! Reading order: [`report`] (what a format delivers), [`formats`] (the family), `unpack` (gzip, lz4 and zip), `process_table` (who and what
//! is mapped), `quiet` (panics of a library that are errors), `sampled` and `exact` (the files), `dataset`, [`import()`].
#![forbid(unsafe_code)]

mod dataset;
mod error;
mod exact;
pub mod formats;
mod import;
mod process_table;
mod quiet;
pub mod report;
mod sampled;
#[cfg(test)]
mod testing;
pub mod unpack;

pub use dataset::ImportSummary;
pub use error::ImportError;
pub use import::{import, read};
pub use report::{Batch, ExactSink, ImportSink, Input, Source};
