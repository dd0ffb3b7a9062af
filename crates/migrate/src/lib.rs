//! # homenode-migrate: from decisions to system calls
//!
//! Moves pages of a running process in batches, reads back what became of each, and says where pages are.
//!
//! **Invariant:** what is reported as moved has been confirmed by the kernel page by page; a refused or half-done batch is
//! never counted as done.
//!
//! Reading order: [`move_status`] (what can become of a page), [`locate`] (where pages are), [`mover`], [`units`] (huge pages),
//! [`process`] (what `/proc` says of a process and of the kernel's own balancing).
//!
//! ```
//! use homenode_migrate::where_are;
//!
//! // A page of this process that was touched is on some node.
//! let touched = vec![1u8; 3 * 4096];
//! let page = (touched.as_ptr() as u64).next_multiple_of(4096);
//! match where_are(std::process::id(), &[page]) {
//!     Ok(places) => assert!(places[0].node().is_some()),
//!     // Kernels without NUMA, and sandboxes, do not tell.
//!     Err(why) => assert!(!why.to_string().is_empty()),
//! }
//! ```
#![forbid(unsafe_code)]

pub mod locate;
pub mod move_status;
pub mod mover;
pub mod process;
pub mod units;

pub use locate::{At, where_are};
pub use move_status::{MigrateError, MoveStatus, Refusal};
pub use mover::{Mover, Request, Spent};
pub use units::{HUGE_BYTES, PAGE_BYTES, Units};
