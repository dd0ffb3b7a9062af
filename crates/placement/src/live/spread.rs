//! Neighbours: what a few samples of a stretch of memory say of the pages between them.
//!
//! Samples are few and pages are many, but what lies side by side mostly has the same user. So the youngest sample of each page is
//! kept for a while, and each area of 2 MiB is judged by pairs of samples that lie next to each other there: where nearly all
//! pairs agree (one more pair may disagree for every four that are seen), memory has owners, and what lies between
//! two agreeing samples that are not far apart belongs to their node. Between two that disagree runs a border; nothing is concluded there
//! until samples come closer. Where the young samples of an area contradict what was told of it, its owner has changed and
//! the old ones are dropped.
//!
//! What is concluded is told once, for sure, in pieces of 32 KiB, and again when a page is found elsewhere.
use super::event::{PageId, Use};
use super::pages::Seen;
use homenode_base::NodeId;
use std::collections::BTreeMap;

/// Small pages of an area, and of the smallest piece that is told, as powers of two.
const AREA: u32 = 9;
const PIECE: u32 = 3;
/// Two samples farther apart say nothing of what is between: a part of its own may lie there. In pages.
const GAP_MOST: u64 = 128;
/// Beyond the outermost sample an owner reaches as far as samples lie apart on average, and so many pages at most.
const REACH_MOST: u64 = 32;
/// Pairs of samples that an area needs to be judged, and as many more for each that disagrees. Of pages that two nodes use alike,
/// fewer than one area in a hundred looks owned at a time.
const PAIRS: u64 = 7;
const PAIRS_MORE: u64 = 4;
/// Young samples that contradict what was told before it is believed that owners have changed; half of all they must be, too.
const CONTRADICT: u64 = 2;
/// Windows for which a sample is kept, and from sweep to sweep.
const KEPT: u64 = 16;
const SWEEP: u64 = 4;
/// Pages told in one window, about: the rest follows in the next.
const TOLD_AT_ONCE: usize = 4096;
/// Pieces known at most: 32 GiB of memory in use.
const KNOWN_MOST: usize = 1 << 20;

/// The moment at which a window is over, and what goes for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    /// Nanoseconds.
    pub(super) ns: u64,
    /// For so long pages stay where they came.
    pub(super) stay_ns: u64,
}

/// A piece or an area: process and number, counted in its own size.
type Key = (u32, u64);

fn piece(page: PageId) -> Key {
    (page.space, page.page >> PIECE)
}

/// The youngest sample of a page.
#[derive(Clone, Copy, Debug)]
struct Last {
    node: NodeId,
    weight: u64,
    window: u64,
    /// Several nodes used it in that window.
    mixed: bool,
}

/// Samples of an area since it was last judged: since which window, and how many agree with or contradict what was told.
#[derive(Clone, Copy, Debug)]
struct Fresh {
    since: u64,
    agree: u64,
    contradict: u64,
}

/// Pages one after the other that belong to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    first: u64,
    last: u64,
    node: NodeId,
}

/// Samples of small pages, and what was concluded from them.
#[derive(Clone, Debug, Default)]
pub(super) struct Spread {
    last: BTreeMap<PageId, Last>,
    /// Areas with samples that are not judged yet.
    fresh: BTreeMap<Key, Fresh>,
    /// Pieces: whose they were told to be, and when, in nanoseconds.
    told: BTreeMap<Key, (NodeId, u64)>,
    swept: u64,
}

impl Spread {
    /// Takes note of a sample; whether it contradicts what was told, if anything was. Huge pages speak for themselves.
    pub(super) fn add(&mut self, used: &Use, window: u64) -> Option<bool> {
        if used.pages != 1 {
            return None;
        }
        let contradicts = self.told.get(&piece(used.page)).map(|told| told.0 != used.node);
        let fresh = Fresh { since: window, agree: 0, contradict: 0 };
        let fresh = self.fresh.entry((used.page.space, used.page.page >> AREA)).or_insert(fresh);
        match contradicts {
            Some(true) => fresh.contradict += 1,
            Some(false) => fresh.agree += 1,
            None => {}
        }
        let weight = u64::from(used.reads) + u64::from(used.writes);
        let sample = Last { node: used.node, weight, window, mixed: false };
        match self.last.get_mut(&used.page) {
            Some(last) if last.window == window && last.node != used.node => last.mixed = true,
            Some(last) => *last = sample,
            None => _ = self.last.insert(used.page, sample),
        }
        contradicts
    }

    /// A page was found away from its user: what lies around it is told again.
    pub(super) fn stray(&mut self, page: PageId, user: NodeId) {
        if self.told.get(&piece(page)).is_some_and(|told| told.0 == user) {
            self.again(page);
        }
    }

    /// What lies around this page is told again as soon as samples say whose it is.
    pub(super) fn again(&mut self, page: PageId) {
        self.told.remove(&piece(page));
    }

    /// Whether what lies around this page came to `node` less than `within_ns` ago: so soon nothing of it leaves again.
    pub(super) fn came_lately(&self, page: PageId, node: NodeId, now_ns: u64, within_ns: u64) -> bool {
        let told = self.told.get(&piece(page));
        told.is_some_and(|(at, since_ns)| *at == node && now_ns.saturating_sub(*since_ns) < within_ns)
    }

    /// The window is over: adds the pages of which it is clear by now whose they are and of which that was not told before.
    pub(super) fn close(&mut self, seen: &mut BTreeMap<PageId, Seen>, window: u64, now: Now) {
        let mut uses = Vec::new();
        for (area, fresh) in std::mem::take(&mut self.fresh) {
            if uses.len() >= TOLD_AT_ONCE {
                self.fresh.insert(area, fresh);
                continue;
            }
            if fresh.contradict >= CONTRADICT && fresh.contradict >= fresh.agree {
                self.drop_old(area, fresh.since);
            }
            self.judge(area, window, now, &mut uses);
        }
        for used in uses {
            let page = seen.entry(used.page).or_default();
            let unheard = page.by.is_empty();
            if unheard {
                page.add(&used, window);
            }
            // A sample of the page itself that says otherwise is heard as what it is.
            page.sure = page.by.iter().all(|s| s.node == used.node);
            page.follows |= unheard;
        }
        if window >= self.swept + SWEEP {
            self.swept = window;
            self.last.retain(|_, l| window.saturating_sub(l.window) <= KEPT);
        }
        if self.told.len() > KNOWN_MOST {
            self.told.clear();
        }
    }

    /// Tells whose the pages of an area are, as far as that is clear.
    fn judge(&mut self, (space, number): Key, window: u64, now: Now, uses: &mut Vec<Use>) {
        let (first, end) = (number << AREA, (number + 1) << AREA);
        let at = |page| PageId { space, page };
        let around = at(first.saturating_sub(GAP_MOST))..at(end.saturating_add(GAP_MOST));
        let samples: Vec<(u64, Last)> = self.last.range(around).map(|(id, l)| (id.page, *l)).collect();
        let agree = |p: &[(u64, Last)]| p[0].1.node == p[1].1.node && !p[0].1.mixed && !p[1].1.mixed;
        let pairs = samples.len().saturating_sub(1) as u64;
        let against = samples.windows(2).filter(|p| !agree(p)).count() as u64;
        if pairs < PAIRS + PAIRS_MORE * against {
            return;
        }
        let span = samples[samples.len() - 1].0 - samples[0].0 + 1;
        let oldest = samples.iter().map(|s| s.1.window).min().unwrap_or(window);
        let weight: u64 = samples.iter().map(|s| s.1.weight).fold(0, u64::saturating_add);
        let weight = weight / span / (window.saturating_sub(oldest) + 1);
        let reads = u32::try_from(weight.max(1)).unwrap_or(u32::MAX);
        for run in runs(&samples, (span / pairs).min(REACH_MOST)) {
            let (from, to) = (run.first.max(first), (run.last + 1).min(end));
            for number in from.div_ceil(1 << PIECE)..to >> PIECE {
                self.tell((space, number), run.node, reads, (uses, now));
            }
        }
    }

    fn tell(&mut self, key: Key, node: NodeId, reads: u32, (uses, now): (&mut Vec<Use>, Now)) {
        // What came lately stays: coming and going costs more than it brings.
        let stays = |told: &(NodeId, u64)| told.0 == node || now.ns.saturating_sub(told.1) < now.stay_ns;
        if self.told.get(&key).is_some_and(stays) {
            return;
        }
        self.told.insert(key, (node, now.ns));
        let page = |p| PageId { space: key.0, page: (key.1 << PIECE) + p };
        uses.extend((0..1u64 << PIECE).map(|p| Use { page: page(p), pages: 1, node, reads, writes: 0 }));
    }

    /// Drops the samples of an area from before a window.
    fn drop_old(&mut self, (space, number): Key, since: u64) {
        let at = |number: u64| PageId { space, page: number << AREA };
        let old = |(id, l): (&PageId, &Last)| (l.window < since).then_some(*id);
        let old: Vec<PageId> = self.last.range(at(number)..at(number + 1)).filter_map(old).collect();
        old.iter().for_each(|id| _ = self.last.remove(id));
    }

    pub(super) fn forget_space(&mut self, space: u32) {
        self.last.retain(|id, _| id.space != space);
        self.fresh.retain(|k, _| k.0 != space);
        self.told.retain(|k, _| k.0 != space);
    }
}

/// The stretches between agreeing samples, in order. Where no other sample is near, their owner reaches `reach` pages farther.
fn runs(samples: &[(u64, Last)], reach: u64) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for pair in samples.windows(2) {
        let ((a, at_a), (b, at_b)) = (pair[0], pair[1]);
        if b - a > GAP_MOST || at_a.mixed || at_b.mixed || at_a.node != at_b.node {
            continue;
        }
        match runs.last_mut() {
            Some(run) if run.last == a => run.last = b,
            _ => runs.push(Run { first: a, last: b, node: at_a.node }),
        }
    }
    let far = |a: u64, b: u64| b - a > GAP_MOST;
    for run in &mut runs {
        let first = samples.partition_point(|s| s.0 < run.first);
        if first == 0 || far(samples[first - 1].0, run.first) {
            run.first = run.first.saturating_sub(reach);
        }
        let after = samples.partition_point(|s| s.0 <= run.last);
        if samples.get(after).is_none_or(|s| far(run.last, s.0)) {
            run.last += reach;
        }
    }
    runs
}

#[cfg(test)]
mod tests;
