//! # homenode-sim: what it would have cost
//!
//! Cache filter, plain engine and what-if transforms over the merged trace.
//!
//! **Invariant:** pure; the same trace, machine and options give the same [`Evaluation`] everywhere, and the parts of
//! every result add up to its total exactly.
//!
//! Reading order: [`evaluation`] (what comes out), [`evidence`] (what that does not rest on), [`evaluate`](mod@evaluate) (the passes; `colours`, `workers` and `front`: what of them can be done at the same time; [`estimate`]: a first answer from a part), `replay` (one pass:
//! `split`, [`cache`], `misses`, `memory_side`, `seen`, `fold`), `consumers` and `usage` (what is computed beside each other), `traffic` (what policies ask of memories), [`engine`], [`filtered`], [`charged`], [`profile`], [`names`] (of addresses and code),
//! [`whatif`], [`shared`] (what protocols of page coherence are asked about), [`verify`](mod@verify). The definitions, exact enough to recompute results by other means, are in `docs/design/replay.md`.
//!
//! ```
//! use homenode_machine::models;
//! use homenode_placement::policies::Choice;
//! use homenode_sim::{Engine, Setup, bindings, thread_map};
//! use homenode_trace::order::{Order, OrderKind, Stream};
//! use homenode_synthetic::Builder;
//!
//! let mut program = Builder::new(2);
//! program.write(0, 0x1000);
//! (0..9).for_each(|_| _ = program.read(1, 0x1000));
//! let dataset = program.open()?;
//! let machine = models::find("butterfly").expect("in the registry");
//! let bindings = bindings(&thread_map(&dataset, &machine, None)?, |thread| dataset.address_space(thread));
//! let setup = Setup::exact(&machine, &bindings, 4096);
//! let mut engine = Engine::new(setup, &[Choice::parse("first-touch")?, Choice::parse("best-static")?], None)?;
//! let mut order = Order::new(&dataset, OrderKind::Model)?;
//! while let Some(piece) = order.pull()? {
//!     engine.refs(piece.refs);
//! }
//! let priced = engine.finish()?;
//! assert!(priced.total(1) < priced.total(0), "the page belongs to who reads it, not to who touched it first");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod blocks;
mod bound_machine;
pub mod cache;
pub mod charged;
mod colours;
mod consumers;
pub mod engine;
mod error;
pub mod evaluate;
pub mod evaluation;
pub mod filtered;
mod fold;
mod front;
mod memory_side;
mod misses;
pub mod names;
mod observer;
pub mod profile;
mod replay;
mod seen;
mod setup;
pub mod shared;
mod split;
mod traffic;
mod usage;
mod verified;
pub mod verify;
pub mod whatif;
mod workers;

pub use bound_machine::BoundMachine;
pub use charged::{Charge, Charges, Served};
pub use consumers::ProgramBounds;
pub use engine::{Engine, Priced};
pub use error::SimError;
pub use evaluate::estimate::{
    ChangeEstimate, Estimate, EstimateRow, ObjectEstimate, PageDraw, estimate, estimate_pages,
};
pub use evaluate::{EvalContext, EvalOptions, NoObjects, ObjectRange, Objects, evaluate};
pub use evaluation::Evaluation;
pub use filtered::{Filtered, Passed};
pub use homenode_analysis::evidence::{self, Evidence};
pub use homenode_threads::{ThreadBinding, bindings, lives, pinned, thread_map, thread_table};
pub use profile::{Profile, Profiled};
pub use seen::Seen;
pub use setup::{MissModel, ReplayOptions, Setup, Waits};
pub use shared::SharedRefs;
pub use split::{Piece, Pieces, for_pieces};
pub use traffic::TrafficOptions;
pub use usage::Usage;
pub use verified::{Verified, VerifiedRow};
pub use verify::verify;
pub use whatif::{Predicted, WhatIf};
pub use workers::{Alone, Job, Workers};
