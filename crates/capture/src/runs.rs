//! Runs of references: what a ring holds between two events or ranges, handed over as slots of one reference each.
//!
//! Blocks are expanded, some at a time. Where the encoder's predictions go round a cycle, though, an iteration of blocks is the one before
//! it plus the strides of its references, word by word, and whether it is so is told without expanding it.
use crate::blocks::{Blocks, Definitions, Expanded};
use crate::sink::Sink;
use homenode_base::ring::*;
use homenode_trace::frame::RawRef;
use std::sync::Arc;

/// References that are expanded before it is asked whether they go round a cycle.
const CHUNK_REFS: usize = 12;

/// Hands over runs.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    blocks: Blocks,
    out: Expanded,
    /// Blocks and single references that were expanded one after another.
    units: Vec<Unit>,
    end: Unit,
    /// What an iteration adds to the slots of the one before, repeated; `period` slots are one iteration.
    steps: Vec<[u64; 2]>,
    period: usize,
    fresh: Vec<[u64; 2]>,
}

/// Where a block or a single reference stands in a run.
#[derive(Clone, Copy, Debug, Default)]
struct Unit {
    /// Slots before it.
    at: usize,
    /// References before it.
    refs: usize,
}

impl Runs {
    /// Runs of programs that write these blocks.
    pub(crate) fn of(definitions: Arc<Definitions>) -> Runs {
        Runs { blocks: Blocks::of(definitions), ..Runs::default() }
    }

    /// Hands over the references with which `slots` begin, up to an event or a range; how many slots they take, 0 if the first is a
    /// block that is not known.
    pub(crate) fn take(&mut self, slots: &[[u64; 2]], sink: &mut impl Sink) -> usize {
        self.end = Unit::default();
        self.units.clear();
        loop {
            let before = self.end.at;
            self.expand(slots);
            if self.end.at == before {
                return before;
            }
            hand_over(self.out.take(), sink);
            self.follow(slots, sink);
        }
    }

    /// Expands some of what comes next.
    fn expand(&mut self, slots: &[[u64; 2]]) {
        let enough = self.end.refs + CHUNK_REFS;
        while self.end.refs < enough {
            let used = self.one(&slots[self.end.at..]);
            if used == 0 {
                break;
            }
            self.units.push(self.end);
            let refs = slots.get(self.end.at).and_then(|slot| block_refs(slot[0])).unwrap_or(1);
            self.end = Unit { at: self.end.at + used, refs: self.end.refs + refs as usize };
        }
    }

    /// Expands the block or takes the reference with which `slots` begin; how many slots it has, 0 if it is neither.
    fn one(&mut self, slots: &[[u64; 2]]) -> usize {
        match slots.first() {
            Some([w0, _]) if w0 & (W0_BLOCK | W0_EVENT) == W0_BLOCK => {
                self.blocks.expand(slots, &mut self.out).unwrap_or(0)
            }
            Some(slot) => usize::from(RawRef::of_slot(slot).is_some() && self.out.push(*slot)),
            None => 0,
        }
    }

    /// Goes on as far as what follows are iterations like the last one.
    fn follow(&mut self, slots: &[[u64; 2]], sink: &mut impl Sink) {
        let Some(strides) = sink.strides() else { return };
        let (cycle, end) = (strides.len(), self.end);
        let Some(first) = self.units.iter().rposition(|u| end.refs - u.refs >= cycle) else { return };
        let begin = self.units[first];
        if end.refs - begin.refs != cycle {
            return;
        }
        self.set_steps(&slots[begin.at..end.at], strides);
        let rest = &slots[end.at..];
        let rest = &rest[..rest.len().min(self.steps.len())];
        let same = as_expected(rest, &slots[begin.at..begin.at + rest.len()], &self.steps[..rest.len()]);
        // Whole blocks only.
        let (whole, part) = (same / self.period, same % self.period);
        let inside = self.units[first..].iter().rfind(|u| u.at - begin.at <= part).unwrap_or(&begin);
        let refs = whole * cycle + inside.refs - begin.refs;
        let to = end.at + whole * self.period + inside.at - begin.at;
        let from = if whole > 0 { to - self.period } else { end.at };
        if refs > 0 && self.expand_all(slots, from, to) {
            sink.follow(refs, self.out.take());
            self.units.clear();
            self.end = Unit { at: to, refs: 0 };
        }
    }

    /// Expands what stands between two places; false if it is not known, which it was.
    fn expand_all(&mut self, slots: &[[u64; 2]], from: usize, to: usize) -> bool {
        let mut at = from;
        while at < to {
            match self.one(&slots[at..]) {
                0 => {
                    self.out.take();
                    return false;
                }
                used => at += used,
            }
        }
        true
    }

    /// The steps from one iteration to the next, of which `iteration` is one and `strides` has what each reference adds.
    fn set_steps(&mut self, iteration: &[[u64; 2]], strides: &[[u64; 2]]) {
        self.fresh.clear();
        self.fresh.resize(iteration.len(), [0; 2]);
        let (mut at, mut strides) = (0, strides.iter().map(|step| step[0]));
        while let Some(slot) = iteration.get(at) {
            let (refs, used, header) = match block_refs(slot[0]) {
                Some(refs) => (refs as usize, block_slots(refs) as usize, 1),
                None => (1, 1, 0),
            };
            let words = self.fresh[at..].as_flattened_mut();
            words.iter_mut().skip(header).zip(strides.by_ref().take(refs)).for_each(|(word, stride)| *word = stride);
            at += used;
        }
        if self.period != self.fresh.len() || self.steps.get(..self.period) != Some(&self.fresh[..]) {
            self.period = self.fresh.len();
            self.steps.clear();
            self.steps.extend(self.fresh.iter().cycle().take(BATCH_SLOTS as usize));
        }
    }
}

fn hand_over(mut refs: &[[u64; 2]], sink: &mut impl Sink) {
    while let [first, rest @ ..] = refs {
        let taken = sink.run(refs);
        refs = &refs[taken..];
        if taken == 0 {
            RawRef::of_slot(first).into_iter().for_each(|r| sink.reference(r.addr, r.size, r.op, r.pc));
            refs = rest;
        }
    }
}
