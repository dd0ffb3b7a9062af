//! Who has a copy, and what a write does to copies.
use crate::effects::{Effect, Effects};
use crate::history::Turn;
use homenode_base::{NodeId, NodeSet};
use homenode_placement::Access;

/// Processors with a copy of a page. The master copy is always current and none of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Copies {
    pub(super) holders: NodeSet,
    /// How many there are.
    count: u32,
}

impl Copies {
    /// A copy more, if the processor has none; true if it had none.
    #[inline]
    pub(super) fn insert(&mut self, node: NodeId) -> bool {
        let new = self.holders.insert(node);
        self.count += u32::from(new);
        new
    }
    /// Whether there is no copy.
    #[inline]
    pub(super) fn none(&self) -> bool {
        self.count == 0
    }
    /// No copies.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.holders.clear();
        self.count = 0;
    }
    /// Writes that go to all copies. Returns whether the writer has one.
    #[inline]
    pub(super) fn update(&self, access: &Access, master: bool, effects: &mut Effects) -> bool {
        let (times, holds) = (u64::from(access.weight), self.holders.contains(access.node));
        effects.add(if holds { Effect::Local } else { Effect::RemoteWrite }, times);
        let others = self.others(holds);
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
        let others = self.others(holds);
        if others > 0 {
            effects.add(Effect::Invalidation, others);
            self.clear();
            if holds {
                self.insert(node);
            }
        }
        others > 0
    }

    /// A turn of a processor that has a copy, where writes go to all copies.
    #[inline]
    pub(super) fn update_turn(&self, turn: &Turn, master: bool, effects: &mut Effects) {
        effects.add(Effect::Local, turn.accesses());
        if turn.writes() > 0 {
            self.packets(turn, self.others(true), effects);
            effects.add(Effect::Update, turn.writes() * u64::from(master));
        }
    }

    /// A turn of a processor that has a copy, where writes leave no other. Whether another's went.
    #[inline]
    pub(super) fn invalidate_turn(&mut self, turn: &Turn, master: bool, effects: &mut Effects) -> bool {
        effects.add(Effect::Local, turn.accesses());
        effects.add(Effect::Update, turn.writes() * u64::from(master));
        turn.writes() > 0 && self.take(turn.node(), true, effects)
    }

    /// A turn of a processor that has no copy and makes none, where writes go to all copies.
    #[inline]
    pub(super) fn update_remotely(&self, turn: &Turn, effects: &mut Effects) {
        effects.add(Effect::RemoteRead, turn.reads());
        effects.add(Effect::RemoteWrite, turn.writes());
        if turn.writes() > 0 {
            self.packets(turn, self.others(false), effects);
        }
    }

    /// A turn of a processor that has no copy and makes none, where writes leave no copy. Whether one went.
    #[inline]
    pub(super) fn invalidate_remotely(&mut self, turn: &Turn, effects: &mut Effects) -> bool {
        effects.add(Effect::RemoteRead, turn.reads());
        effects.add(Effect::RemoteWrite, turn.writes());
        turn.writes() > 0 && self.take(turn.node(), false, effects)
    }

    /// A turn of a processor that makes its copy at the `nth` read of it, where writes go to all copies.
    #[inline]
    pub(super) fn update_copying(&mut self, turn: &Turn, nth: u64, made: Made, effects: &mut Effects) {
        if turn.writes() > 0 {
            self.packets(turn, self.others(false), effects);
        }
        made.count(turn, nth, effects);
        self.insert(turn.node());
    }

    /// A turn of a processor that makes its copy at the `nth` read of it, where writes leave no other. Whether another's went.
    #[inline]
    pub(super) fn invalidate_copying(&mut self, turn: &Turn, nth: u64, made: Made, effects: &mut Effects) -> bool {
        made.count(turn, nth, effects);
        let taken = turn.writes() > 0 && self.take(turn.node(), false, effects);
        self.insert(turn.node());
        taken
    }

    /// Copies of others than a processor, which has one or not.
    #[inline]
    fn others(&self, holds: bool) -> u64 {
        u64::from(self.count) - u64::from(holds)
    }

    /// Packets of the writes of a turn to so many others.
    #[inline]
    fn packets(&self, turn: &Turn, others: u64, effects: &mut Effects) {
        effects.add(Effect::Update, turn.writes() * others);
        effects.add(Effect::Multicast, turn.writes() * u64::from(others > 0));
    }
}

/// How a copy is made in a turn.
#[derive(Clone, Copy)]
pub(super) struct Made {
    /// [`Effect::Fetch`] or [`Effect::FetchMapped`].
    pub(super) by: Effect,
    /// Whether writes to the copy also go to the master copy.
    pub(super) master: bool,
}

impl Made {
    /// What the processor does by itself: from afar before the `nth` read, which makes the copy, and at home after it.
    #[inline]
    fn count(self, turn: &Turn, nth: u64, effects: &mut Effects) {
        let (before, after) = (turn.writes_before(nth), turn.reads() - nth);
        let local = turn.writes() - before;
        effects.add(Effect::RemoteRead, nth - 1);
        effects.add(Effect::RemoteWrite, before);
        effects.add(self.by, 1);
        effects.add(Effect::Local, after + local);
        effects.add(Effect::Update, local * u64::from(self.master));
    }
}
