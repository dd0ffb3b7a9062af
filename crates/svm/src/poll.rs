//! Polling in place of interrupts: each node has a thread that looks for what others ask for, and none of the program's is stopped. Of the
//! first node it is one more; of the others their own first thread, which has nothing else to do.
use crate::bell;
use crate::node::Node;
use crate::shared::CALLS;
use crate::transports::Stopped;
use crate::trouble::Trouble;
use homenode_sys::signals;
use std::sync::atomic::Ordering;

/// Name of the first node's thread.
const NAME: &str = "homenode-poll";

/// Whether the nodes poll.
pub(crate) fn is_on(node: &Node) -> bool {
    node.job.stopped == Stopped::Nobody
}

/// Times that the node's thread looks before it sleeps, until it is called.
pub(crate) fn turns(node: &Node) -> u32 {
    if is_on(node) { node.turns } else { 0 }
}

/// Starts the first node's thread, which polls as long as the process lives.
pub(crate) fn begin(node: &'static Node) -> Result<(), Trouble> {
    let polls = move || loop {
        let calls = node.shared().word(CALLS).load(Ordering::SeqCst);
        if node.is_wanted() {
            node.serve_now();
        } else {
            bell::await_call(node.shared(), calls, turns(node));
        }
    };
    // Signals of the program are for its own threads.
    let spawned = signals::blocked(|| std::thread::Builder::new().name(NAME.to_owned()).spawn(polls));
    spawned.map(drop).map_err(|e| Trouble::new("cannot make the thread that polls", e))
}
