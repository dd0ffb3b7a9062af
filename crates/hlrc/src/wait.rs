//! Waiting: whoever waits serves what other nodes ask for, or two nodes would wait for each other.
use crate::host::Host;
use crate::memory::region;
use crate::state;
use std::sync::atomic::Ordering;

/// Waits for something that a peer or another thread of this node brings about. Not under the node's lock.
pub(crate) async fn until<H: Host>(host: &H, ready: impl Fn() -> bool) {
    loop {
        let seen = host.bell();
        if ready() {
            return;
        }
        host.serve().await;
        if ready() {
            return;
        }
        host.until_rung(seen).await;
    }
}

/// As [`until`], under the node's lock: what needs that lock is put aside.
pub(crate) async fn until_locked<H: Host>(host: &H, ready: impl Fn() -> bool) {
    loop {
        let seen = host.bell();
        if ready() {
            return;
        }
        host.scan().await;
        if ready() {
            return;
        }
        host.until_rung(seen).await;
    }
}

/// Waits in a way for what other nodes deposit: stamps or notices. Who deposits wakes nobody else.
pub(crate) async fn expecting<H: Host>(host: &H, wait: impl Future<Output = ()>) {
    host.expects(true);
    wait.await;
    host.expects(false);
}

/// Some time, in which others may do something: before a word of a peer is looked at again.
pub(crate) async fn a_moment<H: Host>(host: &H) {
    let seen = host.bell();
    host.scan().await;
    host.a_moment(seen).await;
}

/// Takes the lock of the node. [`unlock`] gives it back.
pub(crate) async fn lock<H: Host>(host: &H) {
    while !state::of(host).try_lock() {
        until(host, || state::of(host).is_free()).await;
    }
}

/// Gives the lock of the node back, and serves what waited for it.
pub(crate) async fn unlock<H: Host>(host: &H) {
    state::of(host).unlock();
    host.ring();
    if is_pending(host) {
        host.serve().await;
    }
}

/// Whether requests wait for somebody to look after them.
pub(crate) fn is_pending<H: Host>(host: &H) -> bool {
    state::of(host).deferred().load(Ordering::SeqCst) != 0 || is_called(host)
}

/// Whether somebody's log is full, and this node has not applied what is in it.
pub(crate) fn is_called<H: Host>(host: &H) -> bool {
    region(host, host.layout().called()).load(Ordering::SeqCst) != 0
}
