//! This process as a node: how it begins, what its handlers of signals do, how it ends.
use crate::block_on::block_on;
use crate::heap::ADDRESS;
use crate::job::Job;
use crate::me;
use crate::node::Node;
use crate::shared::{Class, EXITED, PROCESS, STATUS};
use crate::threads;
use crate::transports::Files;
use crate::trouble::Trouble;
use homenode_base::NodeId;
use homenode_hlrc::cluster::PageId;
use homenode_hlrc::page;
use homenode_sys::{fork, interrupt, trap};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

/// What only the program's side of the border can do.
#[derive(Clone, Copy, Debug)]
pub struct Border {
    /// Calls the function at an address with an argument.
    pub call: fn(u64, u64),
    /// Ends the process at once with status 1; also out of handlers of signals.
    pub end: fn() -> !,
}

static BORDER: OnceLock<Border> = OnceLock::new();
/// The node that the program was started as.
static FIRST: OnceLock<Node> = OnceLock::new();
/// The node that a child was forked to be; in the child alone.
static FORKED: OnceLock<Node> = OnceLock::new();

/// The node that this process is, if it is one.
pub(crate) fn node() -> Option<&'static Node> {
    FORKED.get().or_else(|| FIRST.get())
}

/// The node, for a thread that is one of the cluster's.
pub(crate) fn here() -> Result<&'static Node, Trouble> {
    let node = node().ok_or_else(|| Trouble::of("there is no shared virtual memory: `homenode svm run` starts it"))?;
    match me::number() {
        Some(_) => Ok(node),
        None => Err(Trouble::of("called by a thread that homenode_create has not made")),
    }
}

pub(crate) fn border() -> Option<&'static Border> {
    BORDER.get()
}

/// Makes the program, before it begins, the first node of the cluster.
///
/// # Errors
/// Something that it needs cannot be had.
pub fn start(job: Job, files: Files, border: Border) -> Result<(), Trouble> {
    let first = Node::new(job, files, NodeId(0), false)?;
    if BORDER.set(border).is_err() || FIRST.set(first).is_err() {
        return Err(Trouble::of("the library is loaded twice"));
    }
    let failed = |e| Trouble::new("cannot handle signals", e);
    trap::on_trap(trapped, Some(interrupt::signal())).map_err(failed)?;
    interrupt::on_interrupt(interrupted).map_err(failed)?;
    announce();
    me::become_thread(0, fork::thread_id());
    if let Some(node) = node() {
        drop(node.enter(Class::Other));
    }
    Ok(())
}

/// Makes a forked child this node.
pub(crate) fn become_node(first: &Node, me: NodeId) -> Result<&'static Node, Trouble> {
    let failed = |e| Trouble::new("cannot make a node of a process", e);
    fork::die_with_parent().map_err(failed)?;
    me::leave();
    let files = first.files.try_clone().map_err(failed)?;
    let made = Node::new(first.job.clone(), files, me, true)?;
    if FORKED.set(made).is_err() {
        return Err(Trouble::of("a node cannot be made a node again"));
    }
    announce();
    node().ok_or_else(|| Trouble::of("there is no node"))
}

/// Lets the others, and the launcher, know which process is this node.
fn announce() {
    if let Some(node) = node() {
        node.shared().word(PROCESS).store(std::process::id().into(), Ordering::Release);
    }
}

/// Whether the process that announced itself is this one, and no child of it.
fn is_announced(node: &Node) -> bool {
    node.shared().word(PROCESS).load(Ordering::Acquire) == u64::from(std::process::id())
}

/// Ends the process with a line on stderr. For what leaves nothing to go on with, wherever it happens.
pub fn die(what: &str) -> ! {
    eprintln!("homenode: shared memory: {what}");
    if let Some(node) = node().filter(|n| is_announced(n)) {
        node.shared().word(STATUS).store(EXITED | 1, Ordering::Release);
    }
    match border() {
        Some(border) => (border.end)(),
        None => std::process::abort(),
    }
}

/// Is told that the program ends with this status; ends the other nodes.
pub fn exited(status: i32) {
    let Some(node) = node().filter(|n| is_announced(n)) else { return };
    if me::number().is_some() {
        threads::count_life(node);
    }
    node.shared().word(STATUS).store(EXITED | u64::from(status as u8), Ordering::Release);
    if node.me() == NodeId(0) && node.has_begun() {
        threads::end_others(node);
    }
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
    block_on(page::fault(node, PageId((offset / node.job.page_bytes) as u32), write));
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
