//! What a host does for others: pages and diffs at once, locks when it can.
use crate::access::{Does, Place};
use crate::cluster::PageId;
use crate::host::{Count, Host, Wake};
use crate::inbox::{Kind, Message};
use crate::memory::{Word, region};
use crate::vector::Vector;
use crate::{diff, lock, notices, stamps, state, wait};
use homenode_base::NodeId;
use std::sync::atomic::Ordering;

/// Serves all that other nodes have asked for. Not under the node's lock.
pub async fn serve<H: Host>(host: &H) {
    loop {
        scan(host).await;
        if !wait::is_pending(host) || !state::of(host).try_granting() {
            return;
        }
        grant_all(host).await;
        notices::catch_up(host).await;
        state::of(host).granted();
        // Who left something to us meanwhile has seen that we were at it. What needs the node's lock is looked after by whoever has it.
        if !wait::is_pending(host) || !state::of(host).is_free() {
            return;
        }
    }
}

/// Takes all messages: answers what can be answered, puts the rest aside. Never waits.
pub async fn scan<H: Host>(host: &H) {
    let tables = state::of(host);
    tables.want_scan();
    while tables.try_scanning() {
        let wanted = tables.scans_wanted();
        for from in host.cluster().others() {
            while let Some(message) = Message::next(host, from) {
                take(host, &message).await;
                message.done(host).await;
            }
        }
        if host.cluster().migrate {
            // This node may have become the home of what somebody asked for.
            answer_pages(host, None).await;
        }
        tables.scanned();
        if tables.scans_wanted() == wanted {
            return;
        }
    }
}

async fn take<H: Host>(host: &H, message: &Message) {
    host.count(Count::Served, 1);
    match message.kind {
        Kind::Page => take_page(host, message).await,
        Kind::Diff => take_diff(host, message).await,
        Kind::Lock | Kind::Forward => defer_lock(host, message),
        Kind::Notices => take_notices(host, message),
    }
}

/// Index of a thread among all of the cluster; those of a bad message fall onto the last one.
fn requester<H: Host>(host: &H, node: NodeId, thread: u64) -> usize {
    let threads = usize::from(host.cluster().threads);
    node.index() * threads + (thread as usize).min(threads - 1)
}

fn page_of<H: Host>(host: &H, word: u64) -> PageId {
    PageId(u32::try_from(word).unwrap_or(0).min(host.cluster().pages - 1))
}

async fn take_page<H: Host>(host: &H, message: &Message) {
    let [page, thread] = message.fixed;
    let request = state::of(host).page_request(requester(host, message.from, thread));
    for at in 0..message.len().min(request.len() - 1) {
        request.at(1 + at).store(message.word(host, at), Ordering::Relaxed);
    }
    request.at(0).store(u64::from(page_of(host, page).0) + 1, Ordering::Release);
    answer_pages(host, Some(requester(host, message.from, thread))).await;
}

/// Answers page requests that can be answered: one thread's, or all.
async fn answer_pages<H: Host>(host: &H, only: Option<usize>) {
    let threads = usize::from(host.cluster().threads);
    let all = only.map_or(0..host.cluster().all_threads() as usize, |one| one..one + 1);
    for requester in all {
        let request = state::of(host).page_request(requester);
        let wanted = request.at(0).load(Ordering::Acquire);
        let Some(page) = wanted.checked_sub(1).map(|p| PageId(p as u32)) else { continue };
        if !stamps::of(host, page).covers(&Vector::of(request.from(1))) {
            continue;
        }
        request.at(0).store(0, Ordering::Relaxed);
        let (node, thread) = (NodeId((requester / threads) as u16), (requester % threads) as u16);
        host.put_page(node, page).await;
        host.put(node, host.layout().reply(thread), &[1], Wake::All).await;
    }
}

/// Applies a diff to the home's copy; its stamp comes after it.
async fn take_diff<H: Host>(host: &H, message: &Message) {
    let [page, stamp] = message.fixed;
    let page = page_of(host, page);
    let first = page.index() * host.cluster().page_words;
    let mut at = 0;
    while at < message.len() {
        let run = diff::Packed::of(message.word(host, at));
        at += 1;
        for word in (run.first..).take(run.words) {
            let value = message.word(host, at);
            let mask = if run.is_whole { u64::MAX } else { message.word(host, at + 1) };
            at += if run.is_whole { 1 } else { 2 };
            if word < host.cluster().page_words {
                Word::at(host, Place::Copy(first + word)).does(Does::Merge(value, mask));
            }
        }
    }
    region(host, host.layout().stamps(page) + message.from.index()).fetch_max(stamp, Ordering::AcqRel);
    host.ring();
    answer_pages(host, None).await;
}

/// Notes notices that were not known yet. They lie behind those that are, as senders begin with what the receiver has applied.
fn take_notices<H: Host>(host: &H, message: &Message) {
    let [writer, first] = message.fixed;
    let writer = NodeId((writer as u16).min(host.cluster().nodes - 1));
    let tail = region(host, host.layout().tail(writer));
    for at in 0..message.len() {
        let number = first.saturating_add(at as u64);
        if number == tail.load(Ordering::Acquire) {
            let word = region(host, host.layout().notice(writer, number));
            word.store(message.word(host, at), Ordering::Release);
            tail.store(number + 1, Ordering::Release);
        }
    }
    host.ring();
}

/// Kind of a deferred request, and its slot.
const IS_FORWARD: u64 = 1 << 40;

fn defer_lock<H: Host>(host: &H, message: &Message) {
    let [slot, who] = message.fixed;
    let slot = slot.min(u64::from(host.cluster().slots) - 1);
    let (node, thread) = match message.kind {
        Kind::Forward => (NodeId((who >> 32) as u16 % host.cluster().nodes), who & 0xffff_ffff),
        _ => (message.from, who),
    };
    let request = state::of(host).lock_request(requester(host, node, thread));
    for at in 0..message.len().min(request.len() - 1) {
        request.at(1 + at).store(message.word(host, at), Ordering::Relaxed);
    }
    let kind = if message.kind == Kind::Forward { IS_FORWARD } else { 0 };
    request.at(0).store((slot + 1) | kind, Ordering::Release);
    state::of(host).deferred().fetch_add(1, Ordering::SeqCst);
}

/// Looks after deferred lock requests, unless they need the node's lock and somebody has it.
async fn grant_all<H: Host>(host: &H) {
    let threads = usize::from(host.cluster().threads);
    for requester in 0..host.cluster().all_threads() as usize {
        let request = state::of(host).lock_request(requester);
        let word = request.at(0).load(Ordering::Acquire);
        if word == 0 {
            continue;
        }
        let needs_lock = notices::with_lock(host);
        if needs_lock && !state::of(host).try_lock() {
            return;
        }
        let vector = Vector::of(request.from(1));
        request.at(0).store(0, Ordering::Relaxed);
        state::of(host).deferred().fetch_sub(1, Ordering::SeqCst);
        let asked = lock::Asked {
            slot: ((word & !IS_FORWARD) - 1) as u32,
            node: NodeId((requester / threads) as u16),
            thread: (requester % threads) as u16,
            vector,
        };
        if word & IS_FORWARD != 0 {
            lock::hold_or_hand_over(host, &asked).await;
        } else {
            lock::manage(host, &asked).await;
        }
        if needs_lock {
            state::of(host).unlock();
            host.ring();
        }
    }
}
