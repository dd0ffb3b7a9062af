//! # homenode-sim: what it would have cost
//!
//! Cache filter, plain engine and what-if transforms over the merged trace.
//!
//! **Invariant:** pure; the same trace, machine and options give the same [`Evaluation`] everywhere, and the parts of
//! every result add up to its total exactly.
//!
//! Reading order: [`evaluation`].
#![forbid(unsafe_code)]

pub mod evaluation;

pub use evaluation::Evaluation;
