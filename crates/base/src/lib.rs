//! # homenode-base: the words every other crate speaks
//!
//! Identifiers, exact costs, virtual time, node sets, a seeded random generator, the registry macro and the layout of
//! the rings through which a recorded program talks to the recorder.
//!
//! **Invariant:** nothing here knows what a policy, a machine or a trace is, and no accounting uses floating point.
//!
//! Reading order: [`ids`], [`cost`], [`nodeset`], [`cpus`], [`rng`], [`lives`], [`registry`](crate::registry!), [`ring`],
//! [`stackhash`], [`agentplan`], [`agentresult`].
#![forbid(unsafe_code)]

pub mod agentplan;
pub mod agentresult;
pub mod cost;
pub mod cpus;
pub mod ids;
pub mod lives;
pub mod nodeset;
mod registry;
pub mod ring;
pub mod rng;
pub mod stackhash;

pub use cost::{Cost, TotalCost, VirtualTime};
pub use cpus::{CpuMask, Pinned};
pub use ids::{CpuId, NodeId, SiteId, ThreadId};
pub use lives::{Life, Ranks};
pub use nodeset::NodeSet;
pub use rng::Rng;
