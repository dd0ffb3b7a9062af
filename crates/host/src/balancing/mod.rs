//! # The kernel's automatic NUMA balancing: whether it is there, its settings, and what it moved
//!
//! **Invariant:** whatever this module changes in the kernel's settings is written down before it is changed, and put back
//! at the end, or by the next start after a crash.
//!
//! Reading order: [`Status`], [`knobs`], [`moves`], `switch` (balancing on or off).
pub mod knobs;
pub mod moves;
mod status;
mod switch;

pub use knobs::{Beat, Extent, HeldKnobs, Knobs, restore_leftover};
pub use moves::Moves;
pub use status::Status;
pub use switch::{Switch, restore_switch, settings_in_words};
