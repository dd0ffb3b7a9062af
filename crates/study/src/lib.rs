//! # homenode-study: many machines, every policy, every block size
//!
//! One pass over a trace cuts it into regions of memory; each region is folded, block size by block size, into runs of
//! equal accesses, and the runs answer a [`Question`]: what every policy and the optimum cost on many machines.
//!
//! **Invariant:** pure; an [`Answer`] equals that of the plain engine bit for bit, whatever the region size, the memory
//! budget and the number of workers, and answers of parts of a trace add up to the answer of the whole.
//!
//! Reading order: [`question`], [`what`], [`answer`](mod@answer), [`plain`] (slow and obvious), [`partition`], `fold`, `kernels`, `jobs`, `group`,
//! [`folded`], [`analyses`]. [`SharedRefs`] is what protocols of page coherence are asked about.
//!
//! ```
//! use homenode_base::NodeId;
//! use homenode_machine::models;
//! use homenode_placement::policies::Choice;
//! use homenode_sim::ThreadBinding;
//! use homenode_study::{Layout, Partitioner, Question, Want, answer, plain};
//! use homenode_trace::{Merged, Op};
//!
//! let word = |thread, addr, op| Merged { addr, size: 4, thread, op, weight: 1, ..Merged::default() };
//! let refs: Vec<Merged> = (0..64).map(|i| word(i % 2, 4 * u64::from(i % 24), if i % 3 == 0 { Op::Write } else { Op::Read })).collect();
//! // Two machines, two block sizes, a policy and the optimum: one cut of the trace answers all of it.
//! let machines = vec![models::find("butterfly").expect("in the registry"), models::find("cc").expect("in the registry")];
//! let bindings: Vec<ThreadBinding> = (0..2).map(|t| ThreadBinding { cpu: t, node: NodeId(t), space: 0 }).collect();
//! let mut question = Question::new(machines, vec![bindings; 2], vec![64, 4096]);
//! question.policies = vec![Choice::parse("first-touch")?];
//! question.with_replication = Want::Cost;
//! let mut partitioner = Partitioner::new(&question, Layout::default())?;
//! partitioner.refs(&refs)?;
//! let partition = partitioner.finish()?;
//! assert_eq!(answer(&question, &partition, 0..partition.regions())?, plain::answer(&question, &refs)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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
pub mod what;

pub use answer::{Answer, Charged, Done, Row};
pub use error::StudyError;
pub use folded::{answer, answer_these};
pub use homenode_sim::SharedRefs;
pub use kernels::Vectors;
pub use partition::{InMemory, Layout, Partition, Partitioner, Spill, Store};
pub use question::{Question, Want};
pub use what::What;
