//! # NUMA-hinting faults: what the machine needs for them, how often they come, and who moved pages meanwhile
//!
//! The kernel's automatic NUMA balancing takes pages away from a process one stretch after the other and looks who faults
//! first on each. Those faults are samples that cost nobody a performance counter. `docs/design/faults.md` has the facts
//! measured and the estimator.
//!
//! **Invariant:** whatever this module changes in the kernel's settings is written down before it is changed, and put back
//! at the end, or by the next start after a crash.
//!
//! Reading order: [`Status`], [`knobs`], [`moves`], `classify` (first touch or use), [`source`], `switch` (balancing on or off), [`estimate`], [`spacing`]
//! (what a window weighs).
pub(crate) mod classify;
pub mod estimate;
pub mod knobs;
pub mod moves;
pub mod source;
pub mod spacing;
mod status;
mod switch;

pub use knobs::{Beat, Extent, HeldKnobs, Knobs, restore_leftover};
pub use source::{FaultSource, Kernel, SWITCHED_OFF};
pub use status::Status;
pub use switch::{Switch, restore_switch, settings_in_words};
