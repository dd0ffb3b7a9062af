//! # homenode-cluster: shared virtual memory in virtual time
//!
//! Recordings run again on nodes that share no memory: the protocol is the one that `homenode svm run` executes ([`homenode_hlrc`]), and its
//! operations on other nodes are messages through buses, network interfaces and links that take time (Bilas and Singh, section 1.3).
//!
//! **Invariant:** pure; the protocol sees neither clock nor network, and the same recording, machine and options give the same times everywhere.
//!
//! Reading order: `shape` (how many nodes), `pages` (what nodes share), `slots` (who comes to which barrier), `fabric` (the way of a message), `caches` (inside a node), `words` (a node's memory), `contents` (to check by), `faults` (what goes wrong), `journal` (what tasks did), `world` (tasks), `interrupts`, `messages` (when they leave, and room for them),
//! `host` (what the protocol stands on), `system` (what the engine asks), [`Row`], `columns` (its numbers by name), `phases`, [`run`], `notes` (what a recording lacks), [`WhatIf`] (clusters of which one thing is another one), `sequential` (one processor).
#![forbid(unsafe_code)]

mod caches;
mod columns;
mod contents;
mod deadlock;
mod error;
mod fabric;
mod faults;
mod host;
mod interrupts;
mod journal;
mod messages;
mod notes;
mod pages;
mod phases;
mod row;
mod run;
mod sequential;
mod shape;
mod slots;
mod slowed;
mod system;
mod what_if;
mod words;
mod world;

pub use columns::{COUNTS, Number, TIMES, WORK};
pub use error::ClusterError;
pub use fabric::{fetch_cycles, message_cycles};
pub use faults::{Faults, Injected, KINDS as FAULTS, Kind as FaultKind};
pub use journal::{Journal, Noted};
pub use notes::notes;
pub use row::{AtNode, Counts, InPhase, Interrupts, PageWaits, Row, Server, SyncWaits, Work};
pub use run::{Bound, Question, run, run_noted};
pub use shape::{Shape, shape, shaped};
pub use what_if::{NAMED, Named, PARAMETERS, Parameter, Unit, WhatIf};
