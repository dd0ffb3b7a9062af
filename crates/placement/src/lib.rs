//! # homenode-placement: where pages could live, and what is best
//!
//! The exact optimum, on-line policies behind one trait, the plan type, and an independent checker that re-costs any
//! placement knowing only the cost definition.
//!
//! **Invariant:** an algorithm returns the placement it claims the cost of, and the checker agrees to the last unit.
//!
//! Reading order: [`access`], [`placement`], [`checker`], [`optimum`], [`policy`], [`engine`], [`policies`],
//! [`counts`], [`affinity`], [`assign`], [`threads`] (from evidence to homes and seats), [`plan`]; [`oracle`] is brute
//! force for tests.
#![forbid(unsafe_code)]

pub mod access;
pub mod affinity;
pub mod assign;
pub mod checker;
pub mod counts;
pub mod engine;
pub mod live;
pub mod optimum;
pub mod oracle;
pub mod placement;
pub mod plan;
pub mod policies;
pub mod policy;
pub mod threads;

pub use access::{Access, AccessKind};
pub use engine::{BlockEngine, Meter, Step, Tally};
pub use optimum::{Bounded, Bounds, Solved, Start};
pub use placement::{LocationSet, Placement};
pub use policy::{BlockContext, Outcome, Policy, Sink};
