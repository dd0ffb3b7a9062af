//! Intervals: what a node has written since it last told, as diffs and notices; and what it does about notices of others. All of it
//! under the node's lock.
use crate::cluster::PageId;
use crate::diff::{Packed, RUN_WORDS, Run};
use crate::host::{Access, Count, Host, Interrupt, Wake};
use crate::inbox::{Kind, Room};
use crate::memory::region;
use crate::rules::{Rule, holds};
use crate::state::PageState;
use crate::steps::Diffs;
use crate::vector::Vector;
use crate::{exclusive, migrate, notices, state, wait};
use homenode_base::NodeId;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Ends the interval: diffs to the homes, a notice a page, and where notices are pushed, these to all nodes, with those of pages whose
/// changes were sent before.
pub(crate) async fn end<H: Host>(host: &H) {
    end_with(host, false).await;
}

/// As [`end`], before a barrier of all: pages of this home that get a notice now have no copy any more once the barrier is passed.
pub(crate) async fn end_before_barrier<H: Host>(host: &H) {
    end_with(host, true).await;
}

async fn end_with<H: Host>(host: &H, at_barrier: bool) {
    exclusive::note_copied(host);
    let written = state::of(host).take_written();
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
            state::of(host).page(PageId(page), |s| s.listed = false);
        }
        if at_barrier {
            exclusive::forget_copies(host, pages.clone());
        }
        flush(host, pages, at_barrier).await;
    }
    notices::push(host).await;
}

/// Sends the changes of those of the pages that are dirty, and notes a notice each. The program may only read them then.
async fn flush<H: Host>(host: &H, pages: Range<u32>, at_barrier: bool) {
    let (cluster, tables) = (host.cluster(), state::of(host));
    notices::make_room(host, u64::from(pages.end - pages.start)).await;
    let mut dirty = pages.clone();
    while let Some(first) = protect(host, &mut dirty) {
        host.protected().await;
        for page in (first..dirty.start).map(PageId) {
            let home = tables.page(page, |s| s.home).unwrap_or(cluster.me);
            let stamp = if cluster.alone { 0 } else { Vector::applied(host).get(cluster.me) + 1 };
            let mut notice = u64::from(page.0);
            if home == cluster.me {
                host.count_at(page, Count::HomeWrite, u64::from(!cluster.alone));
                region(host, host.layout().stamps(page) + cluster.me.index()).store(stamp, Ordering::Release);
            } else {
                diff(host, page, home, stamp).await;
                tables.page(page, |s| {
                    sent(host, page, s);
                    if at_barrier {
                        notice |= migrate::ask(host, page, s);
                    }
                });
            }
            if !cluster.alone {
                if holds(Rule::OwnChangesSeen) {
                    tables.needed(page).at(cluster.me.index()).store(stamp, Ordering::Release);
                }
                region(host, host.layout().notice(cluster.me, stamp - 1)).store(notice, Ordering::Release);
                region(host, host.layout().applied(cluster.me)).store(stamp, Ordering::Release);
            }
        }
        host.ring();
    }
}

/// Takes the next dirty pages that follow one another from the front of `pages`, and makes them read-only; the first of them. Those that
/// are to have a diff are busy then.
fn protect<H: Host>(host: &H, pages: &mut Range<u32>) -> Option<u32> {
    let guard = state::of(host).run(pages.clone());
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
    s.diffs = s.diffs.saturating_add(1);
    if std::mem::take(&mut s.stale) {
        state::of(host).stales().fetch_sub(1, Ordering::AcqRel);
        s.access = Access::None;
        host.allow(page.0..page.0 + 1, Access::None);
        host.count_at(page, Count::Invalidation, 1);
    }
}

fn allow<H: Host>(host: &H, reading: &Range<u32>) {
    if !reading.is_empty() {
        host.allow(reading.clone(), Access::Read);
    }
}

/// Brings the changes of a page, which nobody here may write meanwhile, to its home.
async fn diff<H: Host>(host: &H, page: PageId, home: NodeId, stamp: u64) {
    host.count_at(page, Count::Diff, 1);
    host.diffing(true);
    match host.cluster().step.diffs {
        Diffs::Deposited => deposit(host, page, home, stamp).await,
        Diffs::Sent => send(host, page, home, stamp).await,
    }
    host.diffing(false);
}

async fn deposit<H: Host>(host: &H, page: PageId, home: NodeId, stamp: u64) {
    let word = host.layout().stamps(page) + host.cluster().me.index();
    let stamp_too_early = !holds(Rule::DataBeforeStamp);
    if stamp > 0 && stamp_too_early {
        host.put(home, word, &[stamp], Wake::Expecting).await;
    }
    let (mut run, mut from) = (Run::new(), 0);
    while host.changed(page, from, &mut run) {
        from = run.end();
        host.put_run(home, page, run.first, run.words()).await;
        host.count_at(page, Count::DiffRun, 1);
    }
    if stamp > 0 && !stamp_too_early {
        host.put(home, word, &[stamp], Wake::Expecting).await;
    }
}

async fn send<H: Host>(host: &H, page: PageId, home: NodeId, stamp: u64) {
    let mut run = Run::new();
    let packed = |run: &Run| Packed { first: run.first, words: run.words().len(), is_whole: run.is_whole() };
    let (mut words, mut from) = (0, 0);
    while host.changed(page, from, &mut run) {
        from = run.end();
        words += packed(&run).length();
        host.count_at(page, Count::DiffRun, 1);
    }
    let mut room = Room::take(host, home, Kind::Diff, words).await;
    room.put(host, &[page.0.into(), stamp]).await;
    from = 0;
    while host.changed(page, from, &mut run) {
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

/// Applies notices of others up to `upto`: waits until they have come, or fetches them, and gives up the pages that they name. What was written to them
/// here goes home first.
pub(crate) async fn apply<H: Host>(host: &H, upto: &Vector) {
    let mut come = Vector::zero(host.cluster().nodes);
    for writer in host.cluster().others() {
        let tail = region(host, host.layout().tail(writer));
        if holds(Rule::NoticesBeforeLock) {
            let come = || tail.load(Ordering::Acquire) >= upto.get(writer);
            if notices::are_fetched(host) {
                notices::fetch(host, writer, upto.get(writer)).await;
            } else if !come() {
                wait::expecting(host, wait::until_locked(host, come)).await;
            }
        }
        come.set(writer, upto.get(writer).min(tail.load(Ordering::Acquire)));
        if !host.cluster().sorted {
            notices::give_up(host, writer, come.get(writer));
        }
    }
    if host.cluster().sorted {
        notices::give_up_sorted(host, &come);
    }
    if state::of(host).stales().load(Ordering::Acquire) > 0 {
        end_stale(host).await;
    }
}

/// Sends the changes of stale pages, which are given up then; others stay as they are.
async fn end_stale<H: Host>(host: &H) {
    let written = state::of(host).take_written();
    for at in 0..written.len() {
        let page = written.take(at);
        let is_stale = state::of(host).page(page, |s| {
            if !s.stale && s.dirty {
                state::of(host).note_written(page);
            } else {
                s.listed = false;
            }
            s.stale
        });
        if is_stale {
            flush(host, page.0..page.0 + 1, false).await;
        }
    }
}
