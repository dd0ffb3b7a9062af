//! The local filter: a few references are held, one of them is drawn, the oldest of its processor goes on.
use super::reorder_buffer::{Out, ReorderBuffer};
use homenode_base::{Rng, VirtualTime};
use homenode_trace::{Event, Merged};

pub(super) struct Local {
    held: ReorderBuffer,
    most: u64,
    rng: Rng,
}

impl Local {
    pub(super) fn new(held: ReorderBuffer, most: usize, seed: u64) -> Local {
        Local { held, most: most as u64, rng: Rng::new(seed) }
    }
    pub(super) fn reference(&mut self, r: &Merged, out: &mut Out) {
        if self.held.refs() == self.most {
            self.draw(out);
        }
        self.held.hold_reference(r);
    }
    pub(super) fn event(&mut self, event: &Event, time: VirtualTime, out: &mut Out) {
        self.held.hold_event(event, time);
        self.held.settle(out, |_| true);
    }
    pub(super) fn finish(&mut self, out: &mut Out) {
        while self.held.oldest().is_some() {
            self.draw(out);
        }
    }

    /// Draws one of the references held by processors that wait for nothing and gives the oldest of its processor.
    fn draw(&mut self, out: &mut Out) {
        let able = |held: &ReorderBuffer, queue: &usize| held.can_give(*queue);
        let queues = 0..self.held.queues();
        let total: u64 = queues.clone().filter(|l| able(&self.held, l)).map(|l| self.held.refs_of(l)).sum();
        let mut drawn = self.rng.below(total);
        let chosen = queues.filter(|l| able(&self.held, l)).find(|l| {
            let here = self.held.refs_of(*l);
            let found = drawn < here;
            drawn = drawn.saturating_sub(here);
            found
        });
        // Nothing can go on only if the input was no legal order; the oldest goes on then.
        let Some(queue) = chosen.or_else(|| self.held.oldest()) else { return };
        self.held.give(queue, out);
        if self.held.needs_settling(queue) || chosen.is_none() {
            self.held.settle(out, |_| true);
        }
    }
}
