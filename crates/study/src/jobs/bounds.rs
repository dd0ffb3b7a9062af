//! The optimum by the solvers of the placement crate: machines outside the fast kernels' conditions, and parts.
use super::{Job, priced};
use crate::{Row, Want, What};
use homenode_placement::optimum::Bounds;
use homenode_placement::{Solved, Step};

/// The optimum on one machine at one block size.
pub(crate) struct BoundsJob<'m> {
    pub(crate) machine: u32,
    pub(crate) bounds: Bounds<'m>,
    /// Without and with replication.
    pub(crate) want: [Want; 2],
    pub(crate) sums: [Solved; 2],
}

impl Job for BoundsJob<'_> {
    fn block(&mut self, _: u64, steps: &[Step]) {
        let mut block = self.bounds.begin();
        steps.iter().for_each(|step| self.bounds.push(&mut block, &step.access));
        let found = self.bounds.finish(&block);
        self.sums[0].add(&found.without_replication);
        self.sums[1].add(&found.with_replication);
    }
    fn rows(&self, block_bytes: u64, _: [u64; 2]) -> Vec<Row> {
        let whats = [(What::WITHOUT_REPLICATION, true), (What::WITH_REPLICATION, self.bounds.is_exact())];
        let wanted = whats.into_iter().zip(self.want).zip(&self.sums).filter(|((_, want), _)| *want != Want::None);
        let row = |(((what, exact), want), found): (((What, bool), Want), &Solved)| {
            let row = priced(self.machine, block_bytes, what, found.cost, exact);
            Row { optimum: (want == Want::Parts).then_some(*found), ..row }
        };
        wanted.map(row).collect()
    }
}
