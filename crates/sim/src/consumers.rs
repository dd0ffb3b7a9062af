//! What is computed side by side from one stream of accesses: policies, the optimum, usage.
use crate::traffic::Windows;
use homenode_machine::Machine;
use homenode_placement::events::{POLICIES, Paths};
use homenode_placement::optimum::{BlockBounds, PhaseState, PhaseStatic};
use homenode_placement::{BlockEngine, Bounds, EventCounts, Solved, Start, Step, Tally};
use std::sync::Arc;

/// Steps handed on at once: one virtual call per policy and batch, and the batch stays in a first-level cache.
const BATCH: usize = 1024;

/// Something that wants all accesses, in order within each block.
pub(crate) trait AccessConsumer {
    /// More accesses. `numbers` names all blocks so far, by slot.
    fn steps(&mut self, steps: &[Step], numbers: &[u64]);
    /// Periods of virtual time across whose multiples accesses must not be folded.
    fn periods(&self) -> Vec<u64> {
        Vec::new()
    }
}

/// One policy.
pub(crate) struct PolicyConsumer<'m> {
    engine: Box<dyn BlockEngine + 'm>,
    pub(crate) counts: EventCounts,
    /// What it asks of memories, where somebody wants to know.
    pub(crate) windows: Option<Windows<'m>>,
}

impl<'m> PolicyConsumer<'m> {
    pub(crate) fn new(
        engine: Box<dyn BlockEngine + 'm>,
        paths: &Arc<Paths>,
        windows: Option<Windows<'m>>,
    ) -> PolicyConsumer<'m> {
        PolicyConsumer { engine, counts: EventCounts::new(&POLICIES, paths.clone()), windows }
    }
}

impl AccessConsumer for PolicyConsumer<'_> {
    fn steps(&mut self, steps: &[Step], numbers: &[u64]) {
        for number in &numbers[self.engine.blocks()..] {
            self.engine.open(*number, None);
        }
        match &mut self.windows {
            Some(windows) => windows.run(&mut *self.engine, steps, &mut self.counts),
            None => self.engine.run(steps, &mut self.counts),
        }
    }
}

/// The policy with the best home in each phase, which one pass prices without knowing the homes.
pub(crate) struct PhaseConsumer<'m> {
    solver: PhaseStatic<'m>,
    blocks: Vec<PhaseState>,
}

impl<'m> PhaseConsumer<'m> {
    pub(crate) fn new(machine: &'m Machine, block_bytes: u64, phase: u64) -> PhaseConsumer<'m> {
        PhaseConsumer { solver: PhaseStatic::new(machine, block_bytes, phase), blocks: Vec::new() }
    }
    /// Sum over all blocks.
    pub(crate) fn finish(&self) -> Tally {
        let mut sum = Tally::default();
        self.blocks.iter().for_each(|block| sum.add(&self.solver.finish(block)));
        sum
    }
}

impl AccessConsumer for PhaseConsumer<'_> {
    fn steps(&mut self, steps: &[Step], numbers: &[u64]) {
        self.blocks.resize_with(numbers.len(), || self.solver.begin());
        for step in steps {
            self.solver.push(&mut self.blocks[step.slot as usize], &step.access);
        }
    }
}

/// The optimum, with and without replication.
pub(crate) struct BoundsConsumer<'m> {
    bounds: Bounds<'m>,
    blocks: Vec<BlockBounds>,
}

/// Bounds of a whole program, in one unit and without transfers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramBounds {
    /// Each block at its best home for ever.
    pub best_static: Solved,
    /// The optimum without replication, exact.
    pub without_replication: Solved,
    /// The optimum with replication, or a lower bound for it.
    pub with_replication: Solved,
    /// Whether that one is exact.
    pub exact: bool,
}

impl<'m> BoundsConsumer<'m> {
    pub(crate) fn new(machine: &'m Machine, block_bytes: u64, start: Start) -> BoundsConsumer<'m> {
        BoundsConsumer { bounds: Bounds::new(machine, block_bytes, start), blocks: Vec::new() }
    }
    /// Sum over all blocks.
    pub(crate) fn finish(&self) -> ProgramBounds {
        let mut sum = ProgramBounds { exact: self.bounds.is_exact(), ..ProgramBounds::default() };
        for block in &self.blocks {
            let found = self.bounds.finish(block);
            sum.best_static.add(&found.best_static);
            sum.without_replication.add(&found.without_replication);
            sum.with_replication.add(&found.with_replication);
        }
        sum
    }
}

impl AccessConsumer for BoundsConsumer<'_> {
    fn steps(&mut self, steps: &[Step], numbers: &[u64]) {
        self.blocks.resize_with(numbers.len(), || self.bounds.begin());
        for step in steps {
            self.bounds.push(&mut self.blocks[step.slot as usize], &step.access);
        }
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
    pub(crate) fn push(&mut self, step: Step, consumers: &mut impl AccessConsumer, numbers: &[u64]) {
        self.steps.push(step);
        if self.steps.len() >= BATCH {
            self.flush(consumers, numbers);
        }
    }
    /// Hands on what there is.
    pub(crate) fn flush(&mut self, consumers: &mut impl AccessConsumer, numbers: &[u64]) {
        consumers.steps(&self.steps, numbers);
        self.steps.clear();
    }
}
