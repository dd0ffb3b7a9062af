//! # homenode-parallel: programs that run with threads, and on nodes that share no memory
//!
//! A program written once runs by itself, with threads, and, the same file, under `homenode svm run -n 4 -- ./program`, on nodes
//! that share its memory by a protocol. It links against nothing: the functions of `include/homenode.h` are looked up when it runs.
//!
//! ```
//! use homenode_parallel::{Lock, SharedSlice, run, shared};
//!
//! shared! {
//!     struct Job { data: SharedSlice<f64>, largest: Lock<f64> }
//! }
//!
//! fn work(worker: &homenode_parallel::Worker, job: &Job) {
//!     let mut largest = 0.0_f64;
//!     for i in worker.part(job.data.len()) {
//!         job.data.set(i, (i as f64).sin());
//!         largest = largest.max(job.data.get(i));
//!     }
//!     let mut all = job.largest.lock();
//!     *all = all.max(largest);
//! }
//!
//! let job = Job { data: SharedSlice::zeroed(10_000)?, largest: Lock::new(0.0)? };
//! run(4, job, work)?;
//! assert!(*job.largest.lock() > 0.999);
//! # Ok::<(), homenode_parallel::Error>(())
//! ```
//!
//! **Invariant:** what lies in shared memory refers to nothing private, and safe code has no data races. Threads see what others wrote
//! when they synchronise by what is here, and not by atomics, channels or mutexes of std, which are private to a process.
//!
//! Reading order: [`Shared`], [`SharedSlice`], [`run`], [`Worker`], [`Lock`], [`Condition`], [`Flag`], [`AtomicWord`]; inside `library`, `memory`, `team`.

mod error;
mod library;
mod lock;
mod memory;
mod run;
mod shared;
mod slice;
mod team;
mod word;

pub use error::Error;
pub use lock::{Condition, Flag, Guard, Lock};
pub use run::{Number, THREADS_ENV, Worker, run};
pub use shared::{Plain, Shared};
pub use slice::{SharedSlice, Table};
pub use word::{AtomicWord, Word};
