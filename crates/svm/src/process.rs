//! How a process becomes a node, and what its handlers of signals do.
use crate::border::die;
use crate::current::{become_node, node};
use crate::mapped::ADDRESS;
use crate::me;
use crate::node::Node;
use crate::shared::Class;
use crate::trouble::Trouble;
use homenode_base::NodeId;
use homenode_hlrc::cluster::PageId;
use homenode_hlrc::operation::Operation;
use homenode_sys::{fork, interrupt, trap};
use std::sync::atomic::Ordering;

/// Installs the handlers of traps and interrupts.
pub(crate) fn handle_signals() -> Result<(), Trouble> {
    let failed = |e| Trouble::new("cannot handle signals", e);
    trap::on_trap(trapped, Some(interrupt::signal())).map_err(failed)?;
    interrupt::on_interrupt(interrupted).map_err(failed)
}

/// Makes a forked child this node. The handlers are there already.
pub(crate) fn become_forked(first: &Node, me: NodeId) -> Result<&'static Node, Trouble> {
    let failed = |e| Trouble::new("cannot make a node of a process", e);
    fork::die_with_parent().map_err(failed)?;
    me::leave();
    become_node(Node::forked(first, me)?, true)
}

/// A trapped access; false if it is none to the heap.
fn trapped(address: usize, write: bool) -> bool {
    let Some(node) = node() else { return false };
    let offset = (address as u64).checked_sub(ADDRESS).filter(|offset| *offset < node.job.heap_bytes);
    let Some(offset) = offset else { return false };
    if me::number().is_none() {
        die(&format!("a thread that homenode_create has not made touched shared memory at {address:#x}"));
    }
    let _inside = node.enter(Class::Data);
    node.thread_words().faults(write).fetch_add(1, Ordering::Relaxed);
    // A page number fits: the job was checked.
    node.does(Operation::Fault { page: PageId((offset / node.job.page_bytes) as u32), write });
    true
}

/// An interrupt: the thread serves, unless it is inside; then it does so before it leaves.
fn interrupted() {
    let Some(node) = node() else { return };
    if me::number().is_some() && !me::is_inside() {
        let _inside = node.enter(Class::Serving);
        node.serve_now();
    }
}
