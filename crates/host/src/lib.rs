//! # homenode-host: what this machine is, what it lets us do, and running a program on it
//!
//! Processors, memory nodes, caches and what access to them costs; what the kernel permits here and how to have more of it, and
//! how it places memory by itself; a program started, watched to the end of everything that it started, and told to stop.
//!
//! **Invariant:** whatever the kernel's files say, damaged and missing ones included, is read into a description of the
//! machine or refused in one sentence; and a setting that is changed is written down first, and put back.
//!
//! What is this machine, and what can be done on it?
//! ```
//! use homenode_host::probe::{State, ThisHost, checks};
//! use homenode_host::topology::read;
//! use std::path::Path;
//!
//! let machine = read(Path::new("/")).expect("the machine describes its processors");
//! assert!(machine.nodes.iter().any(|node| !node.cpus.is_empty()));
//! for check in checks(&ThisHost::default(), &machine) {
//!     println!("{}: {} ({})", check.what, check.state.name(), check.why);
//!     assert!(check.state == State::Yes || !check.why.is_empty());
//! }
//! ```
//!
//! Reading order: [`topology`] (what the machine is) with `topology::measure` (what its memory costs), [`probe`] (what it
//! permits), [`balancing`] (the kernel's own placing, its settings held and put back), [`launch`] (finding and starting a program), [`supervise`] (its life), [`clock`] (the time that all this takes, real or simulated), [`date`].
#![forbid(unsafe_code)]

pub mod balancing;
pub mod clock;
pub mod date;
pub mod launch;
pub mod probe;
pub mod supervise;
pub mod topology;
