//! # homenode-capture: from a running program to a dataset
//!
//! The recorder, the dataset as a directory and what to do after a crash.
//!
//! **Invariant:** what a ring's `tail` has passed is in a file of the dataset, so killing the recorder loses nothing that the
//! ring files do not still hold; and whatever happens to the recorder, the recorded program runs on.
//!
//! Record a program built with the hooks, and read what it did:
//! ```
//! use homenode_capture::{DirStore, RecordOptions, record};
//! use homenode_hooks::{compile, install};
//! use homenode_trace::DatasetReader;
//! use std::sync::Arc;
//!
//! let dir = tempfile::tempdir().unwrap();
//! let [source, program, out] = ["sum.c", "sum", "sum.hnt"].map(|name| dir.path().join(name));
//! std::fs::write(&source, "volatile int x; int main(void) { for (int i = 0; i < 100; i++) x += i; return 0; }").unwrap();
//! let arguments = ["--compiler=gcc".into(), source.into(), "-o".into(), program.clone().into()];
//! let archive = install::install_in(dir.path()).unwrap();
//! let built = compile::plan(homenode_hooks::Mode::Cc, &arguments, &archive).unwrap().command().status().unwrap();
//! assert!(built.success());
//!
//! let command = vec![program.into()];
//! let options = RecordOptions { command, out: out.clone(), backend: "hooks".into(), ..RecordOptions::default() };
//! let summary = record(&options, &mut ()).unwrap();
//! assert!(summary.refs >= 200, "each addition reads and writes x");
//! let dataset = DatasetReader::open(Arc::new(DirStore::open(&out).unwrap())).unwrap();
//! assert_eq!(dataset.refs(0), summary.refs);
//! ```
//!
//! Reading order: [`store`] and [`manifest`] (the dataset as a directory), `options` (what is asked, what came of it), `control` and
//! `ring` (the protocol of `homenode_base::ring` seen from this side), `memory` (where rings lie), `slots` (ring slots to
//! references and events), `sink` and `drain` (one thread's ring to its files), `facts`, `output` (a directory as the sink of `homenode_trace::writer`), `workers` (all rings),
//! `finish` (the dataset completed), `marks` (which programs have hooks), `calibrate` (the program without hooks, before), `exact` (the recorder for programs with hooks), [`sampled`] (the recorder for samples) with
//! [`protect`] (samples by the preloaded library), [`backends`] (the family: it knows both recorders), [`record()`];
//! [`recover()`], [`leftovers`], [`compact()`].
#![forbid(unsafe_code)]

pub mod backends;
mod blocks;
#[cfg(test)]
mod blocks_tests;
mod calibrate;
mod compact;
mod control;
mod drain;
mod error;
mod exact;
mod facts;
mod finish;
pub mod leftovers;
pub mod manifest;
mod marks;
mod memory;
mod options;
mod output;
pub mod protect;
mod record;
mod recover;
mod repeats;
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
pub use options::{Calibrate, Progress, RecordOptions, RecordSummary, Snapshot};
pub use record::record;
pub use recover::{RecoverSummary, recover};
pub use store::DirStore;
