//! # homenode-reproducing: what a paper is, and the programs that it is repeated with
//!
//! Programs are built with the hooks and recorded now; recordings and results stay until a reproduction has come to its end.
//!
//! **Invariant:** what a run that was killed left behind is taken up only where it is whole, and of the same program.
//!
//! Reading order: [`paper`], [`programs`], [`kept`], [`elsewhere`] (runs that others do), [`stacked`] (pictures of execution times).
#![forbid(unsafe_code)]

pub mod elsewhere;
pub mod kept;
pub mod paper;
pub mod programs;
pub mod stacked;
