//! # homenode-timed: how long it would have taken
//!
//! Recordings run again in virtual time, thread by thread under their own clocks, on memory systems whose parts take time
//! (`docs/design/virtual-time.md`).
//!
//! **Invariant:** pure; the same recording, machine and options give the same times everywhere, and time only goes forward.
//!
//! Reading order: [`engine`] (processors, servers, locks granted anew), [`memory`] (CC-NUMA, S-COMA and what lies between them), [`tiers`] (DRAM and slower
//! memory: decisions at ticks of accesses, without a clock).
#![forbid(unsafe_code)]

mod backoff;
pub mod engine;
pub mod memory;
pub mod tiers;
