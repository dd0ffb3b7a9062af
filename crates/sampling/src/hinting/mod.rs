//! # NUMA-hinting faults: how often they come, and what they say about who uses memory
//!
//! The kernel's automatic NUMA balancing takes pages away from a process one stretch after the other and looks who faults
//! first on each. Those faults are samples that cost nobody a performance counter. `docs/design/faults.md` has the facts
//! measured and the estimator.
//!
//! **Invariant:** the scan rate is bounded by what faults may cost, and the kernel's settings are changed only where that was
//! asked for, by `homenode_host::balancing`, which puts them back.
//!
//! Reading order: `classify` (first touch or use), [`source`], [`estimate`].
pub(crate) mod classify;
pub mod estimate;
pub mod source;

pub use source::{FaultSource, Kernel, SWITCHED_OFF};
