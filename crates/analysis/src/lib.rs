//! # homenode-analysis: who shares what, who pays for it, what to change
//!
//! Streaming accumulators over the merged trace: sharing patterns per line, costs by object and source line, falsely
//! shared words, the heat map, and from these the candidates for findings. The replay drives them through
//! [`Analysis`]; the definitions of the patterns are in `docs/patterns.md`.
//!
//! **Invariant:** memory grows with the lines and blocks touched, never with references; sums over objects, over lines
//! of code and over patterns each equal the total charged, to the last unit.
//!
//! Reading order: [`feed`] (what comes in), [`patterns`], [`detail`], `watched`, `transfers`, [`attribution`], `shares`, [`heat`], `owners`, `confidence` (of samples),
//! [`Overview`] and `colours` (what is known of all blocks at once, and of those of one colour), `parts` (what is known at the end), [`candidate`], `candidates` and
//! `tables` (what goes out), [`inference`] (what a part says of all), [`evidence`] (what none of it rests on), [`analysis`] (all of them together).
//!
//! ```
//! use homenode_analysis::Pattern;
//! use homenode_analysis::patterns::{Patterns, Touch};
//! use homenode_trace::Op;
//!
//! // Two threads write different words of one line of 64 bytes.
//! let mut patterns = Patterns::new(64);
//! for _ in 0..10 {
//!     for thread in 0..2 {
//!         let addr = 0x1000 + 8 * u64::from(thread);
//!         patterns.touch(&Touch { addr, size: 8, thread, op: Op::Write, object: 0 }, |_| ());
//!     }
//! }
//! assert_eq!(patterns.class_of(0x1000 / 64).map(|c| c.pattern), Some(Pattern::FalselyShared));
//! ```
#![forbid(unsafe_code)]

pub mod analysis;
pub mod attribution;
pub mod candidate;
mod candidates;
mod confidence;
pub mod detail;
pub mod evidence;
pub mod feed;
pub mod heat;
mod index;
pub mod inference;
mod locks;
mod loops;
pub mod names;
mod overview;
mod owners;
mod parts;
pub mod patterns;
pub mod rows;
mod shares;
mod sums;
mod tables;
mod transfers;
pub mod transform;
mod true_use;
mod turns;
mod watched;
mod words;

pub use analysis::Analysis;
pub use candidate::Candidate;
pub use feed::{BlockReference, Charge, Hit, Setup, Transfer};
pub use locks::Locked;
pub use names::{ConstructName, FieldName, Names, ObjectName, SiteName, UNKNOWN_OBJECT, UNKNOWN_SITE};
pub use overview::Overview;
pub use patterns::Pattern;
pub use tables::Analysed;
pub use transform::{Making, Part, Transform};
