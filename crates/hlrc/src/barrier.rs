//! Barriers. The last thread of each node to come is its leader: it tells the manager what the node wrote, and applies what the others did.
//!
//! Where a host says so, not all threads of the cluster come ([`Parties`]), and nodes of which none does are told nothing. Where other threads
//! run meanwhile, a barrier is no point at which all nodes agree on anything, and whoever comes says beside what it wrote what it has seen of others.
use crate::cluster::Cluster;
use crate::host::{Host, Wake};
use crate::memory::region;
use crate::vector::Vector;
use crate::{interval, migrate, notices, state, wait};
use homenode_base::NodeId;
use std::sync::atomic::Ordering;

/// Who comes to a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parties {
    /// All threads of all nodes.
    All,
    /// The threads that the host says ([`Host::parties`]), and there are no others.
    Running,
    /// The threads that the host says; others run meanwhile.
    Some,
}

impl Parties {
    /// How many threads of a node come.
    fn of<H: Host>(self, host: &H, slot: u32, node: NodeId) -> u64 {
        match self {
            Parties::All => host.cluster().threads.into(),
            Parties::Running | Parties::Some => host.parties(slot, node),
        }
    }
    fn has<H: Host>(self, host: &H, slot: u32, node: NodeId) -> bool {
        self.of(host, slot, node) > 0
    }
    /// The node where those who come are counted; it is one of theirs.
    fn manager<H: Host>(self, host: &H, slot: u32) -> NodeId {
        let usual = host.cluster().manager(slot);
        match self {
            Parties::All => usual,
            _ => host.cluster().all().find(|node| self.has(host, slot, *node)).unwrap_or(usual),
        }
    }
    /// How many nodes come.
    fn nodes<H: Host>(self, host: &H, slot: u32) -> u64 {
        match self {
            Parties::All => host.cluster().nodes.into(),
            _ => host.cluster().all().filter(|node| self.has(host, slot, *node)).count() as u64,
        }
    }
}

/// Waits until all parties have come here; then all of them see what all wrote before.
pub async fn wait<H: Host>(host: &H, slot: u32, parties: Parties) {
    let threads = parties.of(host, slot, host.cluster().me).max(1);
    let word = |at: usize| region(host, at);
    let (gathered, released) = (word(host.layout().gathered(slot)), word(host.layout().released(slot)));
    let before = gathered.fetch_add(1, Ordering::AcqRel);
    let round = before / threads + 1;
    if before % threads != threads - 1 {
        return wait::until(host, || released.load(Ordering::Acquire) >= round).await;
    }
    arrive(host, (slot, parties), round).await;
    let opened = word(host.layout().grant(slot));
    wait::until(host, || opened.load(Ordering::Acquire) >= round).await;
    let all = Vector::here(host, host.layout().came(slot));
    for node in behind(host.cluster(), slot).filter(|_| parties == Parties::All) {
        tell(host, node, (slot, round), &all).await;
    }
    wait::lock(host).await;
    interval::apply(host, &all).await;
    if parties != Parties::Some {
        migrate::follow(host).await;
        for writer in host.cluster().all() {
            state::of(host).floor(writer).store(all.get(writer), Ordering::Release);
        }
    }
    wait::unlock(host).await;
    released.store(round, Ordering::Release);
    host.ring();
}

/// Tells the manager, and if this node is the one that must, opens the barrier when all have come.
async fn arrive<H: Host>(host: &H, (slot, parties): (u32, Parties), round: u64) {
    let (cluster, layout) = (host.cluster(), host.layout());
    let (manager, me) = (parties.manager(host, slot), cluster.me);
    wait::lock(host).await;
    match parties {
        Parties::All | Parties::Running => interval::end_before_barrier(host).await,
        Parties::Some => interval::end(host).await,
    }
    if parties == Parties::Some {
        tell_seen(host, (manager, slot)).await;
        wait::unlock(host).await;
    } else {
        let made = Vector::applied(host).get(me);
        if notices::with_lock(host) && manager != me {
            // Not from what all had applied at the last barrier: the manager may still be leaving that, with notices that it has not looked at.
            let mut has = [0];
            host.get(manager, layout.applied(me), &mut has).await;
            notices::put_notices(host, manager, me, has[0]..made).await;
        }
        wait::unlock(host).await;
        host.put(manager, layout.leaving(slot) + me.index(), &[made], Wake::Nobody).await;
    }
    // Where notices are everywhere, the last one to come opens; nobody waits for it to come.
    let wake = if notices::with_lock(host) { Wake::All } else { Wake::Nobody };
    let there = host.fetch_add(manager, layout.arrived(slot), 1, wake).await + 1;
    let all = parties.nodes(host, slot) * round;
    if !notices::with_lock(host) {
        if there == all {
            open(host, (slot, parties), round, &Vector::at(host, manager, layout.leaving(slot)).await).await;
        }
    } else if manager == me {
        // Notices of all nodes are here, so nobody else could hand them on.
        let arrived = region(host, layout.arrived(slot));
        wait::until(host, || arrived.load(Ordering::Acquire) >= all).await;
        let vector = Vector::here(host, layout.leaving(slot));
        let has_come = |w: NodeId| region(host, layout.tail(w)).load(Ordering::Acquire) >= vector.get(w);
        wait::until(host, || cluster.others().all(has_come)).await;
        for node in cluster.others().filter(|node| parties.has(host, slot, *node)) {
            let mut has = Vector::zero(cluster.nodes);
            match parties {
                Parties::Some => has = Vector::at(host, node, layout.applied(NodeId(0))).await,
                _ => cluster.all().for_each(|w| has.set(w, state::of(host).floor(w).load(Ordering::Acquire))),
            }
            has.set(node, vector.get(node));
            notices::put_notices_between(host, node, &has, &vector).await;
        }
        open(host, (slot, parties), round, &vector).await;
    }
}

/// Nodes that one of a tree tells.
const BRANCHES: usize = 4;

/// Nodes that this one tells that the barrier is open, where that goes by a tree, of which the manager is the root.
fn behind(cluster: &Cluster, slot: u32) -> impl Iterator<Item = NodeId> + use<> {
    let (nodes, root) = (usize::from(cluster.nodes), cluster.manager(slot).index());
    let first = BRANCHES * ((cluster.me.index() + nodes - root) % nodes) + 1;
    let places = if cluster.tree { first..nodes.min(first + BRANCHES) } else { 0..0 };
    places.map(move |place| NodeId(((root + place) % nodes) as u16))
}

/// Tells a node that the barrier is open, and does not wait until it knows.
async fn tell<H: Host>(host: &H, node: NodeId, (slot, round): (u32, u64), vector: &Vector) {
    vector.put(host, node, host.layout().came(slot)).await;
    host.put(node, host.layout().grant(slot), &[round], Wake::All).await;
}

/// Tells the manager all that this node has seen, of whichever writer: threads that do not come may have brought it here since that one came, or it
/// does not come. Under the node's lock.
async fn tell_seen<H: Host>(host: &H, (manager, slot): (NodeId, u32)) {
    let (cluster, layout, seen) = (host.cluster(), host.layout(), Vector::applied(host));
    if notices::with_lock(host) && manager != cluster.me {
        let has = Vector::at(host, manager, layout.applied(NodeId(0))).await;
        notices::put_notices_between(host, manager, &has, &seen).await;
    }
    let has = Vector::at(host, manager, layout.leaving(slot)).await;
    for writer in cluster.all() {
        let mut there = has.get(writer);
        while there < seen.get(writer) {
            let word = layout.leaving(slot) + writer.index();
            match host.compare_swap(manager, word, there, seen.get(writer)).await {
                before if before == there => break,
                before => there = before,
            }
        }
    }
}

/// Opens the barrier for all nodes that come to it, or for the first of the tree.
async fn open<H: Host>(host: &H, (slot, parties): (u32, Parties), round: u64, vector: &Vector) {
    let (cluster, layout) = (host.cluster(), host.layout());
    if cluster.tree && parties == Parties::All {
        return tell(host, cluster.manager(slot), (slot, round), vector).await;
    }
    let open = |node: NodeId| async move {
        vector.put(host, node, layout.came(slot)).await;
        host.fetch_add(node, layout.grant(slot), 1, Wake::All).await;
    };
    for node in cluster.others().filter(|node| parties.has(host, slot, *node)) {
        open(node).await;
    }
    // Whoever opens has come.
    open(cluster.me).await;
}
