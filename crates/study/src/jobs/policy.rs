//! A policy: once for all machines on which it decides alike.
//!
//! What happens is counted, and the cost on each machine is the sum of counts times prices.
use super::{Job, tallied};
use crate::{Row, What};
use homenode_machine::Machine;
use homenode_placement::{BlockEngine, EventCounts, Step};

/// One policy on machines on which it decides alike, at one block size.
pub(crate) struct PolicyJob<'m> {
    pub(crate) policy: u32,
    pub(crate) machines: Vec<(u32, &'m Machine)>,
    /// Of one of the machines.
    pub(crate) engine: Box<dyn BlockEngine + 'm>,
    pub(crate) counts: EventCounts,
}

impl Job for PolicyJob<'_> {
    fn block(&mut self, number: u64, steps: &[Step]) {
        if self.engine.blocks() == 0 {
            self.engine.open(number, None);
        } else {
            self.engine.reopen(0, number, None);
        }
        self.engine.run(steps, &mut self.counts);
    }
    fn rows(&self, block_bytes: u64, _: [u64; 2]) -> Vec<Row> {
        let row = |(index, machine): &(u32, &Machine)| {
            let tally = self.counts.priced(machine, block_bytes);
            tallied(*index, block_bytes, What::policy(self.policy), &tally, true)
        };
        self.machines.iter().map(row).collect()
    }
}
