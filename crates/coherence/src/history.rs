//! The history of a page in turns: what one processor did between others.
//!
//! Nearly all of a turn does the same whatever its order is, since nobody else is there: protocols take it at once where
//! that is so ([`Protocol::turn`](crate::Protocol::turn)), and step by step elsewhere.
use homenode_base::{NodeId, VirtualTime};
use homenode_placement::{AccessKind, Step};
use std::ops::Range;

/// When accesses were made.
pub trait Clocks {
    /// Time of an access that a step (by its place) stands for; 0 is the first one, whose time the step carries too.
    fn time(&self, step: usize, nth: u64) -> VirtualTime;
}

/// Clocks of steps that stand for one access each, or whose times do not matter.
pub struct FirstTimes<'s>(pub &'s [Step]);

impl Clocks for FirstTimes<'_> {
    fn time(&self, step: usize, _: u64) -> VirtualTime {
        self.0[step].access.t
    }
}

/// All that a processor did with a page between others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The processor.
    pub node: NodeId,
    /// Places of its steps.
    pub steps: Range<usize>,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Writes before the first read.
    pub lead: u64,
    /// Time of the first access.
    pub first: u64,
    /// Time of the first write, if there is one.
    pub wrote: u64,
    /// Time of the first access of the last step.
    pub last: u64,
}

impl Turn {
    /// Reads and writes.
    pub fn accesses(&self) -> u64 {
        self.reads + self.writes
    }
}

/// The steps of a page, the turns that they make, and their times.
#[derive(Clone, Copy)]
pub struct History<'s> {
    /// Equal accesses in a row, as far as the protocols' [`Timing`](crate::protocols::Timing) allows it.
    pub steps: &'s [Step],
    /// Made of the steps by [`turns`].
    pub turns: &'s [Turn],
    /// Of accesses beyond the first ones of steps.
    pub clocks: &'s dyn Clocks,
}

/// Cuts the steps of a page into turns, in place of what is in `turns`.
pub fn turns(steps: &[Step], turns: &mut Vec<Turn>) {
    turns.clear();
    for (at, step) in steps.iter().enumerate() {
        let (node, t, times) = (step.access.node, step.access.t.0, u64::from(step.access.weight));
        if turns.last().is_none_or(|turn| turn.node != node) {
            turns.push(Turn { node, steps: at..at, reads: 0, writes: 0, lead: 0, first: t, wrote: t, last: t });
        }
        let Some(turn) = turns.last_mut() else { continue };
        (turn.steps.end, turn.last) = (at + 1, t);
        if step.access.kind == AccessKind::Read {
            turn.reads += times;
            continue;
        }
        if turn.writes == 0 {
            turn.wrote = t;
        }
        turn.writes += times;
        if turn.reads == 0 {
            turn.lead += times;
        }
    }
}
