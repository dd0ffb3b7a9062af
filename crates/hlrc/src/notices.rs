//! Write notices: brought to other nodes, and applied to the pages of this one. All of it under the node's lock.
use crate::cluster::PageId;
use crate::host::{Access, Count, Host, Interrupt, Wake};
use crate::inbox::{self, Kind};
use crate::memory::region;
use crate::rules::{Rule, holds};
use crate::state::PageState;
use crate::steps::{Intervals, Notices};
use crate::vector::Vector;
use crate::{exclusive, migrate, prefetch, stamps, state, wait};
use homenode_base::NodeId;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Whether intervals end only when another node asks.
pub(crate) fn is_lazy<H: Host>(host: &H) -> bool {
    host.cluster().step.intervals == Intervals::Lazy
}

/// Whether notices come as messages from whoever hands a lock over.
pub(crate) fn with_lock<H: Host>(host: &H) -> bool {
    host.cluster().step.notices == Notices::WithLock
}

pub(crate) fn are_fetched<H: Host>(host: &H) -> bool {
    host.cluster().step.notices == Notices::Fetched
}

/// Where notices are pushed, deposits those of this node that have not been at all others: the notices, and then how many there are.
pub(crate) async fn push<H: Host>(host: &H) {
    let (cluster, layout) = (host.cluster(), host.layout());
    let tail = region(host, layout.tail(cluster.me));
    let (from, to) = (tail.load(Ordering::Acquire), Vector::applied(host).get(cluster.me));
    if from == to || host.cluster().step.notices != Notices::Pushed {
        return;
    }
    for node in cluster.others() {
        put_notices(host, node, cluster.me, from..to).await;
        host.put(node, layout.tail(cluster.me), &[to], Wake::Expecting).await;
    }
    tail.store(to, Ordering::Release);
}

/// Brings notices of a writer into a peer's log: as messages where they come with the lock, else by deposit.
pub(crate) async fn put_notices<H: Host>(host: &H, to: NodeId, writer: NodeId, mut numbers: Range<u64>) {
    const SOME: usize = 64;
    let most = SOME.min(host.cluster().inbox as usize / 8);
    let log = u64::from(host.cluster().log);
    while !numbers.is_empty() {
        let (mut words, mut len) = ([0; SOME], 0);
        let first = numbers.start;
        let before_wrap = log - first % log;
        for (word, number) in words[..most].iter_mut().zip(first..numbers.end.min(first + before_wrap)) {
            *word = region(host, host.layout().notice(writer, number)).load(Ordering::Acquire);
            len += 1;
        }
        if with_lock(host) {
            inbox::send(host, to, Kind::Notices, [writer.0.into(), first], &words[..len]).await;
        } else {
            host.put(to, host.layout().notice(writer, first), &words[..len], Wake::Nobody).await;
        }
        host.count(Count::NoticeMessage, 1);
        host.count(Count::Notice, len as u64);
        numbers.start += len as u64;
    }
}

/// Reads a writer's notices up to number `upto` out of its log into the one here. The writer keeps them until this node has applied them.
pub(crate) async fn fetch<H: Host>(host: &H, writer: NodeId, upto: u64) {
    const SOME: usize = 64;
    let (layout, log) = (host.layout(), u64::from(host.cluster().log));
    let tail = region(host, layout.tail(writer));
    let mut number = tail.load(Ordering::Acquire);
    while number < upto {
        let mut words = [0; SOME];
        let len = (SOME as u64).min(upto - number).min(log - number % log) as usize;
        host.get(writer, layout.notice(writer, number), &mut words[..len]).await;
        for word in &words[..len] {
            region(host, layout.notice(writer, number)).store(*word, Ordering::Release);
            number += 1;
        }
        host.count(Count::NoticeMessage, 1);
        host.count(Count::Notice, len as u64);
        tail.store(number, Ordering::Release);
    }
}

/// Applies the notices that have come, or where they are fetched all that there are, so that there is room for others, and sends nothing:
/// pages that were written here stay until their changes are sent.
pub(crate) async fn apply_early<H: Host>(host: &H) {
    if are_fetched(host) {
        for writer in host.cluster().others() {
            let mut made = [0];
            host.get(writer, host.layout().applied(writer), &mut made).await;
            fetch(host, writer, made[0]).await;
        }
    }
    let mut come = Vector::zero(host.cluster().nodes);
    for writer in host.cluster().others() {
        come.set(writer, region(host, host.layout().tail(writer)).load(Ordering::Acquire));
    }
    if host.cluster().sorted {
        return give_up_sorted(host, &come);
    }
    for writer in host.cluster().others() {
        give_up(host, writer, come.get(writer));
    }
}

/// Gives up the pages that a writer's notices before number `to` name.
pub(crate) fn give_up<H: Host>(host: &H, writer: NodeId, to: u64) {
    let applied = region(host, host.layout().applied(writer));
    let noticed = |number| noticed(host, writer, number);
    let page_of = |notice| page_of(host, notice);
    let mut number = applied.load(Ordering::Acquire);
    while number < to {
        let first = page_of(noticed(number));
        let mut pages = first..first + 1;
        while number + u64::from(pages.end - first) < to
            && page_of(noticed(number + u64::from(pages.end - first))) == pages.end
        {
            pages.end += 1;
        }
        give_up_run(host, pages.clone(), Some((writer, number)));
        for (page, number) in pages.clone().zip(number..).filter(|_| migrate::is_on(host.cluster())) {
            let notice = noticed(number);
            state::of(host).page(PageId(page), |s| migrate::note(host, PageId(page), s, writer, notice));
        }
        number += u64::from(pages.end - first);
    }
    applied.fetch_max(to, Ordering::AcqRel);
}

fn noticed<H: Host>(host: &H, writer: NodeId, number: u64) -> u64 {
    region(host, host.layout().notice(writer, number)).load(Ordering::Acquire)
}
fn page_of<H: Host>(host: &H, notice: u64) -> u32 {
    (notice as u32).min(host.cluster().pages - 1)
}

/// As [`give_up`] for all writers together, up to these notices, in the order of pages: those that follow one another are protected by one call,
/// whoever wrote them (Bilas and Singh, section 1.5.1).
pub(crate) fn give_up_sorted<H: Host>(host: &H, upto: &Vector) {
    let (mut first, mut end) = (u32::MAX, 0);
    for writer in host.cluster().others() {
        let applied = region(host, host.layout().applied(writer)).load(Ordering::Acquire);
        for number in applied..upto.get(writer) {
            let notice = noticed(host, writer, number);
            let page = page_of(host, notice);
            state::of(host).page(PageId(page), |s| {
                need(host, PageId(page), s, writer, number);
                migrate::note(host, PageId(page), s, writer, notice);
            });
            let word = state::of(host).mark(PageId(page));
            (first, end) = (first.min(word), end.max(word + 1));
        }
    }
    let mut pages = 0..0;
    for page in (first..end).flat_map(|word| state::of(host).take_marks(word)) {
        if pages.end != page {
            give_up_run(host, pages, None);
            pages = page..page;
        }
        pages.end += 1;
    }
    give_up_run(host, pages, None);
    for writer in host.cluster().others() {
        region(host, host.layout().applied(writer)).fetch_max(upto.get(writer), Ordering::AcqRel);
    }
}

/// A notice of a page: what a copy must have seen.
fn need<H: Host>(host: &H, page: PageId, s: &mut PageState, writer: NodeId, number: u64) {
    state::of(host).needed(page).at(writer.index()).fetch_max(number + 1, Ordering::AcqRel);
    if s.ahead > 0 || s.diffs > 0 {
        prefetch::lapse(host, page, s);
        s.diffs = 0;
    }
}

/// Gives up pages that others have written: one, the first page's notice being of this number, or, if their notices are noted already, any.
fn give_up_run<H: Host>(host: &H, pages: Range<u32>, notices: Option<(NodeId, u64)>) {
    if pages.is_empty() {
        return;
    }
    let me = host.cluster().me;
    let guard = state::of(host).run(pages.clone());
    let mut lost = pages.start..pages.start;
    let lose = |lost: &Range<u32>| {
        if !lost.is_empty() {
            host.allow(lost.clone(), Access::None);
            lost.clone().for_each(|page| host.count_at(PageId(page), Count::Invalidation, 1));
        }
    };
    for page in pages.clone() {
        let mut s = guard.get(PageId(page));
        let is_home = s.home == Some(me);
        if let Some((writer, first)) = notices {
            need(host, PageId(page), &mut s, writer, first + u64::from(page - pages.start));
            guard.set(PageId(page), s);
        }
        let is_good = is_home && stamps::is_current(host, PageId(page));
        let is_written = s.dirty && !is_home && holds(Rule::DiffBeforeGivingUp);
        if s.access == Access::None || s.stale || is_good || s.busy && !is_written {
            continue;
        }
        if is_home {
            exclusive::note(host, PageId(page), &mut s);
        }
        if is_written {
            s.stale = true;
            state::of(host).stales().fetch_add(1, Ordering::AcqRel);
        } else {
            s.access = Access::None;
            if lost.end != page {
                lose(&lost);
                lost = page..page;
            }
            lost.end += 1;
        }
        guard.set(PageId(page), s);
    }
    lose(&lost);
}

/// Under the node's lock: posts what has been applied so far.
pub(crate) async fn deliver<H: Host>(host: &H, to: NodeId) {
    if to == host.cluster().me || host.cluster().alone {
        return;
    }
    let vector = Vector::applied(host);
    if with_lock(host) {
        // Not from what all had applied at the last barrier: `to` may still be leaving that, with notices that it has not looked at.
        let has = Vector::at(host, to, host.layout().applied(NodeId(0))).await;
        put_notices_between(host, to, &has, &vector).await;
    } else {
        push(host).await;
    }
    vector.put(host, to, host.layout().posted(host.cluster().me)).await;
}

/// Writes all notices that this node has applied and `to` has not, into its logs.
pub(crate) async fn put_missing<H: Host>(host: &H, to: NodeId, has: &Vector) {
    put_notices_between(host, to, has, &Vector::applied(host)).await;
}

/// Writes notices of all writers but `to` into its logs.
pub(crate) async fn put_notices_between<H: Host>(host: &H, to: NodeId, from: &Vector, upto: &Vector) {
    for writer in host.cluster().all().filter(|w| *w != to) {
        put_notices(host, to, writer, from.get(writer)..upto.get(writer)).await;
    }
}

/// Applies what there is if somebody asked for it, unless a thread has the node's lock.
pub(crate) async fn catch_up<H: Host>(host: &H) {
    if wait::is_called(host) && state::of(host).try_lock() {
        region(host, host.layout().called()).store(0, Ordering::SeqCst);
        apply_early(host).await;
        state::of(host).unlock();
        host.ring();
    }
}

/// Waits until there is room for so many own notices in the logs of all nodes. Under the node's lock, and not while a page is being
/// flushed.
pub(crate) async fn make_room<H: Host>(host: &H, notices: u64) {
    let (cluster, room) = (host.cluster(), state::of(host).room());
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
        let mut is_delivered = false;
        loop {
            let mut applied = [0];
            host.get(node, host.layout().applied(cluster.me), &mut applied).await;
            if end <= applied[0] + log {
                least = least.min(applied[0]);
                break;
            }
            if !is_delivered {
                deliver(host, node).await;
                is_delivered = true;
            }
            // Called again if it has looked and found too little: it may have looked before it took the messages with the notices.
            if host.compare_swap(node, host.layout().called(), 0, 1).await == 0 {
                host.interrupt(node, Interrupt::Notices).await;
            }
            // The other one may wait for this one in the same way.
            apply_early(host).await;
            wait::a_moment(host).await;
        }
    }
    room.store(least.saturating_add(log), Ordering::Relaxed);
}
