//! # homenode-machine: what things cost
//!
//! A [`Machine`] says how many nodes and processors there are, what a reference to memory on each node costs from each
//! node, what moving a block costs, and which caches stand before the memory.
//!
//! **Invariant:** a machine is data; every cost is an exact integer in the machine's unit, and a validated machine
//! satisfies every condition that the optimum's proofs need (or says which it does not).
//!
//! Reading order: [`model`].
#![forbid(unsafe_code)]

pub mod model;

pub use model::{AccessClass, Caches, CopyCost, GlobalMemory, Location, Machine, Matrix, SingleRemote, Unit};
