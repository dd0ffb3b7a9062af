//! # homenode-analysis: who shares what, who pays for it, what to change
//!
//! Streaming accumulators over the merged trace: sharing patterns per line, costs by object and source line, falsely
//! shared words, the heat map, and from these the candidates for findings. The replay drives them through
//! [`Analysis`]; the definitions of the patterns are in `docs/patterns.md`.
//!
//! **Invariant:** memory grows with the lines and blocks touched, never with references; sums over objects, over lines
//! of code and over patterns each equal the total charged, to the last unit.
//!
//! Reading order: [`feed`] (what comes in), [`patterns`], [`detail`], `watched`, `transfers`, [`attribution`], [`heat`], `owners`, `confidence` (of samples),
//! [`candidate`] and `candidates` (what goes out), [`analysis`] (all of them together).
#![forbid(unsafe_code)]

pub mod analysis;
pub mod attribution;
pub mod candidate;
mod candidates;
mod confidence;
pub mod detail;
pub mod feed;
pub mod heat;
mod index;
mod locks;
pub mod names;
mod owners;
pub mod patterns;
pub mod rows;
mod tables;
mod transfers;
mod true_use;
mod turns;
mod watched;
mod words;

pub use analysis::{Analysed, Analysis};
pub use candidate::{Candidate, Making, Remedy};
pub use feed::{Charge, Setup, Transfer};
pub use names::{FieldName, Names, ObjectName, SiteName, UNKNOWN_OBJECT, UNKNOWN_SITE};
pub use patterns::Pattern;
