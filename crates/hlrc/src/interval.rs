//! Intervals: what a node has written since it last told, as diffs and notices; and what it does about notices of others. All of it
//! under the node's lock.
use crate::cluster::PageId;
use crate::diff::{RUN_WORDS, Run};
use crate::host::{Access, Count, Host, Interrupt};
use crate::inbox::{Kind, Room};
use crate::serve::Packed;
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

/// Ends the interval: diffs to the homes, a notice a page, and where notices are pushed, these to all nodes.
pub(crate) async fn end<H: Host>(host: &H) {
    if host.tables().none_written() {
        return;
    }
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
        flush(host, first..first + pages as u32).await;
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
                tables.page(page, |s| s.busy = false);
            }
            if !cluster.alone {
                tables.needed(page)[cluster.me.index()].store(stamp, Ordering::Release);
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
        if s.access == Access::Write {
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
    let (mut run, mut from) = (Run::new(), 0);
    while run.find(host.copy(page), host.twin(page), from) {
        from = run.end();
        host.put_run(home, page, run.first, run.words()).await;
        host.count(Count::DiffRun, 1);
    }
    if stamp > 0 {
        let word = host.layout().stamps(page) + host.cluster().me.index();
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
async fn push<H: Host>(host: &H) {
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

/// Writes notices of a writer into a peer's log.
pub(crate) async fn put_notices<H: Host>(host: &H, to: NodeId, writer: NodeId, mut numbers: Range<u64>) {
    const SOME: usize = 64;
    if numbers.is_empty() {
        return;
    }
    host.count(Count::NoticeMessage, 1);
    host.count(Count::Notice, numbers.end - numbers.start);
    let log = u64::from(host.cluster().log);
    while !numbers.is_empty() {
        let (mut words, mut len) = ([0; SOME], 0);
        let first = numbers.start;
        let before_wrap = log - first % log;
        for (word, number) in words.iter_mut().zip(first..numbers.end.min(first + before_wrap)) {
            *word = host.region()[host.layout().notice(writer, number)].load(Ordering::Acquire);
            len += 1;
        }
        host.put(to, host.layout().notice(writer, first), &words[..len]).await;
        numbers.start += len as u64;
    }
}

/// Applies notices of others up to `upto`: waits until they have come, and gives up the pages that they name.
pub(crate) async fn apply<H: Host>(host: &H, upto: &Vector) {
    let (cluster, layout) = (host.cluster(), host.layout());
    for writer in cluster.others() {
        let tail = &host.region()[layout.tail(writer)];
        if is_lazy(host) {
            tail.fetch_max(upto.get(writer), Ordering::AcqRel);
        }
        let applied = &host.region()[layout.applied(writer)];
        let (from, to) = (applied.load(Ordering::Acquire), upto.get(writer));
        if from < to {
            wait::until_locked(host, || tail.load(Ordering::Acquire) >= to).await;
            let mut number = from;
            while number < to {
                number = apply_some(host, writer, number, to).await;
            }
            applied.store(to, Ordering::Release);
        }
    }
}

/// Applies the notice with this number and those after it whose pages follow one another. The number behind them.
async fn apply_some<H: Host>(host: &H, writer: NodeId, number: u64, to: u64) -> u64 {
    let noticed = |number| {
        let word = host.region()[host.layout().notice(writer, number)].load(Ordering::Acquire);
        (word as u32).min(host.cluster().pages - 1)
    };
    let first = noticed(number);
    let mut end = number + 1;
    while end < to && noticed(end) == first + (end - number) as u32 {
        end += 1;
    }
    let pages = first..first + (end - number) as u32;
    let mut from = pages.start;
    while from < pages.end {
        from = give_up(host, writer, from..pages.end, number + u64::from(from - first));
        if from < pages.end {
            // Written here, too: its changes go home first, so that no word is lost.
            flush(host, from..from + 1).await;
        }
    }
    end
}

/// Gives up pages that `writer` has written, the first one's notice being `number`. The first that has changes of this node's, or the end.
fn give_up<H: Host>(host: &H, writer: NodeId, pages: Range<u32>, number: u64) -> u32 {
    let me = host.cluster().me;
    let guard = host.tables().run(pages.clone());
    let mut lost = pages.start..pages.start;
    let lose = |lost: &Range<u32>| {
        if !lost.is_empty() {
            host.allow(lost.clone(), Access::None);
            host.count(Count::Invalidation, u64::from(lost.end - lost.start));
        }
    };
    let mut stop = pages.end;
    for page in pages.clone() {
        let mut s = guard.get(PageId(page));
        let is_home = s.home == Some(me);
        if s.dirty && !is_home {
            stop = page;
            break;
        }
        let needed = &host.tables().needed(PageId(page))[writer.index()];
        needed.fetch_max(number + u64::from(page - pages.start) + 1, Ordering::AcqRel);
        let is_good = is_home && page::is_current(host, PageId(page));
        if s.access == Access::None || s.busy || is_good {
            continue;
        }
        s.access = Access::None;
        guard.set(PageId(page), s);
        if lost.end != page {
            lose(&lost);
            lost = page..page;
        }
        lost.end += 1;
    }
    lose(&lost);
    stop
}
