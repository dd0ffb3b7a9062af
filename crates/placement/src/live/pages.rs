//! What is known of pages: their place in the policy's table, recent use, and history.
use super::event::{PageId, Use};
use super::guard::History;
use crate::access::{Access, AccessKind};
use crate::engine::BlockEngine;
use crate::policy::{Outcome, Sink};
use homenode_base::{NodeId, TotalCost, VirtualTime};
use homenode_machine::{AccessClass, Location, Machine};
use std::collections::BTreeMap;

/// Small pages in the largest huge page there is (1 GiB).
const LARGEST: u32 = 1 << 18;
/// Windows without use after which a page that never moved is forgotten.
const FORGET_AFTER: u64 = 300;

/// Reads and writes of one node, in units of evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) node: NodeId,
    pub(super) reads: u64,
    pub(super) writes: u64,
}

/// Use of a page in one window.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) pages: u32,
    pub(super) by: Vec<Share>,
    /// Use in earlier windows in which there was no time for the move that it speaks for: the policy has not heard of it
    /// yet, everything else has.
    pub(super) carried: Vec<Share>,
    /// First window of [`Seen::by`], for pages that wait for their turn.
    pub(super) since: u64,
    /// Whether this is what many samples say, of the page and of its neighbours: then one look is worth two.
    pub(super) sure: bool,
    /// Whether that is only said by its neighbours.
    pub(super) follows: bool,
}

fn add(shares: &mut Vec<Share>, share: Share) {
    match shares.iter_mut().find(|s| s.node == share.node) {
        Some(s) => {
            s.reads = s.reads.saturating_add(share.reads);
            s.writes = s.writes.saturating_add(share.writes);
        }
        None => shares.push(share),
    }
}

impl Seen {
    pub(super) fn add(&mut self, used: &Use, window: u64) {
        if self.by.is_empty() {
            self.since = window;
        }
        self.pages = self.pages.max(used.pages).clamp(1, LARGEST);
        self.follows = false;
        self.sure &= self.by.iter().all(|s| s.node == used.node);
        let share = Share { node: used.node, reads: u64::from(used.reads), writes: u64::from(used.writes) };
        add(&mut self.by, share);
    }
    /// All of it is known now, but to the policy.
    pub(super) fn carry(mut self) -> Seen {
        let by = std::mem::take(&mut self.by);
        by.into_iter().for_each(|share| add(&mut self.carried, share));
        self
    }
    /// Adds what was carried from before.
    pub(super) fn join(&mut self, before: Seen) {
        self.pages = self.pages.max(before.pages);
        self.carried = before.carried;
    }
    pub(super) fn weight(&self) -> u64 {
        self.by.iter().map(|s| s.reads.saturating_add(s.writes)).fold(0, u64::saturating_add)
    }
    /// The window as a policy sees it. Samples of a window have no order that matters, so the lightest come first: a
    /// policy that follows the last access then follows the heaviest user. A free read at the window's end lets policies
    /// that count windows decide now instead of at the next use.
    pub(super) fn accesses(&self, unit: u32, begin: u64, end: u64) -> Vec<Access> {
        if self.sure {
            // As if the window before had looked the same.
            let before = begin.saturating_sub(end - begin);
            let once = Seen { sure: false, ..self.clone() };
            return [once.accesses(unit, before, begin), once.accesses(unit, begin, end)].concat();
        }
        let mut parts: Vec<(u64, NodeId, AccessKind)> = Vec::new();
        let mut all = self.carried.clone();
        self.by.iter().for_each(|share| add(&mut all, *share));
        for s in &all {
            parts.push((s.reads, s.node, AccessKind::Read));
            parts.push((s.writes, s.node, AccessKind::Write));
        }
        parts.retain(|p| p.0 > 0);
        parts.sort_by_key(|p| (p.0, p.1, p.2 == AccessKind::Write));
        let class = |k: AccessKind| if k == AccessKind::Read { AccessClass::Read } else { AccessClass::Write };
        let access = |&(weight, node, kind): &(u64, NodeId, AccessKind)| {
            let weight = u32::try_from(weight.saturating_mul(u64::from(unit))).unwrap_or(u32::MAX);
            Access { node, kind, class: class(kind), weight, t: VirtualTime(begin) }
        };
        let mut accesses: Vec<Access> = parts.iter().map(access).collect();
        if let Some(last) = accesses.last().copied() {
            let (kind, class, t) = (AccessKind::Read, AccessClass::Free, VirtualTime(end));
            accesses.push(Access { kind, class, weight: 0, t, ..last });
        }
        accesses
    }
}

/// One page.
#[derive(Clone, Debug)]
pub(super) struct Page {
    pub(super) slot: u32,
    pub(super) pages: u32,
    pub(super) home: NodeId,
    /// Use in 1/[`ONE`], halved at the end of each window, or of each window with use where evidence comes round.
    pub(super) heat: Vec<Share>,
    /// Windows in the heat, halved like it, in 1/[`ONE`]: heat divided by it is the use of an average window.
    span: u64,
    /// The last window with use.
    pub(super) window: u64,
    /// Windows with use of which the policy knows.
    pub(super) looks: u64,
    /// At its last look the page was proposed elsewhere and could not be moved for a reason that lasts.
    pub(super) held: bool,
    /// At its last look it was away from its user and could be moved.
    stray: bool,
    /// Who was seen first to use it, and whether others did too.
    user: Option<NodeId>,
    pub(super) shared: bool,
    pub(super) history: History,
}

/// Fixed point of heat and span: what is halved again and again must not vanish at once because it is a small number.
const ONE: u64 = 1024;

impl Page {
    /// Adds the use of a window to what is left of earlier ones.
    pub(super) fn warm(&mut self, seen: &Seen, window: u64, comes_round: bool) {
        let passed = if comes_round { 1 } else { window.saturating_sub(self.window) };
        let shift = u32::try_from(passed).unwrap_or(63).min(63);
        let elapsed = if self.span == 0 { 1 } else { shift };
        (0..elapsed).for_each(|_| self.span = self.span / 2 + ONE);
        self.heat.iter_mut().for_each(|s| (s.reads, s.writes) = (s.reads >> shift, s.writes >> shift));
        self.heat.retain(|s| s.reads + s.writes > 0);
        let fixed = |s: &Share| Share { reads: fixed(s.reads), writes: fixed(s.writes), ..*s };
        seen.by.iter().for_each(|s| add(&mut self.heat, fixed(s)));
        for share in &seen.by {
            self.shared |= *self.user.get_or_insert(share.node) != share.node;
        }
        self.window = window;
    }
    /// Small pages that are stray.
    fn stray_pages(&self) -> u64 {
        if self.stray { u64::from(self.pages) } else { 0 }
    }
    /// Another node that uses it more than its own does.
    pub(super) fn astray(&self) -> Option<NodeId> {
        let of = |s: &Share| s.reads.saturating_add(s.writes);
        let own: u64 = self.heat.iter().filter(|s| s.node == self.home).map(of).sum();
        let most = self.heat.iter().filter(|s| s.node != self.home).max_by_key(|s| (of(s), std::cmp::Reverse(s.node)));
        most.filter(|s| of(s) > own).map(|s| s.node)
    }
    /// What an average window of late would cost less with the page at `to`. Where evidence comes round, a huge page is
    /// asked about once where its parts would have been asked about one by one: it counts for all of them.
    pub(super) fn gain(&self, machine: &Machine, to: NodeId, config: &super::Config) -> TotalCost {
        let unit = config.accesses_per_unit;
        let gain = cost(machine, &self.heat, self.home, unit) - cost(machine, &self.heat, to, unit);
        let parts = if config.comes_round { self.pages } else { 1 };
        // Both are fixed-point numbers, so the point cancels.
        TotalCost(gain.0.saturating_mul(i128::from(parts)) / i128::from(self.span.max(ONE)))
    }
}

fn fixed(n: u64) -> u64 {
    n.saturating_mul(ONE)
}

/// What these accesses cost at a home.
pub(super) fn cost(machine: &Machine, shares: &[Share], home: NodeId, unit: u32) -> TotalCost {
    let times = |n: u64| n.saturating_mul(u64::from(unit));
    let of = |s: &Share| {
        machine.access(AccessClass::Read, s.node, Location::Node(home)).times(times(s.reads))
            + machine.access(AccessClass::Write, s.node, Location::Node(home)).times(times(s.writes))
    };
    shares.iter().map(of).sum()
}

/// All known pages. Ordered, so that the same events give the same decisions.
#[derive(Default)]
pub(super) struct Pages {
    pub(super) known: BTreeMap<PageId, Page>,
    /// Small pages in them, and in those that were stray at their last look.
    small: u64,
    strays: u64,
    unused_slots: Vec<u32>,
}

impl Pages {
    /// The page, new to the policy if it was not known or not at this home; true if somebody else has moved it.
    pub(super) fn meet(&mut self, id: PageId, pages: u32, home: NodeId, engine: &mut dyn BlockEngine) -> bool {
        if let Some(page) = self.known.get_mut(&id) {
            let moved = page.home != home;
            if moved || page.pages != pages {
                engine.reopen(page.slot, id.page, None);
                self.small = self.small + u64::from(pages) - u64::from(page.pages);
                self.strays -= page.stray_pages();
                page.stray = false;
                (page.home, page.pages) = (home, pages);
            }
            return moved;
        }
        let slot = match self.unused_slots.pop() {
            Some(slot) => {
                engine.reopen(slot, id.page, None);
                slot
            }
            None => engine.open(id.page, None),
        };
        let page = Page {
            slot,
            pages,
            home,
            heat: Vec::new(),
            span: 0,
            window: 0,
            looks: 0,
            held: false,
            stray: false,
            user: None,
            shared: false,
            history: History::default(),
        };
        self.small += u64::from(pages);
        self.known.insert(id, page);
        false
    }
    /// Judges a page at the end of a look: its user, if it is away from it and could be moved.
    pub(super) fn judge(&mut self, now_ns: u64, id: PageId) -> Option<NodeId> {
        let page = self.known.get_mut(&id)?;
        let user = page.astray().filter(|_| !page.held && !page.history.frozen(now_ns));
        self.strays -= page.stray_pages();
        page.stray = user.is_some();
        self.strays += page.stray_pages();
        user
    }
    /// Whether more than one small page in 64 waits for its next look to move: evidence may come round so rarely that the pages
    /// looked at of late are all at home.
    pub(super) fn many_wait(&self) -> bool {
        self.strays > self.small / 64
    }
    pub(super) fn forget(&mut self, id: PageId) {
        if let Some(page) = self.known.remove(&id) {
            self.strays -= page.stray_pages();
            self.small -= u64::from(page.pages);
            self.unused_slots.push(page.slot);
        }
    }
    pub(super) fn forget_space(&mut self, space: u32) {
        let range = PageId { space, page: 0 }..=PageId { space, page: u64::MAX };
        let ids: Vec<PageId> = self.known.range(range).map(|(id, _)| *id).collect();
        ids.into_iter().for_each(|id| self.forget(id));
    }
    /// Forgets what has long been out of use.
    pub(super) fn sweep(&mut self, window: u64) {
        let old = |p: &Page| window.saturating_sub(p.window) > FORGET_AFTER && p.history.is_blank();
        let ids: Vec<PageId> = self.known.iter().filter(|(_, p)| old(p)).map(|(id, _)| *id).collect();
        ids.into_iter().for_each(|id| self.forget(id));
    }
}

/// A block that exists once and is where the kernel says. In the first pass every move succeeds and is only noted; in the
/// second they succeed if the batch moved the page.
pub(super) struct Real {
    pub(super) home: Location,
    pub(super) moves_succeed: bool,
}

impl Sink for Real {
    fn place(&mut self, at: Location) -> Outcome {
        if at == self.home { Outcome::Done } else { Outcome::Failed }
    }
    fn replicate(&mut self, _: Location, _: Location) -> Outcome {
        // The kernel keeps one copy of a page of data.
        Outcome::Failed
    }
    fn migrate(&mut self, _: Location, to: Location) -> Outcome {
        let possible = matches!(to, Location::Node(_));
        if possible && self.moves_succeed { Outcome::Done } else { Outcome::Failed }
    }
    fn drop_copy(&mut self, _: Location) -> Outcome {
        Outcome::Done
    }
}
