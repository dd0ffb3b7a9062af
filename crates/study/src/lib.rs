//! # homenode-study: many machines, every policy, every block size
//!
//! One pass over a trace cuts it into regions of memory; each region is folded, block size by block size, into runs of
//! equal accesses, and the runs answer a [`Question`]: what every policy and the optimum cost on many machines.
//!
//! **Invariant:** pure; an [`Answer`] equals that of the plain engine bit for bit, whatever the region size, the memory
//! budget and the number of workers, and answers of parts of a trace add up to the answer of the whole.
//!
//! Reading order: [`question`], [`answer`](mod@answer), [`plain`] (slow and obvious), [`partition`], `fold`, `kernels`, `jobs`, `group`,
//! [`folded`], [`analyses`].
#![forbid(unsafe_code)]

pub mod analyses;
pub mod answer;
mod error;
mod fold;
pub mod folded;
mod group;
mod jobs;
mod kernels;
pub mod partition;
pub mod plain;
pub mod question;
pub mod spec;

pub use answer::{Answer, Charged, Row, What};
pub use error::StudyError;
pub use folded::{answer, answer_these};
pub use kernels::Vectors;
pub use partition::{InMemory, Layout, Partition, Partitioner, Spill, Store};
pub use question::{Question, Want};
pub use spec::Study;
