//! CC-NUMA, S-COMA and what lies between them, in virtual time under memory pressure (Kuo, Carter, Kuramkote, Swanson: AS-COMA,
//! UUCS-98-010, 1998).
//!
//! **Invariant:** the hardware is one for all architectures; what they differ in are the decisions in `archs`. Frames are neither made nor
//! lost, a chunk has one owner, and whoever holds a copy is in its copy set.
//!
//! Reading order: [`Layout`] (pages and homes), [`Sizes`] (frames at a pressure), [`archs`], `system` (where an access goes), `paging`,
//! `l1`, `node`, `directory`, `paths`, [`Counters`], [`run`], [`OPEN_POINTS`].
//!
//! ```
//! use homenode_machine::models;
//! use homenode_timed::memory::{Question, archs, run};
//! use homenode_timed::engine::NoGaps;
//! use homenode_synthetic::Builder;
//!
//! let mut program = Builder::new(8);
//! (0..8).for_each(|t| _ = program.write(t, 0x10_0000 + 0x1000 * u64::from(t)));
//! program.barrier(0x9000, 0..8);
//! (0..80).for_each(|i| _ = program.read(1 + i % 7, 0x10_0000 + 0x1000 * u64::from(i % 8)));
//! let machine = models::find("ascoma").expect("in the registry");
//! let question = Question { machine: &machine, map: None, options: Default::default() };
//! let dataset = program.open()?;
//! let bound = question.bind(&dataset)?;
//! let row = run(&bound, archs::find("ascoma").expect("in the registry"), 50, || NoGaps)?;
//! assert_eq!(row.total.relocated, 0, "nothing is refetched 32 times");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
pub mod archs;
mod counters;
mod directory;
mod error;
mod l1;
mod layout;
mod node;
mod open_points;
mod paging;
mod paths;
mod run;
mod sizes;
mod system;
#[cfg(test)]
mod tests;

pub use counters::Counters;
pub use error::MemoryError;
pub use layout::Layout;
pub use open_points::{OPEN_POINTS, OpenPoint};
pub use run::{Bound, Overhead, Question, Relation, Row, relations, run};
pub use sizes::Sizes;
