//! # homenode-trace: what happened
//!
//! The record, its frames, the dataset over an abstract store, the checker, and *the order*: the only place that decides
//! in which sequence references of different threads are replayed.
//!
//! **Invariant:** every byte that comes from outside is checked before it is believed; a reader returns
//! [`TraceError`] and never panics. No OS call: files are reached through [`store::Store`].
//!
//! Reading order: [`record`], [`sample`], [`columns`], [`event`], [`manifest`], [`store`], [`framing`], [`frame`], [`events`], [`symbols`],
//! [`dataset`], `packed` (events in memory), `shared` (memory of several processes), `polls` and `waits` (busy waiting), [`order`], [`check`], [`writer`]. The bytes are in `docs/format.md`.
//!
//! ```
//! use homenode_trace::order::{Order, OrderKind, Stream};
//! use homenode_synthetic::Builder;
//!
//! let mut program = Builder::new(2);
//! program.write(0, 0x1000).barrier(0x9000, 0..2).read(1, 0x1000);
//! let dataset = program.open()?;
//! let mut order = Order::new(&dataset, OrderKind::Model)?;
//! let mut threads = Vec::new();
//! while let Some(piece) = order.pull()? {
//!     threads.extend(piece.refs.iter().map(|r| r.thread));
//! }
//! assert_eq!(threads, [0, 1], "the barrier lies between them");
//! # Ok::<(), homenode_trace::TraceError>(())
//! ```
#![forbid(unsafe_code)]

mod bytes;
pub mod check;
pub mod columns;
pub mod dataset;
mod error;
pub mod event;
pub mod events;
pub mod frame;
pub mod framing;
pub mod manifest;
pub mod order;
mod packed;
mod polls;
pub mod record;
pub mod sample;
mod shared;
pub mod store;
pub mod symbols;
pub mod types;
mod waits;
pub mod writer;

pub use bytes::Fault;
pub use dataset::DatasetReader;
pub use error::TraceError;
pub use event::{Event, EventKind};
pub use manifest::Manifest;
pub use packed::{Events, FileEvents, ThreadEvents};
pub use record::{Columns, Merged, Op, Ref};
pub use sample::{Counting, DataSource, Sample, SampleUnit, Sampling};
