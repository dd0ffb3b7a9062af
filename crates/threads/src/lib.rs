//! # homenode-threads: who lives when, and who sits where
//!
//! What a recording says of its threads besides their references: which of them lived at the same time, on which processors they
//! were told to run, and, from both, where each sits on a machine.
//!
//! **Invariant:** where the program itself decided something, that counts, and not how its host happened to schedule it; the kernel's
//! stamps are asked only where nothing else says who came first.
//!
//! Reading order: `lives`, `affinity` (where threads were told to run), `binding`.
//!
//! ```
//! use homenode_machine::models;
//! use homenode_synthetic::Builder;
//! use homenode_threads::{bindings, thread_map};
//!
//! let mut program = Builder::new(2);
//! (0..2).for_each(|thread| _ = program.read(thread, 0x1000));
//! let dataset = program.open()?;
//! let machine = models::find("two-socket").expect("in the registry");
//! let bound = bindings(&thread_map(&dataset, &machine, None)?, |thread| dataset.address_space(thread));
//! assert_ne!(bound[0].node, bound[1].node, "threads are spread over nodes");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod affinity;
mod binding;
mod lives;

pub use affinity::pinned;
pub use binding::{ThreadBinding, bindings, thread_map, thread_table};
pub use lives::lives;
