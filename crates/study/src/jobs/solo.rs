//! The optimum without replication on many machines at once.
use super::{Job, priced};
use crate::kernels::WithoutReplication;
use crate::{Row, What};
use homenode_placement::Step;

/// Cost of the optimum without replication at one block size.
pub(crate) struct SoloJob {
    pub(crate) machines: WithoutReplication,
}

impl Job for SoloJob {
    fn block(&mut self, _: u64, steps: &[Step]) {
        let first = steps[0].access.node;
        // Where one node alone uses a block nothing costs more than at home.
        if steps.iter().any(|s| s.access.node != first) {
            self.machines.block(steps);
        }
    }
    fn rows(&self, block_bytes: u64, accesses: [u64; 2]) -> Vec<Row> {
        let costs = self.machines.costs(accesses).into_iter();
        costs.map(|(machine, cost)| priced(machine, block_bytes, What::WITHOUT_REPLICATION, cost, true)).collect()
    }
}
