//! # homenode-capture: from a running program to a dataset
//!
//! The recorder, the dataset as a directory and what to do after a crash.
//!
//! **Invariant:** what a ring's `tail` has passed is in a file of the dataset, so killing the recorder loses nothing that the
//! ring files do not still hold; and whatever happens to the recorder, the recorded program runs on.
//!
//! Reading order: [`store`], [`backends`], `control` and `ring` (the protocol of `homenode_base::ring` seen from this side), `memory` (where rings lie),
//! `slots` (ring slots to references and events), `sink` and `drain` (one thread's ring to its files), `workers` (all rings),
//! [`record()`], [`sampled`] (the recorder for samples) and [`protect`] (samples by the preloaded library), [`leftovers`], `finish`, [`recover()`], [`compact()`].
#![forbid(unsafe_code)]

pub mod backends;
mod compact;
mod control;
mod drain;
mod error;
mod facts;
mod finish;
pub mod leftovers;
pub mod manifest;
mod memory;
mod output;
pub mod protect;
mod record;
mod recover;
mod ring;
pub mod sampled;
mod sink;
mod slots;
pub mod store;
mod workers;
#[cfg(test)]
mod workers_tests;

pub use compact::{CompactSummary, compact};
pub use error::CaptureError;
pub use facts::Counts;
pub use record::{Progress, RecordOptions, RecordSummary, Snapshot, record};
pub use recover::{RecoverSummary, recover};
pub use store::DirStore;
