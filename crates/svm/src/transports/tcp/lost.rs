//! What a node does that has lost another one. Whoever watches the run names the node that died, and ends the others; a line of each of
//! them before that would hide it. So it is silent for a while, and then ends the run itself.
use crate::border::die;
use homenode_base::NodeId;
use std::time::Duration;

/// How long whoever watches may take.
pub(super) const GRACE: Duration = Duration::from_secs(3);

/// Waits for the end, as the node cannot be reached any more.
pub(super) fn lost(node: NodeId) -> ! {
    std::thread::sleep(GRACE);
    end(node)
}

/// Ends this node.
pub(super) fn end(node: NodeId) -> ! {
    die(&format!("the connection to node {node} was lost"))
}
