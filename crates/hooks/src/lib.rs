//! # homenode-hooks: what runs inside the user's program
//!
//! `c/core/` is what two products have in common: threads, rings, events, modules, the ends of processes, forks; it knows
//! neither (`product.h` of each, and the `hnrt_at_*` functions that each defines). `c/tsan/` makes of it the runtime of
//! compiled programs: every `__tsan_*` entry point that gcc and clang insert when asked for
//! ThreadSanitizer, written anew to put references into the rings of `homenode_base::ring`, plus stand-ins for the
//! pthread, malloc, mmap, string and I/O functions. `src/` embeds that runtime as an archive and works out what
//! `homenode cc` and `homenode c++` have to execute. `c/agent/` makes of the core a
//! library to preload into programs that were compiled without us: it logs threads, modules, mappings and big allocations
//! with their call stacks, and places memory and threads as a plan says ([`agent`]).
//!
//! **Invariant:** the program computes what it would have computed without the hooks: the runtime never allocates from
//! the program's heap, never changes `errno`, never blocks on a recorder that is gone, and never takes a lock that a
//! signal handler or forked child of the program could need.
//!
//! Reading order: `c/core/runtime.h`, `c/tsan/entry.c` (fast path), `c/core/slow.c` and `c/core/repeat.c` (once per batch), `thread.c`, `event.c` and
//! `order.c` there, `c/tsan/atomic.c`, `spin.c`, `sync.c`, `wait.c`, `signal.c` and `svm.c` there; OpenMP: `c/tsan/omp.h` and the files
//! that it names, `c/core/pool.c`; `c/core/affinity.c`, `c/core/fork.c`; then [`toolchain`], [`compile`], [`plain`], [`install`].
//! The agent: `c/agent/agent.h`, `init.c`, `alloc.c`, `obtained.c`, `unwind.c`, `modules.c`; `table.c`,
//! `plan.c`, `place.c`, `result.c`; sampling by protection: `protect.h` and what it lists.
//!
//! ## Why the runtime is C
//! The runtime's entry points need the caller's return address, thread-local storage at a fixed offset (local-exec, so
//! that the fast path is a dozen instructions) and 16-byte atomics, and the archive must link into programs built by
//! the user's own gcc or clang without a Rust standard library and its allocator in the middle of theirs. All of that
//! is plain C and none of it stable Rust.
//!
//! ## What is measured
//! The fast path is twelve instructions; a call of it costs what a call of an empty function costs (1.1 against 1.0
//! ns). On a blocked LU of n = 512 (136 M references) counting takes 1.7 to 2.0 ns a reference and recording, with a
//! recorder that only empties the rings, 2.1 to 2.4 ns; empty entry points take 1.1 to 1.3 ns there, because every call
//! spills the caller's floating-point registers. Only inlining the entry points could remove that.
//!
//!
//! Under the agent a malloc and free of 64 bytes take 8.6 ns instead of 7.2 (of that 1.4 are the detour through two more
//! functions, with or without a plan); an allocation of 4096 bytes and more whose stack is hashed takes some 2 us. An
//! mbind that may move pages takes half a millisecond even where there are none, so pages are moved only where some
//! have been touched.
//!
//! ## What it cannot see
//! * Code that was not compiled with the hooks, except allocations and the functions that `c/tsan/memstr.c` and `c/tsan/io.c`
//!   stand for.
//! * Synchronisation that is neither pthread, C11, semaphore, OpenMP nor atomic: futexes, other runtimes.
//! * Of OpenMP `target`, `teams`, `cancel`, `doacross`, detached tasks, dependences on more than 12 objects, and what `flush`
//!   is meant to order; each is noted where it is met. Nested regions are ordered, but libgomp makes new threads for each.
//!   Threads made by clone(2) are met at their first reference, and their creator is not known.
//! * Threads that switch stacks (`swapcontext`) keep their references and lose their call stacks.
//! * A process made by clone(2) without `CLONE_VM` and without fork's handlers would share its parent's rings:
//!   unsupported.
//! * A wait by compare-and-swap compiled by gcc sets its expected value in memory before each try; the tries are marked
//!   as busy waiting, those stores to the stack are not.
//!
//! ```
//! use homenode_hooks::Mode;
//! use homenode_hooks::compile::plan_with;
//! use homenode_hooks::toolchain::Toolchain;
//! use std::ffi::OsString;
//! use std::path::Path;
//!
//! // What `homenode cc -c a.c` executes: the user's compiler with every reference instrumented.
//! let Ok(toolchain) = Toolchain::detect(Mode::Cc, None) else { panic!("gcc or clang builds this crate") };
//! let args = ["-c", "a.c"].map(OsString::from);
//! let plan = plan_with(&toolchain, &args, &args, Path::new("/tmp/libhomenode_hooks.a")).expect("nothing forbids it");
//! assert!(plan.args.iter().any(|a| a == "a.c") && plan.args.len() > args.len());
//! ```
#![forbid(unsafe_code)]

pub mod agent;
#[cfg(test)]
#[path = "../as/blocks.rs"]
mod blocks;
pub mod compile;
mod error;
mod flags;
pub mod install;
pub mod plain;
pub mod toolchain;

use std::sync::LazyLock;

pub use compile::CompilePlan;
pub use error::{CompileError, Mode};

/// The runtime: an `ar` archive of position-independent objects for the machine that this crate was built for.
pub static ARCHIVE: LazyLock<Vec<u8>> =
    LazyLock::new(|| install::embedded(include_bytes!(concat!(env!("OUT_DIR"), "/libhomenode_hooks.a.zst"))));

/// The public header for programs that mark phases: `homenode.h`.
pub static HEADER: &str = include_str!("../../../include/homenode.h");
