//! The gap filter: now and then one processor stands still for a while and then catches up.
//!
//! The processor is drawn uniformly, gaps may overlap, and what is queued at the end is given in random order of
//! processors; the source leaves these three open.
use super::reorder_buffer::{Out, ReorderBuffer};
use homenode_base::{Rng, VirtualTime};
use homenode_trace::{Event, Merged};

pub(super) struct Gap {
    held: ReorderBuffer,
    one_in: u64,
    length: u64,
    catch_up: (u64, u64),
    rng: Rng,
    /// References that came in.
    fresh: u64,
    /// Last reference of each processor's gap, by [`Gap::fresh`]; 0 if there is none.
    until: Vec<u64>,
    /// The first end of a running gap.
    next_end: u64,
}

impl Gap {
    pub(super) fn new(held: ReorderBuffer, one_in: u64, length: u64, catch_up: (u32, u32), seed: u64) -> Gap {
        let catch_up = (catch_up.0.into(), catch_up.1.into());
        let until = vec![0; held.queues()];
        Gap { held, one_in, length, catch_up, rng: Rng::new(seed), fresh: 0, until, next_end: u64::MAX }
    }

    pub(super) fn reference(&mut self, r: &Merged, out: &mut Out) {
        self.catch_up(out);
        self.fresh += 1;
        if self.fresh > self.next_end {
            self.end_gaps(out);
        }
        if self.rng.chance(1, self.one_in) {
            let queue = self.rng.below(self.held.queues() as u64) as usize;
            self.until[queue] = self.fresh - 1 + self.length;
            self.note_next_end();
        }
        let queue = self.held.queue(r.thread);
        if self.until[queue] < self.fresh && self.held.passes(r) {
            out.reference(r);
        } else {
            self.held.hold_reference(r);
        }
    }
    pub(super) fn event(&mut self, event: &Event, time: VirtualTime, out: &mut Out) {
        self.held.hold_event(event, time);
        self.settle(self.fresh + 1, out);
    }
    pub(super) fn finish(&mut self, out: &mut Out) {
        self.until.fill(0);
        self.settle(self.fresh + 1, out);
        while let Some(oldest) = self.held.oldest() {
            let queue = self.draw().unwrap_or(oldest);
            self.held.give(queue, out);
            self.settle(self.fresh + 1, out);
        }
    }

    /// While something is queued that can go on, gives it or not, as the coin falls.
    fn catch_up(&mut self, out: &mut Out) {
        while self.held.refs() > 0 {
            let Some(queue) = self.draw() else { return };
            if !self.rng.chance(self.catch_up.0, self.catch_up.1) {
                return;
            }
            self.held.give(queue, out);
            if self.held.needs_settling(queue) {
                self.settle(self.fresh + 1, out);
            }
        }
    }
    /// One of the processors that stand in no gap and whose next reference is queued and waits for nothing.
    fn draw(&mut self) -> Option<usize> {
        let able = |l: &usize| self.until[*l] <= self.fresh && self.held.can_give(*l);
        let count = (0..self.held.queues()).filter(able).count() as u64;
        let drawn = self.rng.below(count) as usize;
        (0..self.held.queues()).filter(able).nth(drawn)
    }
    /// Gives the events that wait for nothing, on processors that stand in no gap when reference number `at` comes in.
    fn settle(&mut self, at: u64, out: &mut Out) {
        let until = &self.until;
        self.held.settle(out, |queue| until[queue] < at);
    }
    fn end_gaps(&mut self, out: &mut Out) {
        self.note_next_end();
        self.settle(self.fresh, out);
    }
    fn note_next_end(&mut self) {
        self.next_end = self.until.iter().filter(|u| **u >= self.fresh).min().copied().unwrap_or(u64::MAX);
    }
}
