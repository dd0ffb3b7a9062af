//! Locks. A token for each goes from node to node and stays with its last holder, where taking the lock again is a few
//! instructions. With the token goes a vector: what whoever takes it must have applied.
use crate::host::{Count, Host, Interrupt, Wake};
use crate::inbox::{self, Kind};
use crate::memory::{Word, Words, region};
use crate::rules::{Rule, holds};
use crate::steps::Locks;
use crate::vector::{self, Vector};
use crate::{interval, local, notices, wait};
use homenode_base::NodeId;
use std::sync::atomic::Ordering;

/// The lock is not held by the thread that releases it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotHeld;

/// States of the token at a node; above them the node that comes next, + 1.
const ABSENT: u64 = 0;
const FREE: u64 = 1;
const HELD: u64 = 2;
const STATE: u64 = 3;
const NEXT_SHIFT: u32 = 8;

fn next_of(token: u64) -> Option<NodeId> {
    ((token >> NEXT_SHIFT) as u16).checked_sub(1).map(NodeId)
}
fn with_next(token: u64, next: NodeId) -> u64 {
    token & STATE | (u64::from(next.0) + 1) << NEXT_SHIFT
}

fn token<H: Host>(host: &H, slot: u32) -> Word<'_, H> {
    region(host, host.layout().token(slot))
}

/// Takes a lock, and applies the notices that go with it.
pub async fn acquire<H: Host>(host: &H, slot: u32) {
    local::take(host, slot).await;
    if token(host, slot).replace(FREE, HELD) || token(host, slot).load(Ordering::SeqCst) & STATE == HELD {
        host.count(Count::LockLocal, 1);
        return;
    }
    host.count(Count::LockRemote, 1);
    match host.cluster().step.locks {
        Locks::Queued => enqueue(host, slot).await,
        Locks::Managed => ask(host, slot).await,
    }
    wait::lock(host).await;
    interval::apply(host, &Vector::here(host, host.layout().came(slot))).await;
    wait::unlock(host).await;
}

/// Whether the calling thread has the lock.
pub fn is_held<H: Host>(host: &H, slot: u32) -> bool {
    local::is_held(host, slot)
}

/// Gives a lock up.
///
/// # Errors
/// [`NotHeld`] if this thread does not have it.
pub async fn release<H: Host>(host: &H, slot: u32) -> Result<(), NotHeld> {
    if !is_held(host, slot) {
        return Err(NotHeld);
    }
    give_back(host, slot).await;
    Ok(())
}

/// Gives a lock up that the calling thread has.
pub(crate) async fn give_back<H: Host>(host: &H, slot: u32) {
    let stays = local::is_wanted(host, slot) && next_of(token(host, slot).load(Ordering::SeqCst)).is_none();
    if !stays {
        let_go(host, slot).await;
    }
    local::give(host, slot);
}

/// Lets the token go: to who waits for it, or it stays here, free.
async fn let_go<H: Host>(host: &H, slot: u32) {
    if !notices::is_lazy(host) {
        wait::lock(host).await;
        if holds(Rule::IntervalBeforeLock) {
            interval::end(host).await;
        }
        if !notices::with_lock(host) {
            Vector::applied(host).store(leaving(host, slot));
        }
        wait::unlock(host).await;
    }
    if token(host, slot).replace(HELD, FREE) {
        return;
    }
    let next = next_of(token(host, slot).load(Ordering::SeqCst));
    let Some(next) = next else { return };
    if notices::with_lock(host) {
        wait::lock(host).await;
        hand_over(host, slot, next).await;
        wait::unlock(host).await;
    } else {
        hand_over(host, slot, next).await;
    }
}

/// What leaves with the token; where notices do, what the next node has applied already.
fn leaving<H: Host>(host: &H, slot: u32) -> Words<'_, H> {
    Words::region(host, host.layout().leaving(slot), host.cluster().nodes.into())
}

/// Sends the token, which is not free for anybody here, to another node, with all that the node must know. Where notices
/// go with it, under the node's lock.
async fn hand_over<H: Host>(host: &H, slot: u32, to: NodeId) {
    let vector = if notices::with_lock(host) {
        if notices::is_lazy(host) && holds(Rule::IntervalBeforeLock) {
            interval::end(host).await;
        }
        notices::put_missing(host, to, &Vector::of(leaving(host, slot))).await;
        Vector::applied(host)
    } else {
        Vector::of(leaving(host, slot))
    };
    token(host, slot).store(ABSENT, Ordering::SeqCst);
    grant(host, slot, to, &vector).await;
}

/// The token is at `to`.
async fn grant<H: Host>(host: &H, slot: u32, to: NodeId, vector: &Vector) {
    let layout = host.layout();
    vector.put(host, to, layout.came(slot)).await;
    host.fetch_add(to, layout.grant(slot), 1, Wake::All).await;
}

/// Marks that the token has come: who stands behind this node in the queue stays noted.
fn arrived<H: Host>(host: &H, slot: u32) {
    token(host, slot).fetch_or(HELD, Ordering::SeqCst);
}

/// Takes the token by the queue in memory: swaps itself in as the last one, then takes the token from the one before, or stands
/// behind it.
async fn enqueue<H: Host>(host: &H, slot: u32) {
    let (cluster, layout) = (host.cluster(), host.layout());
    let (manager, me) = (cluster.manager(slot), u64::from(cluster.me.0) + 1);
    let granted = region(host, layout.grant(slot));
    let before = granted.load(Ordering::Acquire);
    let mut last = 0;
    loop {
        let found = host.compare_swap(manager, layout.queue(slot), last, me).await;
        if found == last {
            break;
        }
        last = found;
    }
    let Some(previous) = (last as u16).checked_sub(1).map(|n| NodeId(n.min(cluster.nodes - 1))) else {
        Vector::zero(cluster.nodes).store(came(host, slot));
        return arrived(host, slot);
    };
    let mut seen = FREE;
    loop {
        let wanted = if seen & STATE == FREE { ABSENT } else { with_next(seen, cluster.me) };
        let found = host.compare_swap(previous, layout.token(slot), seen, wanted).await;
        if found == seen {
            break;
        }
        seen = found;
    }
    if seen & STATE == FREE {
        Vector::at(host, previous, layout.leaving(slot)).await.store(came(host, slot));
    } else {
        wait::until(host, || granted.load(Ordering::Acquire) != before).await;
    }
    arrived(host, slot);
}

/// What came with the token.
fn came<H: Host>(host: &H, slot: u32) -> Words<'_, H> {
    Words::region(host, host.layout().came(slot), host.cluster().nodes.into())
}

/// A request for a lock, at its manager or at who holds it.
pub(crate) struct Asked {
    pub(crate) slot: u32,
    pub(crate) node: NodeId,
    pub(crate) thread: u16,
    /// What the requester has applied.
    pub(crate) vector: Vector,
}

/// Takes the token by asking the manager.
async fn ask<H: Host>(host: &H, slot: u32) {
    let cluster = host.cluster();
    let granted = region(host, host.layout().grant(slot));
    let before = granted.load(Ordering::Acquire);
    let asked = Asked { slot, node: cluster.me, thread: host.thread(), vector: Vector::applied(host) };
    let manager = cluster.manager(slot);
    if manager == cluster.me {
        manage(host, &asked).await;
    } else {
        let fixed = [slot.into(), asked.thread.into()];
        vector::count(host, manager, 1);
        inbox::send(host, manager, Kind::Lock, fixed, asked.vector.words()).await;
        host.interrupt(manager, Interrupt::Lock).await;
    }
    wait::until(host, || granted.load(Ordering::Acquire) != before).await;
    arrived(host, slot);
}

/// What the manager does with a request: the last one who asked is to hand the token over.
pub(crate) async fn manage<H: Host>(host: &H, asked: &Asked) {
    let cluster = host.cluster();
    let queue = region(host, host.layout().queue(asked.slot));
    let last = queue.swap(u64::from(asked.node.0) + 1, Ordering::AcqRel);
    match (last as u16).checked_sub(1).map(|n| NodeId(n.min(cluster.nodes - 1))) {
        None => grant(host, asked.slot, asked.node, &Vector::zero(cluster.nodes)).await,
        Some(holder) if holder == cluster.me => hold_or_hand_over(host, asked).await,
        Some(holder) => {
            let who = u64::from(asked.node.0) << 32 | u64::from(asked.thread);
            vector::count(host, holder, 1);
            inbox::send(host, holder, Kind::Forward, [asked.slot.into(), who], asked.vector.words()).await;
            host.interrupt(holder, Interrupt::Lock).await;
        }
    }
}

/// What the last holder does with a request: hands the token over if it is free, else notes who comes next.
pub(crate) async fn hold_or_hand_over<H: Host>(host: &H, asked: &Asked) {
    if notices::with_lock(host) {
        asked.vector.store(leaving(host, asked.slot));
    }
    let token = token(host, asked.slot);
    loop {
        let seen = token.load(Ordering::SeqCst);
        if seen & STATE == FREE {
            if token.replace(seen, ABSENT) {
                return hand_over(host, asked.slot, asked.node).await;
            }
        } else if token.replace(seen, with_next(seen, asked.node)) {
            return;
        }
    }
}
