//! # homenode-thin: what a sampler would have seen
//!
//! A seeded, pure transform of exact recordings, for experiments whose truth is known.
//!
//! [`Sampler`] draws samples, [`Thinner`] from any [`Stream`](homenode_trace::order::Stream); [`thin_dataset`] writes a sampled dataset. Both draw the same
//! samples from the same seed. In every method but [`Method::FirstTouchers`] each reference is kept with the same
//! probability, 1 / period, and then weighs a period, so that the sum of weights over any set of references is an
//! unbiased estimate of their number. Spins are never kept: their count is the host's.
//!
//! **Invariant:** equal seeds draw equal samples, whether from a stream or into a dataset, and weights are unbiased.
//!
//! Reading order: [`method`], `draw`, [`stream`], `write`.
//!
//! ```
//! use homenode_thin::{Method, Thin, Thinner};
//! use homenode_trace::order::{Order, OrderKind, rest};
//! use homenode_synthetic::Builder;
//!
//! let mut program = Builder::new(1);
//! (0..1_000).for_each(|i| _ = program.read(0, 8 * i));
//! let dataset = program.open()?;
//! let order = Order::new(&dataset, OrderKind::Model)?;
//! let kept = rest(&mut Thinner::new(Thin::new(Method::Fixed { period: 10 }, 1), dataset.manifest(), order))?;
//! assert!(kept.len() == 100 && kept.iter().all(|r| r.weight == 10));
//! # Ok::<(), homenode_trace::TraceError>(())
//! ```
#![forbid(unsafe_code)]

mod draw;
pub mod method;
pub mod stream;
mod write;

pub use method::{Method, Thin};
pub use stream::{Sampler, Thinner};
pub use write::thin_dataset;
