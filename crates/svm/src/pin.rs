//! Threads bound to processors, and a node's memory near them (`--pin`; Bilas and Singh, section 1.5.1): the threads of the cluster take the processors
//! that the program may use in turn, and the pages of a node's heap that are not there yet lie with its first thread, whoever touches them first.
use crate::mapped::ADDRESS;
use crate::trouble::Trouble;
use homenode_sys::numa::{self, Mode};

/// No such system call.
const ENOSYS: i32 = 38;

/// The processors that the process could use when it began.
pub(crate) fn processors() -> Result<Vec<u32>, Trouble> {
    numa::affinity(0).map_err(|e| Trouble::new("cannot read which processors it may use", e))
}

/// Binds the calling thread, this one of the cluster, to one of the processors.
pub(crate) fn bind(processors: &[u32], thread: usize) -> Result<(), Trouble> {
    let Some(processor) = processors.get(thread % processors.len().max(1)) else { return Ok(()) };
    let failed = |e| Trouble::new(&format!("cannot bind a thread to processor {processor}"), e);
    numa::set_affinity(0, &[*processor]).map_err(failed)
}

/// Has the heap of so many bytes lie on the memory node of the processor where the calling thread is.
pub(crate) fn place(heap_bytes: u64) -> Result<(), Trouble> {
    let (_, near) = numa::here();
    match numa::mbind(ADDRESS, heap_bytes, Mode::Preferred as i32, &[near], 0) {
        // A kernel without memory nodes has one place for all.
        Err(e) if e.raw_os_error() != Some(ENOSYS) => {
            Err(Trouble::new(&format!("cannot place the heap on memory node {near}"), e))
        }
        _ => Ok(()),
    }
}
