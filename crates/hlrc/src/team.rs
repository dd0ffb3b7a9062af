//! What one node wrote made known to another outside locks and barriers: threads that are created and joined, and logs that are full.
use crate::host::Host;
use crate::vector::Vector;
use crate::{interval, notices, wait};
use homenode_base::NodeId;

/// Makes what this node wrote and has applied known to `to`, when it does [`take`].
pub async fn post<H: Host>(host: &H, to: NodeId) {
    wait::lock(host).await;
    interval::end(host).await;
    notices::deliver(host, to).await;
    wait::unlock(host).await;
}

/// Applies all that was posted to this node.
pub async fn take<H: Host>(host: &H) {
    wait::lock(host).await;
    take_locked(host).await;
    wait::unlock(host).await;
}

async fn take_locked<H: Host>(host: &H) {
    let mut all = Vector::applied(host);
    for sender in host.cluster().others() {
        all.join(&Vector::here(host, host.layout().posted(sender)));
    }
    interval::apply(host, &all).await;
}
