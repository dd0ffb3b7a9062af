//! # homenode-base: the words every other crate speaks
//!
//! Identifiers, exact costs, virtual time, node sets, a seeded random generator, the registry macro and the layouts
//! of the rings through which a recorded program talks to the recorder and of the plans that the preloaded agent takes.
//!
//! **Invariant:** nothing here knows what a policy, a machine or a trace is, and no accounting uses floating point.
//!
//! Reading order: [`ids`], [`cost`], [`nodeset`], [`numbers`], [`cpus`], [`rng`], [`student`], [`lives`], [`named`], [`spaces`], [`pages`], [`registry`](crate::registry!), [`ring`],
//! [`stackhash`], [`agentplan`], [`agenttable`], [`agentresult`].
//!
//! ```
//! use homenode_base::{Cost, NodeId, NodeSet, Rng, TotalCost};
//!
//! // Costs are exact integers in a machine's unit; sums do not overflow.
//! assert_eq!(Cost(i64::MAX).times(2), TotalCost(2 * i128::from(i64::MAX)));
//! let copies: NodeSet = [0, 3].map(NodeId).into_iter().collect();
//! assert!(copies.contains(NodeId(3)) && copies.len() == 2);
//! // Whatever is random has a seed, and is the same everywhere.
//! assert_eq!(Rng::new(7).below(100), Rng::new(7).below(100));
//! ```
#![forbid(unsafe_code)]

pub mod agentplan;
pub mod agentresult;
pub mod agenttable;
pub mod cost;
pub mod cpus;
pub mod ids;
pub mod lives;
pub mod named;
pub mod nodeset;
pub mod numbers;
pub mod pages;
mod registry;
pub mod ring;
pub mod rng;
pub mod spaces;
pub mod stackhash;
pub mod student;

pub use cost::{Cost, TotalCost, VirtualTime};
pub use cpus::{CpuMask, Pinned};
pub use ids::{CpuId, NodeId, SiteId, ThreadId};
pub use lives::{Life, Ranks};
pub use nodeset::NodeSet;
pub use rng::Rng;
