//! # homenode-machine: what things cost
//!
//! A [`Machine`] says how many nodes and processors there are, what a reference to memory on each node costs from each
//! node, what moving a block costs, and which caches stand before the memory.
//!
//! **Invariant:** a machine is data; every cost is an exact integer in the machine's unit, and a validated machine
//! satisfies every condition that the optimum's proofs need (or says which it does not).
//!
//! Reading order: [`model`], [`costs`], [`sections`] (what a machine may have besides: caches, raw measurements),
//! [`models`], [`limits`], [`validate`], `thread_table` (threads and their lives), [`binding`], [`topology`], [`repair`], `this` (from a real
//! machine to a cost model); machine files are read in `file`.
//!
//! ```
//! use homenode_base::NodeId;
//! use homenode_machine::{AccessClass, Location, Machine, models};
//!
//! let machine = models::find("two-socket").expect("in the registry");
//! let read = |home| machine.access(AccessClass::Read, NodeId(0), Location::Node(NodeId(home)));
//! assert!(read(0) < read(1), "memory of the other socket is farther away");
//! // A machine is data: written, changed by hand, read again.
//! assert_eq!(Machine::from_toml(&machine.to_toml())?.validate(), Ok(()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod affinity;
mod binding;
pub mod costs;
mod file;
pub mod limits;
pub mod model;
pub mod models;
pub mod repair;
pub mod sections;
mod shape;
mod this;
mod thread_table;
pub mod topology;
pub mod validate;

pub use binding::{BindingSummary, CpuBinding, MapError, MapRule, Target, ThreadMap};
pub use costs::{CopyCost, Costs, Distances, GlobalMemory, LinearCost, Matrix};
pub use limits::MachineError;
pub use model::{AccessClass, Location, Machine, SingleRemote, Unit};
pub use sections::{
    Bandwidth, CacheGeometry, Caches, Coherence, Handlers, HitCosts, Hits, Hybrid, Measured, Misses, Network, Rates,
    ReadWrite, Reading, Sections, Table, Tiers,
};
pub use shape::Shape;
pub use this::ThisMachine;
pub use thread_table::ThreadTable;
pub use topology::Topology;
pub use validate::Unmet;
