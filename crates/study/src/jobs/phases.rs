//! The best homes by phase of the program: per machine, since they depend on costs.
use super::{Job, tallied};
use crate::{Row, What};
use homenode_placement::optimum::PhaseStatic;
use homenode_placement::{Step, Tally};

/// One home per phase on one machine at one block size.
pub(crate) struct PhasesJob<'m> {
    pub(crate) machine: u32,
    pub(crate) policy: u32,
    pub(crate) solver: PhaseStatic<'m>,
    pub(crate) tally: Tally,
}

impl Job for PhasesJob<'_> {
    fn block(&mut self, _: u64, steps: &[Step]) {
        let mut block = self.solver.begin();
        steps.iter().for_each(|step| self.solver.push(&mut block, &step.access));
        self.tally.add(&self.solver.finish(&block));
    }
    fn rows(&self, block_bytes: u64, _: [u64; 2]) -> Vec<Row> {
        vec![tallied(self.machine, block_bytes, What::policy(self.policy), &self.tally, true)]
    }
}
