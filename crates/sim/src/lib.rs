//! # homenode-sim: what it would have cost
//!
//! Cache filter, plain engine and what-if transforms over the merged trace.
//!
//! **Invariant:** pure; the same trace, machine and options give the same [`Evaluation`] everywhere, and the parts of
//! every result add up to its total exactly.
//!
//! Reading order: [`evaluation`], [`cache`].
#![forbid(unsafe_code)]

pub mod cache;
mod error;
pub mod evaluation;

pub use error::SimError;
pub use evaluation::Evaluation;
