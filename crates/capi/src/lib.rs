//! # homenode-capi: shared virtual memory for C programs
//!
//! The library that `homenode svm run` preloads into a program: the functions of `include/homenode.h` about shared memory, threads,
//! and all by which these wait for each other, and the C library's input and output for buffers in shared memory. Objects of pthreads
//! there are refused.
//!
//! **Invariant:** without the launcher's environment variable it does nothing at all, and what it stands in front of passes every call
//! on; programs that the program starts are not affected. A panic aborts, as it must not go through C.
//!
//! Reading order: `lookup`, `begin`, `functions`, `sync`, `recorded`, `site`, `calls`, `refused`.

mod begin;
mod calls;
mod functions;
mod lookup;
mod recorded;
mod refused;
mod site;
mod sync;

use homenode_svm::{Trouble, say};

/// Ends the program, status 1, with a line that says why.
pub(crate) fn give_up(why: &Trouble) -> ! {
    say(&why.to_string());
    std::process::exit(1)
}

/// As [`give_up`], with the name of the function that the program called.
pub(crate) fn give_up_in(called: &str, why: &str) -> ! {
    say(&format!("{called}: {why}"));
    std::process::exit(1)
}
