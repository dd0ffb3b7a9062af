//! What the policies that replicate share: what is known to hold a block, and how that changes.
use super::place_somewhere;
use crate::access::Access;
use crate::policy::{BlockContext, Outcome, Sink};
use homenode_base::{NodeId, NodeSet};
use homenode_machine::{AccessClass, Location};

/// What is known to hold a block.
#[derive(Clone, Default)]
pub(super) struct Copies {
    /// Nodes with a copy.
    pub(super) nodes: NodeSet,
    /// Whether global memory holds a valid copy.
    pub(super) global: bool,
    /// Node that wrote last (or touched first): its copy stays where only one can.
    pub(super) keeper: NodeId,
}

impl Copies {
    pub(super) fn holds(&self, at: Location) -> bool {
        match at {
            Location::Node(n) => self.nodes.contains(n),
            Location::Global => self.global,
        }
    }
    fn set(&mut self, at: Location, held: bool) {
        match at {
            Location::Node(n) if held => _ = self.nodes.insert(n),
            Location::Node(n) => _ = self.nodes.remove(n),
            Location::Global => self.global = held,
        }
    }
    pub(super) fn count(&self) -> usize {
        self.nodes.len() + usize::from(self.global)
    }
    /// A valid copy to read from: the node's own, global, the keeper's, any. `None` only before the first placement.
    pub(super) fn nearest(&self, node: NodeId) -> Option<Location> {
        let global = self.global.then_some(Location::Global);
        let held = |n: NodeId| self.nodes.contains(n).then_some(Location::Node(n));
        held(node).or(global).or(held(self.keeper)).or(self.nodes.first().map(Location::Node))
    }
    /// The copy that stays where only one can, on a node if there is one there: the keeper's, else the lowest node's.
    pub(super) fn kept(&self) -> Option<Location> {
        let node = if self.nodes.contains(self.keeper) { Some(self.keeper) } else { self.nodes.first() };
        node.map(Location::Node).or(self.global.then_some(Location::Global))
    }
    /// The only copy; `None` if there are several.
    fn only(&self) -> Option<Location> {
        if self.count() == 1 { self.kept() } else { None }
    }
    /// Where the only copy is if that is on this node: nothing that its processors do is a fault then.
    pub(super) fn only_of(&self, node: NodeId) -> Option<Location> {
        (self.count() == 1 && self.nodes.contains(node)).then_some(Location::Node(node))
    }
    /// Whether a write by this node is an invalidation: by a node without a copy, or with several nodes' copies present.
    pub(super) fn invalidated_by(&self, writer: NodeId) -> bool {
        self.nodes.len() != 1 || !self.nodes.contains(writer)
    }
    /// Whether an access faults on a block that is not frozen: a read without a copy, a write unless the writer's copy is
    /// the only one.
    #[inline]
    pub(super) fn faults(&self, access: &Access) -> bool {
        let held = self.nodes.contains(access.node);
        !held || (access.kind == crate::AccessKind::Write && self.count() != 1)
    }
    /// Whether a write-back is served where the block is: it is a cache's doing, no page fault, if it need not be one.
    pub(super) fn takes_write_back(&self, block: &BlockContext<'_>, access: &Access) -> bool {
        let reachable = block.machine.cost.remote_access || self.nodes.contains(access.node);
        access.class == AccessClass::WriteBack && self.count() == 1 && (reachable || self.global)
    }
    /// Places the block at its first toucher, or where that succeeds; `None` if nowhere.
    pub(super) fn place(
        &mut self,
        block: &BlockContext<'_>,
        toucher: NodeId,
        sink: &mut impl Sink,
    ) -> Option<Location> {
        let at = place_somewhere(block.machine, Location::Node(toucher), sink)?;
        self.set(at, true);
        self.keeper = toucher;
        Some(at)
    }
    /// A second first placement, in global memory (allowed if the first access is a read).
    pub(super) fn place_global(&mut self, sink: &mut impl Sink) {
        self.global = sink.place(Location::Global) == Outcome::Done;
    }
    /// Adds a copy at `to` unless there is one, from global memory if that has one; false if that failed.
    pub(super) fn add(&mut self, to: Location, sink: &mut impl Sink) -> bool {
        if self.holds(to) {
            return true;
        }
        let from = if self.global { Some(Location::Global) } else { self.kept() };
        let done = from.is_some_and(|from| sink.replicate(from, to) == Outcome::Done);
        self.set(to, done);
        done
    }
    /// Drops every copy but the one at `kept`; what cannot be dropped stays known.
    pub(super) fn keep_only(&mut self, kept: Location, sink: &mut impl Sink) {
        let nodes: Vec<Location> = self.nodes.iter().map(Location::Node).collect();
        for at in nodes.into_iter().chain(self.global.then_some(Location::Global)) {
            if at != kept && sink.drop_copy(at) == Outcome::Done {
                self.set(at, false);
            }
        }
    }
    /// Moves the only copy to `to`; false if that failed.
    fn relocate(&mut self, from: Location, to: Location, sink: &mut impl Sink) -> bool {
        let done = sink.migrate(from, to) == Outcome::Done;
        if done {
            self.set(from, false);
            self.set(to, true);
        }
        done
    }
    /// The writer's node becomes the only holder; false if that failed, and then one copy stays. The path of a move
    /// between nodes leads through global memory if `through_global`.
    pub(super) fn take(&mut self, writer: NodeId, through_global: bool, sink: &mut impl Sink) -> bool {
        let here = Location::Node(writer);
        let taken = match self.only() {
            Some(from @ Location::Node(_)) if from != here && through_global => {
                self.relocate(from, Location::Global, sink) && self.relocate(Location::Global, here, sink)
            }
            Some(from) if from != here => self.relocate(from, here, sink),
            _ => self.add(here, sink),
        };
        // The write must find one copy only, whatever came of it.
        let kept = if taken { Some(here) } else { self.nearest(self.keeper) };
        if let Some(kept) = kept {
            self.keep_only(kept, sink);
        }
        if taken {
            self.keeper = writer;
        }
        taken
    }
    /// Global memory becomes the only holder; false if that failed, and then one copy stays.
    pub(super) fn retire(&mut self, sink: &mut impl Sink) -> bool {
        let retired = match self.only() {
            Some(from @ Location::Node(_)) => self.relocate(from, Location::Global, sink),
            _ => self.add(Location::Global, sink),
        };
        let kept = if retired { Some(Location::Global) } else { self.nearest(self.keeper) };
        if let Some(kept) = kept {
            self.keep_only(kept, sink);
        }
        retired
    }
    /// One copy stays where it is, on a node if there is one there. False if there is none at all.
    pub(super) fn stay(&mut self, sink: &mut impl Sink) -> bool {
        let Some(kept) = self.kept() else { return false };
        self.keep_only(kept, sink);
        true
    }
}
