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
const FORGET_AFTER: u64 = 20;

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
    pub(super) fn add(&mut self, used: &Use) {
        self.pages = self.pages.max(used.pages).clamp(1, LARGEST);
        let share = Share { node: used.node, reads: u64::from(used.reads), writes: u64::from(used.writes) };
        add(&mut self.by, share);
    }
    pub(super) fn weight(&self) -> u64 {
        self.by.iter().map(|s| s.reads.saturating_add(s.writes)).fold(0, u64::saturating_add)
    }
    /// The window as a policy sees it. Samples of a window have no order that matters, so the lightest come first: a
    /// policy that follows the last access then follows the heaviest user. A free read at the window's end lets policies
    /// that count windows decide now instead of at the next use.
    pub(super) fn accesses(&self, unit: u32, begin: u64, end: u64) -> Vec<Access> {
        let mut parts: Vec<(u64, NodeId, AccessKind)> = Vec::new();
        for s in &self.by {
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
    /// Use, halved at the end of each window.
    pub(super) heat: Vec<Share>,
    /// Windows in the heat, halved like it, in 1/1024: heat divided by it is the use of an average window.
    span: u64,
    pub(super) window: u64,
    /// Who was seen first to use it, and whether others did too.
    user: Option<NodeId>,
    pub(super) shared: bool,
    pub(super) history: History,
}

/// One window in [`Page::span`].
const ONE: u64 = 1024;

impl Page {
    /// Adds the use of a window to what is left of earlier ones.
    pub(super) fn warm(&mut self, seen: &Seen, window: u64) {
        let shift = u32::try_from(window.saturating_sub(self.window)).unwrap_or(63).min(63);
        let elapsed = if self.span == 0 { 1 } else { shift };
        (0..elapsed).for_each(|_| self.span = self.span / 2 + ONE);
        self.heat.iter_mut().for_each(|s| (s.reads, s.writes) = (s.reads >> shift, s.writes >> shift));
        self.heat.retain(|s| s.reads + s.writes > 0);
        seen.by.iter().for_each(|s| add(&mut self.heat, *s));
        for share in &seen.by {
            self.shared |= *self.user.get_or_insert(share.node) != share.node;
        }
        self.window = window;
    }
    /// Whether another node uses it more than its own does.
    pub(super) fn astray(&self) -> bool {
        let of = |s: &Share| s.reads.saturating_add(s.writes);
        let own: u64 = self.heat.iter().filter(|s| s.node == self.home).map(of).sum();
        self.heat.iter().any(|s| s.node != self.home && of(s) > own)
    }
    /// What an average window of late would cost less with the page at `to`.
    pub(super) fn gain(&self, machine: &Machine, to: NodeId, unit: u32) -> TotalCost {
        let gain = cost(machine, &self.heat, self.home, unit) - cost(machine, &self.heat, to, unit);
        TotalCost(gain.0.saturating_mul(i128::from(ONE)) / i128::from(self.span.max(ONE)))
    }
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
    unused_slots: Vec<u32>,
}

impl Pages {
    /// The page, new to the policy if it was not known or not at this home; true if somebody else has moved it.
    pub(super) fn meet(&mut self, id: PageId, pages: u32, home: NodeId, engine: &mut dyn BlockEngine) -> bool {
        if let Some(page) = self.known.get_mut(&id) {
            let moved = page.home != home;
            if moved || page.pages != pages {
                engine.reopen(page.slot, id.page, None);
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
            user: None,
            shared: false,
            history: History::default(),
        };
        self.known.insert(id, page);
        false
    }
    pub(super) fn forget(&mut self, id: PageId) {
        if let Some(page) = self.known.remove(&id) {
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
