//! # homenode-sys: every unsafe Linux call of the project, behind safe functions
//!
//! Shared file mappings, futexes, process handles, signals, disk space, the time-stamp counter and perf events. Nothing here
//! knows what a trace is; the ring protocol itself is spoken by `homenode-capture` in safe code on top of [`map::SharedMap`].
//!
//! **Invariant:** no safe function of this crate can cause undefined behaviour, whatever its arguments and whatever the
//! mapped files contain; each `unsafe` block says why.
//!
//! Reading order: [`map`] (typed views of mapped files), [`futex`], [`process`], [`held`], [`signals`], [`dir`] (folders
//! that others made), [`private`] (folders that nobody else can change), [`disk`], [`clock`], [`stdio`],
//! [`numa`] (pages and nodes), [`terminal`]. Then what a shared virtual memory stands on: [`words`] (memory that is atomics),
//! [`views`] (a heap whose accesses can be trapped page by page), [`trap`] (what handles them), [`interrupt`] (a thread of
//! another process made to serve), [`fork`], [`segments`] (global variables for a process of another host), [`sparse`], [`net`] (sockets that block
//! nobody), [`mpi`] (ranks that an mpirun started). `memmove` stands in for that of musl.
//!
//! ```
//! use homenode_sys::dir::Dir;
//!
//! // A folder is named once; what is done in it is done there, whoever renames what meanwhile.
//! let made = tempfile::tempdir()?;
//! let folder = Dir::open(made.path())?;
//! folder.replace("figures", b"42")?;
//! assert_eq!(folder.names()?, ["figures"]);
//! assert!(folder.sub("figures").is_err(), "not a folder");
//! # Ok::<(), std::io::Error>(())
//! ```

pub mod chase;
pub mod clock;
pub mod cpu;
pub mod dir;
pub mod disk;
pub mod fork;
pub mod futex;
pub mod held;
pub mod interrupt;
pub mod map;
#[cfg(all(target_arch = "x86_64", any(test, target_env = "musl")))]
mod memmove;
pub mod mpi;
pub mod net;
pub mod numa;
pub mod perf;
pub mod private;
pub mod probe;
pub mod process;
pub mod segments;
pub mod signals;
pub mod sparse;
pub mod stdio;
pub mod terminal;
pub mod trap;
mod userfault;
pub mod views;
pub mod words;

use std::io;

/// Turns the usual "-1 and errno" into a result.
pub(crate) fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
