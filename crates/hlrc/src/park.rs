//! Threads that wait to be woken, for a condition or a flag: each sets its bit at the slot's manager, and who takes the bit away wakes the
//! thread. A thread that waits looks at a word of its own node, and at none of a peer's.
use crate::host::{Host, Wake};
use crate::memory::region;
use crate::rules::{Rule, holds};
use crate::vector::MAX_LIVE_NODES;
use crate::{team, wait};
use homenode_base::NodeId;
use smallvec::{SmallVec, smallvec};
use std::sync::atomic::Ordering;

/// Most threads of a node: bits of a word.
const THREADS: u32 = u64::BITS;

/// A thread that stands among those who wait.
pub(crate) struct Parked {
    /// Number of times that it was woken before.
    before: u64,
}

/// Sets the calling thread's bit; when this ends, whoever looks sees it.
pub(crate) async fn enter<H: Host>(host: &H, slot: u32) -> Parked {
    let before = region(host, host.layout().wakes(host.thread())).load(Ordering::Acquire);
    let cluster = host.cluster();
    let word = host.layout().waiting(slot) + cluster.me.index();
    host.fetch_add(cluster.manager(slot), word, 1 << host.thread(), Wake::Nobody).await;
    Parked { before }
}

impl Parked {
    /// Waits until somebody takes the bit away; then the thread sees what that one saw.
    pub(crate) async fn until_woken<H: Host>(self, host: &H) {
        let wakes = region(host, host.layout().wakes(host.thread()));
        wait::until(host, || wakes.load(Ordering::Acquire) != self.before).await;
        team::take(host).await;
    }
}

/// Wakes one thread, if one waits: threads have their turns one after the other.
pub(crate) async fn wake_one<H: Host>(host: &H, slot: u32) {
    let (cluster, layout) = (host.cluster(), host.layout());
    let (manager, nodes) = (cluster.manager(slot), usize::from(cluster.nodes));
    let mut words: SmallVec<[u64; 1 + MAX_LIVE_NODES]> = smallvec![0; 1 + nodes];
    loop {
        host.get(manager, layout.state(slot), &mut words).await;
        let Some((node, thread)) = next(&words[1..], cluster.threads, words[0]) else { return };
        let there = words[1 + node.index()];
        let word = layout.waiting(slot) + node.index();
        if host.compare_swap(manager, word, there, there & !(1 << thread)).await == there {
            let turn = u64::from(node.0) * u64::from(THREADS) + u64::from(thread) + 1;
            host.put(manager, layout.state(slot), &[turn], Wake::Nobody).await;
            tell(host, node).await;
            return wake(host, node, thread).await;
        }
    }
}

/// Wakes all threads that wait.
pub(crate) async fn wake_all<H: Host>(host: &H, slot: u32) {
    let (cluster, layout) = (host.cluster(), host.layout());
    let manager = cluster.manager(slot);
    for node in cluster.all() {
        let word = layout.waiting(slot) + node.index();
        let mut there = [0];
        host.get(manager, word, &mut there).await;
        let mut there = there[0];
        while there != 0 {
            match host.compare_swap(manager, word, there, 0).await {
                found if found == there => break,
                found => there = found,
            }
        }
        if there & mask(cluster.threads) != 0 {
            tell(host, node).await;
        }
        for thread in (0..cluster.threads).filter(|thread| there & 1 << thread != 0) {
            wake(host, node, thread).await;
        }
    }
}

/// Has what this thread has seen seen by who is woken at a node.
async fn tell<H: Host>(host: &H, node: NodeId) {
    if node != host.cluster().me && holds(Rule::PostBeforeWake) {
        team::post(host, node).await;
    }
}

async fn wake<H: Host>(host: &H, node: NodeId, thread: u16) {
    host.fetch_add(node, host.layout().wakes(thread), 1, Wake::All).await;
}

/// Bits of the threads that there are: what a peer says is checked.
fn mask(threads: u16) -> u64 {
    u64::MAX >> (THREADS - u32::from(threads).min(THREADS))
}

/// The first thread from `turn` on, and round again, whose bit is set.
fn next(waiting: &[u64], threads: u16, turn: u64) -> Option<(NodeId, u16)> {
    let first = (turn / u64::from(THREADS)) as usize % waiting.len();
    let below = (1 << (turn % u64::from(THREADS))) - 1;
    let found = |node: usize, of: u64| {
        let bits = waiting[node] & mask(threads) & of;
        (bits != 0).then(|| (NodeId(node as u16), bits.trailing_zeros() as u16))
    };
    let others = (1..waiting.len()).map(|k| ((first + k) % waiting.len(), u64::MAX));
    let mut all = [(first, !below)].into_iter().chain(others).chain([(first, below)]);
    all.find_map(|(node, of)| found(node, of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_woken_in_turns() {
        let waiting = [0b101, 0, 0b10 | 1 << 63];
        let found = |turn| next(&waiting, 3, turn).map(|(node, thread)| (node.0, thread));
        assert_eq!(found(0), Some((0, 0)));
        assert_eq!(found(1), Some((0, 2)));
        assert_eq!(found(3), Some((2, 1)), "and none that is not there");
        assert_eq!(found(2 * 64 + 2), Some((0, 0)));
        assert_eq!(found(u64::MAX), Some((2, 1)), "whatever the turn is");
        assert_eq!(next(&[0, 0], 64, 5), None);
        assert_eq!(next(&[1 << 63], 64, 64), Some((NodeId(0), 63)));
    }
}
