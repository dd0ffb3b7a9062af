//! A policy whose decisions depend on costs: once per machine.
use super::{Job, tallied};
use crate::{Row, What};
use homenode_placement::{BlockEngine, Step, Tally};

/// One policy on one machine at one block size.
pub(crate) struct PolicyJob<'m> {
    pub(crate) machine: u32,
    pub(crate) policy: u32,
    pub(crate) engine: Box<dyn BlockEngine + 'm>,
    pub(crate) tally: Tally,
}

/// Makes slot 0 that of a block nobody has touched.
pub(crate) fn begin(engine: &mut dyn BlockEngine, number: u64) {
    if engine.blocks() == 0 {
        engine.open(number, None);
    } else {
        engine.reopen(0, number, None);
    }
}

impl Job for PolicyJob<'_> {
    fn block(&mut self, number: u64, steps: &[Step]) {
        begin(&mut *self.engine, number);
        self.engine.run_total(steps, &mut self.tally);
    }
    fn rows(&self, block_bytes: u64, _: [u64; 2]) -> Vec<Row> {
        vec![tallied(self.machine, block_bytes, What::Policy(self.policy), &self.tally, true)]
    }
}
