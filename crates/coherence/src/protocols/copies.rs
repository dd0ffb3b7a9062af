//! Who has a copy, and what a write does to copies.
use crate::effects::{Effect, Effects};
use homenode_base::NodeSet;
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
        let others = self.holders.len() as u64 - u64::from(holds);
        if others > 0 {
            effects.add(Effect::Invalidation, others);
            self.holders.clear();
            if holds {
                self.holders.insert(access.node);
            }
        }
        (holds, others > 0)
    }
}
