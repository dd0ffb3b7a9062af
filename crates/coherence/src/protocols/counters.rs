//! The hardware counter: a page is copied only after so many remote reads.
//!
//! The text sets it to an eighth of the page's bytes and lets every access count. The printed tables contradict that: in
//! all 84 rows with counters it is an eighth of the page's words, and reads alone count. That is the default.
use super::copies::Copies;
use super::{Param, switch};
use crate::effects::{Effect, Effects, words};
use crate::history::Turn;
use homenode_base::NodeId;
use homenode_placement::{Access, AccessKind};

pub(super) static C: Param = Param {
    name: "c",
    summary: "reads of a remote page until it is copied, the last one contained; 0: an eighth of the page's words",
    default: 0,
    min: 0,
    max: u32::MAX,
    variant: true,
};
pub(super) static EVERY: Param =
    switch("every", "1: writes count too, and c = 0 means an eighth of the page's bytes, as the text says");

/// Where counters begin, and what lowers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// The c-th read makes the copy; at least 1.
    pub start: u32,
    /// Whether writes count too. They never make the copy.
    pub every: bool,
}

impl Counter {
    /// From the values of `c` and `every`, for pages of so many bytes.
    pub fn new(c: u32, every: bool, page_bytes: u64) -> Counter {
        let eighth = if every { page_bytes / 8 } else { words(page_bytes) / 8 };
        let start = if c == 0 { u32::try_from(eighth).unwrap_or(u32::MAX).max(1) } else { c };
        Counter { start, every }
    }
}

/// The counters of a page's processors.
#[derive(Clone, Debug, Default)]
pub(super) struct Counters {
    /// Reads left until a copy is made, by processor; 0 of those that do not map the page remotely.
    left: Vec<u32>,
}

impl Counters {
    /// As before the first access.
    pub(super) fn reset(&mut self) {
        self.left.clear();
    }
    #[inline]
    pub(super) fn is_mapped(&self, node: NodeId) -> bool {
        self.left.get(node.index()).is_some_and(|left| *left > 0)
    }
    /// Reads until the copy, that one contained.
    #[inline]
    pub(super) fn left(&self, node: NodeId, counter: Counter) -> u32 {
        self.left.get(node.index()).copied().filter(|left| *left > 0).unwrap_or(counter.start)
    }
    #[inline]
    fn set(&mut self, node: NodeId, left: u32) {
        if self.left.len() <= node.index() {
            self.left.resize(node.index() + 1, 0);
        }
        self.left[node.index()] = left;
    }
    /// Remote reads, fewer than are left.
    #[inline]
    pub(super) fn count(&mut self, access: &Access, counter: Counter) {
        let left = self.left(access.node, counter);
        self.set(access.node, left - access.weight.min(left - 1));
    }
    /// Remote writes: the page is mapped by then.
    #[inline]
    pub(super) fn write(&mut self, access: &Access, counter: Counter) {
        if counter.every {
            self.count(access, counter);
        } else {
            self.map(access.node, counter);
        }
    }
    /// The page is mapped, if it was not.
    #[inline]
    pub(super) fn map(&mut self, node: NodeId, counter: Counter) {
        if !self.is_mapped(node) {
            self.set(node, counter.start);
        }
    }
    /// A turn by a processor without a copy, where reads alone count: the read at which its counter runs out, if it does.
    #[inline]
    pub(super) fn turn(&mut self, turn: &Turn, counter: Counter) -> Option<u64> {
        let left = u64::from(self.left(turn.node(), counter));
        if turn.reads() < left {
            self.set(turn.node(), left as u32 - turn.reads() as u32);
            return None;
        }
        self.unmap(turn.node());
        Some(left.max(1))
    }
    /// The processor maps the page no more, or has a copy.
    #[inline]
    pub(super) fn unmap(&mut self, node: NodeId) {
        if let Some(left) = self.left.get_mut(node.index()) {
            *left = 0;
        }
    }
    /// All but the writer begin to count anew.
    pub(super) fn restart(&mut self, writer: NodeId) {
        for (node, left) in self.left.iter_mut().enumerate() {
            *left *= u32::from(node == writer.index());
        }
    }
    /// How many accesses by a processor without a copy are alike: the reads before the one that makes the copy, or that one.
    #[inline]
    pub(super) fn together(&self, access: &Access, counter: Counter) -> u32 {
        match (access.kind, self.left(access.node, counter)) {
            (AccessKind::Write, _) => access.weight,
            (AccessKind::Read, 0 | 1) => 1,
            (AccessKind::Read, left) => access.weight.min(left - 1),
        }
    }
}

/// Copies of a page that are made when a counter has run out.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    pub(super) copies: Copies,
    pub(super) counters: Counters,
}

impl Counted {
    /// How many equal accesses do the same.
    #[inline]
    pub(super) fn together(&self, access: &Access, counter: Counter) -> u32 {
        match self.copies.holders.contains(access.node) {
            true => access.weight,
            false => self.counters.together(access, counter),
        }
    }
    /// Reads of the own copy, of the master copy while the processor counts, or the one that makes the copy.
    #[inline]
    pub(super) fn read(&mut self, access: &Access, counter: Counter, effects: &mut Effects) {
        let Counted { copies, counters } = self;
        if copies.holders.contains(access.node) {
            effects.add(Effect::Local, access.weight.into());
        } else if counters.left(access.node, counter) > 1 {
            counters.count(access, counter);
            effects.add(Effect::RemoteRead, access.weight.into());
        } else {
            counters.unmap(access.node);
            copies.insert(access.node);
            effects.add(Effect::FetchMapped, 1);
        }
    }
    /// As before the first access.
    pub(super) fn reset(&mut self) {
        self.copies.clear();
        self.counters.reset();
    }
}
