//! # homenode-placement: where pages could live, and what is best
//!
//! The exact optimum, on-line policies behind one trait, the plan type, and an independent checker that re-costs any
//! placement knowing only the cost definition.
//!
//! **Invariant:** an algorithm returns the placement it claims the cost of, and the checker agrees to the last unit.
//!
//! Reading order: [`access`], [`placement`], [`checker`], [`optimum`], [`policy`], [`events`], [`engine`], [`policies`],
//! [`counts`], [`affinity`], [`assign`], [`threads`] (from evidence to homes and bindings), [`plan`], [`tiers`] (DRAM and slower memory); [`oracle`] is brute
//! force for tests.
//!
//! ```
//! use homenode_base::{NodeId, VirtualTime};
//! use homenode_machine::{AccessClass, Location, models};
//! use homenode_placement::optimum::BestStatic;
//! use homenode_placement::{Access, AccessKind};
//!
//! let machine = models::find("butterfly").expect("in the registry");
//! let read = |node, t| Access {
//!     node: NodeId(node),
//!     kind: AccessKind::Read,
//!     class: AccessClass::Read,
//!     weight: 1,
//!     t: VirtualTime(t),
//! };
//! // Node 1 reads a block three times, node 0 once: its best home is node 1.
//! let solver = BestStatic::new(&machine);
//! let mut block = solver.begin();
//! [read(0, 0), read(1, 1), read(1, 2), read(1, 3)].iter().for_each(|a| solver.push(&mut block, a));
//! assert_eq!(solver.finish(&block).0, Location::Node(NodeId(1)));
//! ```
#![forbid(unsafe_code)]

pub mod access;
pub mod affinity;
pub mod assign;
pub mod checker;
pub mod counts;
pub mod engine;
pub mod events;
pub mod live;
pub mod optimum;
pub mod oracle;
pub mod placement;
pub mod plan;
pub mod policies;
pub mod policy;
pub mod threads;
pub mod tiers;

pub use access::{Access, AccessKind};
pub use engine::{BlockEngine, Meter, Step};
pub use events::{EventCounts, Tally};
pub use optimum::{Bounded, Bounds, Solved, Start};
pub use placement::{LocationSet, Placement};
pub use policy::{BlockContext, Outcome, Policy, Sink};
