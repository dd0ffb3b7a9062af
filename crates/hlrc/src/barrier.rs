//! Barriers of all threads of the cluster. The last thread of each node to come is its leader: it tells the manager what the node wrote, and
//! applies what the others did.
use crate::cluster::Cluster;
use crate::host::{Host, Wake};
use crate::memory::region;
use crate::vector::Vector;
use crate::{interval, migrate, notices, state, wait};
use homenode_base::NodeId;
use std::sync::atomic::Ordering;

/// Waits until all threads of all nodes have come here; then all see what all wrote before.
pub async fn wait<H: Host>(host: &H, slot: u32) {
    let threads = u64::from(host.cluster().threads);
    let word = |at: usize| region(host, at);
    let (gathered, released) = (word(host.layout().gathered(slot)), word(host.layout().released(slot)));
    let before = gathered.fetch_add(1, Ordering::AcqRel);
    let round = before / threads + 1;
    if before % threads != threads - 1 {
        return wait::until(host, || released.load(Ordering::Acquire) >= round).await;
    }
    arrive(host, slot, round).await;
    let opened = word(host.layout().grant(slot));
    wait::until(host, || opened.load(Ordering::Acquire) >= round).await;
    let all = Vector::here(host, host.layout().came(slot));
    for node in behind(host.cluster(), slot) {
        tell(host, node, (slot, round), &all).await;
    }
    wait::lock(host).await;
    interval::apply(host, &all).await;
    migrate::follow(host).await;
    for writer in host.cluster().all() {
        state::of(host).floor(writer).store(all.get(writer), Ordering::Release);
    }
    wait::unlock(host).await;
    released.store(round, Ordering::Release);
    host.ring();
}

/// Tells the manager, and if this node is the one that must, opens the barrier when all have come.
async fn arrive<H: Host>(host: &H, slot: u32, round: u64) {
    let (cluster, layout) = (host.cluster(), host.layout());
    let (manager, me) = (cluster.manager(slot), cluster.me);
    wait::lock(host).await;
    interval::end_before_barrier(host).await;
    let made = Vector::applied(host).get(me);
    if notices::with_lock(host) && manager != me {
        // Not from what all had applied at the last barrier: the manager may still be leaving that, with notices that it has not looked at.
        let mut has = [0];
        host.get(manager, layout.applied(me), &mut has).await;
        notices::put_notices(host, manager, me, has[0]..made).await;
    }
    wait::unlock(host).await;
    host.put(manager, layout.leaving(slot) + me.index(), &[made], Wake::Nobody).await;
    // Where notices are everywhere, the last one to come opens; nobody waits for it to come.
    let wake = if notices::with_lock(host) { Wake::All } else { Wake::Nobody };
    let there = host.fetch_add(manager, layout.arrived(slot), 1, wake).await + 1;
    let all = u64::from(cluster.nodes) * round;
    if !notices::with_lock(host) {
        if there == all {
            open(host, (slot, round), &Vector::at(host, manager, layout.leaving(slot)).await).await;
        }
    } else if manager == me {
        // Notices of all nodes are here, so nobody else could hand them on.
        let arrived = region(host, layout.arrived(slot));
        wait::until(host, || arrived.load(Ordering::Acquire) >= all).await;
        let vector = Vector::here(host, layout.leaving(slot));
        let has_come = |w: NodeId| region(host, layout.tail(w)).load(Ordering::Acquire) >= vector.get(w);
        wait::until(host, || cluster.others().all(has_come)).await;
        for node in cluster.others() {
            let mut has = Vector::zero(cluster.nodes);
            cluster.all().for_each(|w| has.set(w, state::of(host).floor(w).load(Ordering::Acquire)));
            has.set(node, vector.get(node));
            notices::put_notices_between(host, node, &has, &vector).await;
        }
        open(host, (slot, round), &vector).await;
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

/// Opens the barrier for all nodes, or for the first of the tree.
async fn open<H: Host>(host: &H, (slot, round): (u32, u64), vector: &Vector) {
    let (cluster, layout) = (host.cluster(), host.layout());
    if cluster.tree {
        return tell(host, cluster.manager(slot), (slot, round), vector).await;
    }
    let open = |node: NodeId| async move {
        vector.put(host, node, layout.came(slot)).await;
        host.fetch_add(node, layout.grant(slot), 1, Wake::All).await;
    };
    for node in cluster.others() {
        open(node).await;
    }
    open(cluster.me).await;
}
