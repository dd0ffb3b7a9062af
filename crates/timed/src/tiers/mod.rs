//! DRAM in front of slower memory: what a recording costs with so many frames of DRAM under a policy, beside the optimum.
//!
//! Equal pages, fixed prices of a move, decisions after so many accesses to memory (ticks), no queues (`docs/design/tiers.md`).
//!
//! **Invariant:** frames are neither made nor lost, and no policy costs less than the optimum.
//!
//! Reading order: [`TierMachine`] (what a machine's tiers cost), [`Recorded`] (a recording as accesses by page and tick), [`Dram`], [`policies`],
//! [`run`], [`curve`](fn@curve).
//!
//! ```
//! use homenode_machine::models;
//! use homenode_timed::tiers::{Limits, Recorded, TierMachine, curve, policies};
//! use homenode_synthetic::Builder;
//!
//! let mut program = Builder::new(1);
//! (0..4096u64).for_each(|i| _ = program.read(0, i * 4096));
//! let machine = models::find("dram-cxl").expect("in the registry");
//! let tiers = TierMachine::of(&machine, 4096, None)?;
//! let recorded = Recorded::of(&program.open()?, &machine, &tiers, None, &mut |_| ())?;
//! let choices = [policies::Choice::parse("none")?];
//! let points = curve(&recorded, &tiers, &[1024], &choices, Limits::default(), &mut |_| ())?;
//! // Nothing is used twice: whoever is in DRAM saves as much as anybody.
//! assert_eq!(points[0].policies[0].cost, points[0].optimum.at_least);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
mod curve;
mod dram;
mod error;
mod machine;
pub mod policies;
mod recorded;
mod run;

pub use curve::{Limits, Optimum, Point, curve};
pub use dram::Dram;
pub use error::TierError;
pub use machine::TierMachine;
pub use recorded::{Recorded, Use};
pub use run::{Outcome, run};
