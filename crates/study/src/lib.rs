//! # homenode-study: many machines, every policy, every block size
//!
//! One pass over a trace cuts it into regions of memory; each region is folded, block size by block size, into runs of
//! equal accesses, and the runs answer a [`Question`]: what every policy and the optimum cost on many machines.
//!
//! **Invariant:** pure; an [`Answer`] equals that of the plain engine bit for bit, whatever the region size, the memory
//! budget and the number of workers, and answers of parts of a trace add up to the answer of the whole.
//!
//! Reading order: [`question`], [`answer`], [`plain`] (slow and obvious).
#![forbid(unsafe_code)]

pub mod answer;
pub mod plain;
pub mod question;

pub use answer::{Answer, Row, What};
pub use question::{Question, Want};
