//! Intervals: what a node has written since it last told, as diffs and notices; and what it does about notices of others. All of it
//! under the node's lock.
use crate::cluster::PageId;
use crate::diff::{RUN_WORDS, Run};
use crate::host::{Access, Count, Host, Interrupt};
use crate::inbox::{self, Kind, Room};
use crate::rules::{Rule, holds};
use crate::serve::Packed;
use crate::state::PageState;
use crate::steps::{Diffs, Notices};
use crate::vector::Vector;
use crate::{page, team, wait};
use homenode_base::NodeId;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Whether intervals end only when another node asks.
pub(crate) fn is_lazy<H: Host>(host: &H) -> bool {
    host.cluster().step.notices == Notices::Pulled
}

/// Ends the interval: diffs to the homes, a notice a page, and where notices are pushed, these to all nodes, with those of pages whose
/// changes were sent before.
pub(crate) async fn end<H: Host>(host: &H) {
    let written = host.tables().take_written();
    let most = (host.cluster().log / 4).max(1) as usize;
    let mut at = 0;
    while at < written.len() {
        let first = written.take(at).0;
        let mut pages = 1;
        while at + pages < written.len() && pages < most && written.peek(at + pages).0 == first + pages as u32 {
            written.take(at + pages);
            pages += 1;
        }
        at += pages;
        let pages = first..first + pages as u32;
        for page in pages.clone() {
            host.tables().page(PageId(page), |s| s.listed = false);
        }
        flush(host, pages).await;
    }
    push(host).await;
}

/// Sends the changes of those of the pages that are dirty, and notes a notice each. The program may only read them then.
async fn flush<H: Host>(host: &H, pages: Range<u32>) {
    let (cluster, tables) = (host.cluster(), host.tables());
    team::make_room(host, u64::from(pages.end - pages.start)).await;
    let mut dirty = pages.clone();
    while let Some(first) = protect(host, &mut dirty) {
        for page in (first..dirty.start).map(PageId) {
            let home = tables.page(page, |s| s.home).unwrap_or(cluster.me);
            let stamp = if cluster.alone { 0 } else { Vector::applied(host).get(cluster.me) + 1 };
            if home == cluster.me {
                host.region()[host.layout().stamps(page) + cluster.me.index()].store(stamp, Ordering::Release);
            } else {
                diff(host, page, home, stamp).await;
                tables.page(page, |s| sent(host, page, s));
            }
            if !cluster.alone {
                if holds(Rule::OwnChangesSeen) {
                    tables.needed(page)[cluster.me.index()].store(stamp, Ordering::Release);
                }
                host.region()[host.layout().notice(cluster.me, stamp - 1)].store(page.0.into(), Ordering::Release);
                host.region()[host.layout().applied(cluster.me)].store(stamp, Ordering::Release);
            }
        }
        host.ring();
    }
}

/// Takes the next dirty pages that follow one another from the front of `pages`, and makes them read-only; the first of them. Those that
/// are to have a diff are busy then.
fn protect<H: Host>(host: &H, pages: &mut Range<u32>) -> Option<u32> {
    let guard = host.tables().run(pages.clone());
    let is_dirty = |page: &u32| guard.get(PageId(*page)).dirty;
    let first = pages.clone().find(is_dirty)?;
    let end = (first..pages.end).find(|p| !is_dirty(p)).unwrap_or(pages.end);
    let mut writable = first..first;
    for page in first..end {
        let mut s = guard.get(PageId(page));
        s.dirty = false;
        s.busy = s.home != Some(host.cluster().me);
        if s.access == Access::Write && holds(Rule::ProtectedAgain) {
            s.access = Access::Read;
            if writable.end != page {
                allow(host, &writable);
                writable = page..page;
            }
            writable.end += 1;
        }
        guard.set(PageId(page), s);
    }
    allow(host, &writable);
    pages.start = end;
    Some(first)
}

/// The changes of a page have been sent.
fn sent<H: Host>(host: &H, page: PageId, s: &mut PageState) {
    s.busy = false;
    if std::mem::take(&mut s.stale) {
        host.tables().stales().fetch_sub(1, Ordering::AcqRel);
        s.access = Access::None;
        host.allow(page.0..page.0 + 1, Access::None);
        host.count(Count::Invalidation, 1);
    }
}

fn allow<H: Host>(host: &H, reading: &Range<u32>) {
    if !reading.is_empty() {
        host.allow(reading.clone(), Access::Read);
    }
}

/// Brings the changes of a page, which nobody here may write meanwhile, to its home.
async fn diff<H: Host>(host: &H, page: PageId, home: NodeId, stamp: u64) {
    host.count(Count::Diff, 1);
    match host.cluster().step.diffs {
        Diffs::Deposited => deposit(host, page, home, stamp).await,
        Diffs::Sent => send(host, page, home, stamp).await,
    }
}

async fn deposit<H: Host>(host: &H, page: PageId, home: NodeId, stamp: u64) {
    let word = host.layout().stamps(page) + host.cluster().me.index();
    let stamp_too_early = !holds(Rule::DataBeforeStamp);
    if stamp > 0 && stamp_too_early {
        host.put(home, word, &[stamp]).await;
    }
    let (mut run, mut from) = (Run::new(), 0);
    while run.find(host.copy(page), host.twin(page), from) {
        from = run.end();
        host.put_run(home, page, run.first, run.words()).await;
        host.count(Count::DiffRun, 1);
    }
    if stamp > 0 && !stamp_too_early {
        host.put(home, word, &[stamp]).await;
    }
}

async fn send<H: Host>(host: &H, page: PageId, home: NodeId, stamp: u64) {
    let mut run = Run::new();
    let packed = |run: &Run| Packed { first: run.first, words: run.words().len(), is_whole: run.is_whole() };
    let (mut words, mut from) = (0, 0);
    while run.find(host.copy(page), host.twin(page), from) {
        from = run.end();
        words += packed(&run).length();
        host.count(Count::DiffRun, 1);
    }
    let mut room = Room::take(host, home, Kind::Diff, words).await;
    room.put(host, &[page.0.into(), stamp]).await;
    from = 0;
    while run.find(host.copy(page), host.twin(page), from) {
        from = run.end();
        let head = packed(&run);
        room.put(host, &[head.word()]).await;
        put_words(host, &mut room, &run, head.is_whole).await;
    }
    room.end(host).await;
    host.interrupt(home, Interrupt::Diff).await;
}

/// Words of a run, with masks unless all are whole, some at a time.
async fn put_words<H: Host>(host: &H, room: &mut Room, run: &Run, is_whole: bool) {
    const SOME: usize = 64;
    const _: () = assert!(RUN_WORDS.is_multiple_of(SOME));
    for some in run.words().chunks(SOME) {
        let mut words = [0; 2 * SOME];
        let mut len = 0;
        for (value, mask) in some {
            words[len] = *value;
            words[len + 1] = *mask;
            len += if is_whole { 1 } else { 2 };
        }
        room.put(host, &words[..len]).await;
    }
}

/// Deposits own notices that have not been at all other nodes: the notices, and then how many there are.
pub(crate) async fn push<H: Host>(host: &H) {
    let (cluster, layout) = (host.cluster(), host.layout());
    let tail = &host.region()[layout.tail(cluster.me)];
    let (from, to) = (tail.load(Ordering::Acquire), Vector::applied(host).get(cluster.me));
    if from == to || is_lazy(host) {
        return;
    }
    for node in cluster.others() {
        put_notices(host, node, cluster.me, from..to).await;
        host.put(node, layout.tail(cluster.me), &[to]).await;
    }
    tail.store(to, Ordering::Release);
}

/// Brings notices of a writer into a peer's log: as messages where they are pulled, else by deposit.
pub(crate) async fn put_notices<H: Host>(host: &H, to: NodeId, writer: NodeId, mut numbers: Range<u64>) {
    const SOME: usize = 64;
    let most = SOME.min(host.cluster().inbox as usize / 8);
    let log = u64::from(host.cluster().log);
    while !numbers.is_empty() {
        let (mut words, mut len) = ([0; SOME], 0);
        let first = numbers.start;
        let before_wrap = log - first % log;
        for (word, number) in words[..most].iter_mut().zip(first..numbers.end.min(first + before_wrap)) {
            *word = host.region()[host.layout().notice(writer, number)].load(Ordering::Acquire);
            len += 1;
        }
        if is_lazy(host) {
            inbox::send(host, to, Kind::Notices, [writer.0.into(), first], &words[..len]).await;
        } else {
            host.put(to, host.layout().notice(writer, first), &words[..len]).await;
        }
        host.count(Count::NoticeMessage, 1);
        host.count(Count::Notice, len as u64);
        numbers.start += len as u64;
    }
}

/// Applies notices of others up to `upto`: waits until they have come, and gives up the pages that they name. What was written to them
/// here goes home first.
pub(crate) async fn apply<H: Host>(host: &H, upto: &Vector) {
    for writer in host.cluster().others() {
        let tail = &host.region()[host.layout().tail(writer)];
        if holds(Rule::NoticesBeforeLock) {
            wait::until_locked(host, || tail.load(Ordering::Acquire) >= upto.get(writer)).await;
        }
        give_up(host, writer, upto.get(writer).min(tail.load(Ordering::Acquire)));
    }
    if host.tables().stales().load(Ordering::Acquire) > 0 {
        end_stale(host).await;
    }
}

/// Applies the notices that have come, so that there is room for others, and sends nothing: pages that were written here stay until
/// their changes are sent.
pub(crate) fn apply_early<H: Host>(host: &H) {
    for writer in host.cluster().others() {
        let tail = &host.region()[host.layout().tail(writer)];
        give_up(host, writer, tail.load(Ordering::Acquire));
    }
}

/// Sends the changes of stale pages, which are given up then; others stay as they are.
async fn end_stale<H: Host>(host: &H) {
    let written = host.tables().take_written();
    for at in 0..written.len() {
        let page = written.take(at);
        let is_stale = host.tables().page(page, |s| {
            if !s.stale && s.dirty {
                host.tables().note_written(page);
            } else {
                s.listed = false;
            }
            s.stale
        });
        if is_stale {
            flush(host, page.0..page.0 + 1).await;
        }
    }
}

/// Gives up the pages that a writer's notices before number `to` name.
fn give_up<H: Host>(host: &H, writer: NodeId, to: u64) {
    let applied = &host.region()[host.layout().applied(writer)];
    let noticed = |number| {
        let word = host.region()[host.layout().notice(writer, number)].load(Ordering::Acquire);
        (word as u32).min(host.cluster().pages - 1)
    };
    let mut number = applied.load(Ordering::Acquire);
    while number < to {
        let first = noticed(number);
        let mut pages = first..first + 1;
        while number + u64::from(pages.end - first) < to && noticed(number + u64::from(pages.end - first)) == pages.end
        {
            pages.end += 1;
        }
        give_up_run(host, writer, pages.clone(), number);
        number += u64::from(pages.end - first);
    }
    applied.fetch_max(to, Ordering::AcqRel);
}

/// Gives up pages that `writer` has written, the first one's notice being `number`.
fn give_up_run<H: Host>(host: &H, writer: NodeId, pages: Range<u32>, number: u64) {
    let me = host.cluster().me;
    let guard = host.tables().run(pages.clone());
    let mut lost = pages.start..pages.start;
    let lose = |lost: &Range<u32>| {
        if !lost.is_empty() {
            host.allow(lost.clone(), Access::None);
            host.count(Count::Invalidation, u64::from(lost.end - lost.start));
        }
    };
    for page in pages.clone() {
        let mut s = guard.get(PageId(page));
        let is_home = s.home == Some(me);
        let needed = &host.tables().needed(PageId(page))[writer.index()];
        needed.fetch_max(number + u64::from(page - pages.start) + 1, Ordering::AcqRel);
        let is_good = is_home && page::is_current(host, PageId(page));
        let is_written = s.dirty && !is_home && holds(Rule::DiffBeforeGivingUp);
        if s.access == Access::None || s.stale || is_good || s.busy && !is_written {
            continue;
        }
        if is_written {
            s.stale = true;
            host.tables().stales().fetch_add(1, Ordering::AcqRel);
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
