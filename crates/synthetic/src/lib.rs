//! # homenode-synthetic: programs made up
//!
//! Seeded synthetic programs as complete datasets in memory, written by the [`Writer`](homenode_trace::writer::Writer) of real recordings. For tests,
//! benches and fuzzing of every crate, and for the papers' synthetic programs.
//!
//! **Invariant:** what comes out is the recording of one execution that can really happen, the same for the same calls and seed.
//!
//! Reading order: `builder`, `programs`.
//!
//! [`Builder`] plays the part of program and recorder together: the order of the calls on it *is* one execution, so
//! sequence numbers and stamps are those of a run that really can happen. [`PROGRAMS`] lists ready-made programs.
#![forbid(unsafe_code)]

mod builder;
mod programs;

pub use builder::Builder;
pub use programs::{PROGRAMS, Program, Scale, random, t_f, t_gamma, t_s};
