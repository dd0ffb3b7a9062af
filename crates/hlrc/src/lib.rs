//! # homenode-hlrc: home-based lazy release consistency, from Base to GeNIMA
//!
//! The protocol of a shared virtual memory on nodes that share none: each page has a home, whose copy the changes of all writers come
//! to; whoever acquires a lock or leaves a barrier learns which pages others wrote (*write notices*) and gives its copies of them up.
//! [`steps`] is the ladder of Bilas and Singh.
//!
//! **Invariant:** pure: no operating system, no clock; all that an operation does goes through [`Host`](host::Host), and nothing but the
//! words of its region, its pages and its own [`state`] decides what that is. Programs without data races see what sequential consistency
//! would show them.
//!
//! Operations are `async` functions: where they wait for a peer is an `await`. On a real cluster the thread that faulted polls them;
//! simulations hold many of them at a time.
//!
//! Reading order: [`steps`], [`cluster`], [`host`], [`access`], `memory`, [`state`], `stamps`, [`page`], `interval`, `notices`, `exclusive`, `prefetch`, `migrate`, `local`, [`lock`], [`barrier`], [`team`], `park`, [`condition`], [`flag`], [`word`], [`reduce`], [`serve`], `inbox`, [`diff`]; [`operation`], [`journal`].
//!
//! ```
//! use homenode_hlrc::steps::{self, Locks, Pages};
//!
//! let ladder: Vec<&str> = steps::ALL.iter().map(|s| s.name).collect();
//! assert_eq!(ladder, ["base", "dw", "rf", "dd", "nil"]);
//! let genima = steps::find("genima").expect("the top of the ladder");
//! assert_eq!((genima.name, genima.pages, genima.locks), ("nil", Pages::Fetched, Locks::Queued));
//! ```
#![forbid(unsafe_code)]

pub mod access;
pub mod barrier;
pub mod cluster;
pub mod condition;
pub mod diff;
mod exclusive;
pub mod flag;
pub mod host;
mod inbox;
mod interval;
pub mod journal;
mod local;
pub mod lock;
mod memory;
mod migrate;
mod notices;
pub mod operation;
pub mod page;
mod park;
mod prefetch;
pub mod reduce;
mod rules;
pub mod serve;
pub mod slots;
mod stamps;
pub mod state;
pub mod steps;
pub mod team;
#[cfg(test)]
mod tests;
mod vector;
mod wait;
pub mod word;

pub use prefetch::MOST as PREFETCH_MOST;
pub use vector::{MAX_LIVE_NODES, MAX_NODES};
