//! Threads bound to processors, and a node's memory near them (`--pin`; Bilas and Singh, section 1.5.1): the threads of the cluster take the processors
//! that the program may use in turn, and the pages of a node's heap that are not there yet lie with its first thread, whoever touches them first.
use crate::mapped::ADDRESS;
use crate::node::Node;
use crate::trouble::Trouble;
use homenode_sys::numa::{self, Mode};
use std::io;

/// The processors that the process could use when it began.
pub(crate) fn processors() -> Result<Vec<u32>, Trouble> {
    numa::affinity(0).map_err(|e| Trouble::new("cannot read which processors it may use", e))
}

/// Binds the calling thread, this one of the node's, if that is asked for.
pub(crate) fn bind(node: &Node, thread: u16) -> Result<(), Trouble> {
    if !node.job.pin || node.processors.is_empty() {
        return Ok(());
    }
    let number = usize::from(node.me().0) * usize::from(node.job.threads) + usize::from(thread);
    let processor = node.processors[number % node.processors.len()];
    numa::set_affinity(0, &[processor])
        .map_err(|e| Trouble::new(&format!("cannot bind a thread to processor {processor}"), e))?;
    if thread > 0 {
        return Ok(());
    }
    let (_, near) = numa::here();
    match numa::mbind(ADDRESS, node.job.heap_bytes, Mode::Preferred as i32, &[near], 0) {
        // A kernel without memory nodes has one place for all.
        Err(e) if e.kind() != io::ErrorKind::Unsupported && e.raw_os_error() != Some(ENOSYS) => {
            Err(Trouble::new(&format!("cannot place the heap on memory node {near}"), e))
        }
        _ => Ok(()),
    }
}

/// No such system call.
const ENOSYS: i32 = 38;
