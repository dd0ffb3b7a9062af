//! The node that this process is.
use crate::me;
use crate::node::Node;
use crate::shared::{PROCESS, READY};
use crate::trouble::Trouble;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

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

/// Makes this process a node: the program's own, or one that was forked. The others learn that it is ready.
pub(crate) fn become_node(made: Node, forked: bool) -> Result<&'static Node, Trouble> {
    let place = if forked { &FORKED } else { &FIRST };
    if place.set(made).is_err() {
        return Err(Trouble::of("a process cannot become a node twice"));
    }
    let node = place.get().ok_or_else(|| Trouble::of("there is no node"))?;
    node.shared().word(READY).store(1, Ordering::Release);
    Ok(node)
}

/// The node, if this process is the one that announced itself, and no child that the program forked.
pub(crate) fn announced() -> Option<&'static Node> {
    node().filter(|node| node.shared().word(PROCESS).load(Ordering::Acquire) == u64::from(std::process::id()))
}
