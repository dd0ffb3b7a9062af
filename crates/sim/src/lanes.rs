//! What is computed side by side from one stream of accesses: policies, the optimum, usage.
use homenode_placement::{BlockEngine, Step, Tally};

/// Steps handed on at once: one virtual call per policy and batch, and the batch stays in a first-level cache.
const BATCH: usize = 1024;

/// Something that wants all accesses, in order within each block.
pub(crate) trait Lane {
    /// More accesses. `numbers` names all blocks so far, by slot.
    fn steps(&mut self, steps: &[Step], numbers: &[u64]);
}

/// One policy.
pub(crate) struct PolicyLane<'m> {
    engine: Box<dyn BlockEngine + 'm>,
    pub(crate) tally: Tally,
}

impl<'m> PolicyLane<'m> {
    pub(crate) fn new(engine: Box<dyn BlockEngine + 'm>) -> PolicyLane<'m> {
        PolicyLane { engine, tally: Tally::default() }
    }
}

impl Lane for PolicyLane<'_> {
    fn steps(&mut self, steps: &[Step], numbers: &[u64]) {
        for number in &numbers[self.engine.blocks()..] {
            self.engine.open(*number, None);
        }
        self.engine.run_total(steps, &mut self.tally);
    }
}

/// Collects steps into batches.
#[derive(Default)]
pub(crate) struct Batch {
    steps: Vec<Step>,
}

impl Batch {
    /// Adds a step; hands the batch on when it is full.
    #[inline]
    pub(crate) fn push(&mut self, step: Step, lanes: &mut impl Lane, numbers: &[u64]) {
        self.steps.push(step);
        if self.steps.len() >= BATCH {
            self.flush(lanes, numbers);
        }
    }
    /// Hands on what there is.
    pub(crate) fn flush(&mut self, lanes: &mut impl Lane, numbers: &[u64]) {
        lanes.steps(&self.steps, numbers);
        self.steps.clear();
    }
}
