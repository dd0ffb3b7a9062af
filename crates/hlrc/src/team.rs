//! What one node wrote made known to another outside locks and barriers: threads that are created and joined, and logs that are full.
use crate::host::{Host, Interrupt};
use crate::vector::Vector;
use crate::{interval, wait};
use homenode_base::NodeId;
use std::sync::atomic::Ordering;

/// Makes what this node wrote and has applied known to `to`, when it does [`take`].
pub async fn post<H: Host>(host: &H, to: NodeId) {
    wait::lock(host).await;
    interval::end(host).await;
    deliver(host, to).await;
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

/// Under the node's lock: posts what has been applied so far.
async fn deliver<H: Host>(host: &H, to: NodeId) {
    if to == host.cluster().me || host.cluster().alone {
        return;
    }
    let vector = Vector::applied(host);
    if interval::is_lazy(host) {
        // Not from what all had applied at the last barrier: `to` may still be leaving that, with notices that it has not looked at.
        let mut has = Vector::zero(host.cluster().nodes);
        host.get(to, host.layout().applied(NodeId(0)), has.words_mut()).await;
        put_notices_between(host, to, &has, &vector).await;
    } else {
        interval::push(host).await;
    }
    host.put(to, host.layout().posted(host.cluster().me), vector.words()).await;
}

/// Writes all notices that this node has applied and `to` has not, into its logs.
pub(crate) async fn put_missing<H: Host>(host: &H, to: NodeId, has: &Vector) {
    put_notices_between(host, to, has, &Vector::applied(host)).await;
}

/// Writes notices of all writers but `to` into its logs.
pub(crate) async fn put_notices_between<H: Host>(host: &H, to: NodeId, from: &Vector, upto: &Vector) {
    for writer in host.cluster().all().filter(|w| *w != to) {
        interval::put_notices(host, to, writer, from.get(writer)..upto.get(writer)).await;
    }
}

/// Whether somebody's log is full, and this node has not applied what is in it.
pub(crate) fn is_called<H: Host>(host: &H) -> bool {
    host.region()[host.layout().called()].load(Ordering::SeqCst) != 0
}

/// Applies what was posted if somebody asked for it, unless a thread has the node's lock.
pub(crate) fn catch_up<H: Host>(host: &H) {
    if is_called(host) && host.tables().try_lock() {
        host.region()[host.layout().called()].store(0, Ordering::SeqCst);
        interval::apply_early(host);
        host.tables().unlock();
        host.ring();
    }
}

/// Waits until there is room for so many own notices in the logs of all nodes. Under the node's lock, and not while a page is being
/// flushed.
pub(crate) async fn make_room<H: Host>(host: &H, notices: u64) {
    let (cluster, room) = (host.cluster(), host.tables().room());
    if cluster.alone {
        return;
    }
    let end = Vector::applied(host).get(cluster.me) + notices;
    let log = u64::from(cluster.log);
    if end <= room.load(Ordering::Relaxed).max(log) {
        return;
    }
    let mut least = u64::MAX;
    for node in cluster.others() {
        let mut is_called = false;
        loop {
            let mut applied = [0];
            host.get(node, host.layout().applied(cluster.me), &mut applied).await;
            if end <= applied[0] + log {
                least = least.min(applied[0]);
                break;
            }
            if !is_called {
                deliver(host, node).await;
                host.put(node, host.layout().called(), &[1]).await;
                host.interrupt(node, Interrupt::Notices).await;
                is_called = true;
            }
            // The other one may wait for this one in the same way.
            interval::apply_early(host);
            wait::a_moment(host).await;
        }
    }
    room.store(least.saturating_add(log), Ordering::Relaxed);
}
