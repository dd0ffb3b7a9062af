//! # homenode-hooks: the capture runtime that runs inside the recorded program
//!
//! Two halves. `c/` is the runtime: every `__tsan_*` entry point that gcc and clang insert when asked for
//! ThreadSanitizer, written anew to put references into the rings of `homenode_base::ring`, plus stand-ins for the
//! pthread, malloc, mmap, string and I/O functions. `src/` embeds that runtime as an archive and works out what
//! `homenode cc` and `homenode c++` have to execute.
//!
//! **Invariant:** the program computes what it would have computed without the hooks: the runtime never allocates from
//! the program's heap, never changes `errno`, never blocks on a recorder that is gone, and never takes a lock that a
//! signal handler or forked child of the program could need.
//!
//! Reading order: `c/runtime.h`, `c/entry.c` (fast path), `c/slow.c` (once per batch), `c/thread.c`, `c/event.c`,
//! `c/order.c`, `c/atomic.c`, `c/sync.c`, `c/signal.c`, `c/fork.c`; then [`toolchain`], [`compile`], [`install`].
//!
//! ## Why the runtime is C
//! Its entry points need the caller's return address, thread-local storage at a fixed offset (local-exec, so that the
//! fast path is a dozen instructions) and 16-byte atomics, and the archive must link into programs built by the user's
//! own gcc or clang without a Rust standard library and its allocator in the middle of theirs. All of that is plain C
//! and none of it stable Rust.
#![forbid(unsafe_code)]

pub mod compile;
mod flags;
pub mod install;
pub mod toolchain;

pub use compile::{CompileError, CompilePlan, Mode};

/// The runtime: an `ar` archive of position-independent objects for the machine that this crate was built for.
pub static ARCHIVE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libhomenode_hooks.a"));

/// The public header for programs that mark phases: `homenode.h`.
pub static HEADER: &str = include_str!("../../../include/homenode.h");
