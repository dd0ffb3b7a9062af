//! # homenode-sim: what it would have cost
//!
//! Cache filter, plain engine and what-if transforms over the merged trace.
//!
//! **Invariant:** pure; the same trace, machine and options give the same [`Evaluation`] everywhere, and the parts of
//! every result add up to its total exactly.
//!
//! Reading order: [`evaluation`] (what comes out), [`evidence`] (what that does not rest on), [`evaluate`](mod@evaluate) (the passes), `replay` (one pass: `seat`,
//! `split`, [`cache`], `back`, `seen`, `fold`), `lanes` and `usage` (what is computed beside each other), [`engine`], [`filtered`], [`profile`], [`names`] (of addresses and code),
//! [`whatif`]. The definitions, exact enough to recompute results by other means, are in `docs/design/replay.md`.
#![forbid(unsafe_code)]

mod back;
mod blocks;
pub mod cache;
pub mod engine;
mod error;
pub mod evaluate;
pub mod evaluation;
pub mod evidence;
pub mod filtered;
mod fold;
mod lanes;
pub mod names;
mod observer;
pub mod profile;
mod replay;
mod seat;
mod seating;
mod seen;
mod split;
mod usage;
pub mod whatif;

pub use engine::{Engine, Priced, Setup};
pub use error::SimError;
pub use evaluate::{EvalContext, EvalOptions, Found, NoObjects, Objects, Source, evaluate};
pub use evaluation::Evaluation;
pub use evidence::Evidence;
pub use filtered::{Filtered, Passed};
pub use lanes::ProgramBounds;
pub use profile::{Profile, Profiled};
pub use replay::ReplayOptions;
pub use seat::{Seat, crew, salt, seats, thread_map};
pub use seating::Seating;
pub use seen::Seen;
pub use split::{Piece, Pieces, for_pieces};
pub use usage::Usage;
pub use whatif::{Predicted, Transform, WhatIf};
