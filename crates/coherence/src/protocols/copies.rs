//! Who has a copy, and what a write does to copies.
use crate::effects::{Effect, Effects};
use crate::history::Turn;
use homenode_base::{NodeId, NodeSet};
use homenode_placement::Access;

/// Processors with a copy of a page. The master copy is always current and none of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Copies {
    pub(super) holders: NodeSet,
}

impl Copies {
    /// Writes that go to all copies. Returns whether the writer has one.
    #[inline]
    pub(super) fn update(&self, access: &Access, master: bool, effects: &mut Effects) -> bool {
        let (times, holds) = (u64::from(access.weight), self.holders.contains(access.node));
        effects.add(if holds { Effect::Local } else { Effect::RemoteWrite }, times);
        let others = self.holders.len() as u64 - u64::from(holds);
        effects.add(Effect::Update, times * (others + u64::from(holds && master)));
        effects.add(Effect::Multicast, times * u64::from(others > 0));
        holds
    }

    /// Writes that leave no copy but the writer's own. Returns whether the writer has one, and whether another's went.
    #[inline]
    pub(super) fn invalidate(&mut self, access: &Access, master: bool, effects: &mut Effects) -> (bool, bool) {
        let (times, holds) = (u64::from(access.weight), self.holders.contains(access.node));
        effects.add(if holds { Effect::Local } else { Effect::RemoteWrite }, times);
        effects.add(Effect::Update, times * u64::from(holds && master));
        (holds, self.take(access.node, holds, effects))
    }

    /// Takes the copies of all others away. Whether there were any.
    #[inline]
    fn take(&mut self, node: NodeId, holds: bool, effects: &mut Effects) -> bool {
        let others = self.holders.len() as u64 - u64::from(holds);
        if others > 0 {
            effects.add(Effect::Invalidation, others);
            self.holders.clear();
            if holds {
                self.holders.insert(node);
            }
        }
        others > 0
    }

    /// A turn of a processor that has a copy, where writes go to all copies.
    #[inline]
    pub(super) fn update_turn(&self, turn: &Turn, master: bool, effects: &mut Effects) {
        effects.add(Effect::Local, turn.accesses());
        let others = self.holders.len() as u64 - 1;
        effects.add(Effect::Update, turn.writes * (others + u64::from(master)));
        effects.add(Effect::Multicast, turn.writes * u64::from(others > 0));
    }

    /// A turn of a processor that has a copy, where writes leave no other. Whether another's went.
    #[inline]
    pub(super) fn invalidate_turn(&mut self, turn: &Turn, master: bool, effects: &mut Effects) -> bool {
        effects.add(Effect::Local, turn.accesses());
        effects.add(Effect::Update, turn.writes * u64::from(master));
        turn.writes > 0 && self.take(turn.node, true, effects)
    }

    /// A turn of a processor that has no copy and makes none, where writes go to all copies.
    #[inline]
    pub(super) fn update_remotely(&self, turn: &Turn, effects: &mut Effects) {
        effects.add(Effect::RemoteRead, turn.reads);
        effects.add(Effect::RemoteWrite, turn.writes);
        let others = self.holders.len() as u64;
        effects.add(Effect::Update, turn.writes * others);
        effects.add(Effect::Multicast, turn.writes * u64::from(others > 0));
    }

    /// A turn of a processor that has no copy and makes none, where writes leave no copy. Whether one went.
    #[inline]
    pub(super) fn invalidate_remotely(&mut self, turn: &Turn, effects: &mut Effects) -> bool {
        effects.add(Effect::RemoteRead, turn.reads);
        effects.add(Effect::RemoteWrite, turn.writes);
        turn.writes > 0 && self.take(turn.node, false, effects)
    }
}
