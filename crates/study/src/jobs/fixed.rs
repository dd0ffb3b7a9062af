//! The best static placement, from who uses each block how often.
use super::{Job, tallied};
use crate::{Row, What};
use homenode_machine::Machine;
use homenode_placement::{Step, Tally};
use homenode_sim::Usage;

/// A machine of the question with the rows that are wanted of it, and whether their parts are.
pub(crate) type WantedRows<'m> = (u32, &'m Machine, Vec<(What, bool)>);

/// The best static placement on machines with equally many nodes, at one block size.
pub(crate) struct StaticJob<'m> {
    machines: Vec<WantedRows<'m>>,
    sums: Vec<Tally>,
}

impl<'m> StaticJob<'m> {
    pub(crate) fn new(machines: Vec<WantedRows<'m>>) -> StaticJob<'m> {
        StaticJob { sums: vec![Tally::default(); machines.len()], machines }
    }
}

impl Job for StaticJob<'_> {
    fn block(&mut self, _: u64, steps: &[Step]) {
        let mut usage = Usage::new(self.machines[0].1);
        usage.add(steps, 1);
        for ((_, machine, _), sum) in self.machines.iter().zip(&mut self.sums) {
            sum.add(&usage.best(machine, 0).1);
        }
    }
    fn rows(&self, block_bytes: u64, _: [u64; 2]) -> Vec<Row> {
        let machines = self.machines.iter().zip(&self.sums);
        let rows = machines.flat_map(|((machine, _, what), sum)| {
            what.iter().map(|(what, parts)| tallied(*machine, block_bytes, *what, sum, *parts))
        });
        rows.collect()
    }
}
