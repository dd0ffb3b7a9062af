//! # homenode-svm: shared virtual memory in a program
//!
//! The driver of the protocol in `homenode-hlrc` on real nodes, which are processes: traps become faults, interrupts of hosts become
//! signals, and operations on the memory of peers are those of a [`transports`] member. The program is node 0 and runs alone until it
//! creates its first thread; then the other nodes are forked.
//!
//! **Invariant:** what runs in handlers of signals neither allocates nor takes a lock that the program may hold; a thread that is
//! inside is not interrupted, and serves what it was asked for meanwhile before it leaves.
//!
//! Reading order: [`job`] (what the launcher says), [`shared`] (what nodes tell each other), [`profile`] (what they count), [`transports`],
//! `node`, `host` (the protocol's ground), `entry` (who is inside), `border`, `process`, `start`, `end`, [`journal`], `hosts` (nodes elsewhere), [`image`], [`threads`], [`locks`], [`conditions`],
//! [`words`], [`reductions`], [`homes`], [`heap`], `phases`; [`trial`], `near` for transports alone.
//!
//! ```
//! use homenode_svm::{heap, job::Job, locks};
//!
//! // Without a launcher there is no shared virtual memory, and every call says so.
//! assert!(heap::range().is_empty());
//! assert!(locks::acquire(0x1000).unwrap_err().to_string().contains("homenode svm run"));
//! assert!(Job::parse("svm-1 nodes=2").unwrap_err().contains("no threads"));
//! ```
#![forbid(unsafe_code)]

mod bell;
mod block_on;
mod border;
pub mod conditions;
mod current;
mod end;
mod entry;
pub mod heap;
pub mod homes;
mod host;
mod hosts;
pub mod image;
pub mod job;
pub mod journal;
pub mod locks;
mod mapped;
mod me;
mod near;
mod node;
mod phases;
mod pin;
mod poll;
mod process;
pub mod profile;
pub mod reductions;
pub mod shared;
mod start;
pub mod threads;
pub mod transports;
pub mod trial;
mod trouble;
pub mod words;

pub use border::{Border, say};
pub use end::exited;
pub use phases::{begin_phase, end_phase};

pub use start::{Started, start};
pub use trouble::Trouble;

/// Place of the calling thread in the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Nodes of the cluster.
    pub nodes: u16,
    /// Threads of the cluster.
    pub threads: u32,
    /// This node.
    pub node: u16,
    /// Number of the calling thread in the cluster; 0 for one that is not of it.
    pub thread: u32,
}

/// Where the calling thread is; `None` without shared virtual memory.
pub fn place() -> Option<Place> {
    let node = current::node()?;
    let (me, each) = (node.me().0, u32::from(node.job.threads));
    let thread = me::number().map_or(0, |n| u32::from(me) * each + u32::from(n));
    Some(Place { nodes: node.job.nodes, threads: u32::from(node.job.nodes) * each, node: me, thread })
}
