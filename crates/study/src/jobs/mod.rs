//! What is computed from the accesses of blocks.
mod bounds;
mod counters;
mod fixed;
pub(crate) mod online;
mod phases;
mod policy;
pub(crate) mod protocols;
mod solo;

pub(crate) use bounds::BoundsJob;
pub(crate) use counters::CountersJob;
pub(crate) use fixed::{StaticJob, WantedRows};
pub(crate) use phases::PhasesJob;
pub(crate) use policy::PolicyJob;
pub(crate) use protocols::ProtocolJobs;
pub(crate) use solo::SoloJob;

use crate::{Row, What};
use homenode_base::TotalCost;
use homenode_placement::{Step, Tally};

/// Something that wants the accesses of every block of one size, in order.
pub(crate) trait Job {
    /// One block, all its accesses.
    fn block(&mut self, number: u64, steps: &[Step]);
    /// The rows, after so many reads and other accesses.
    fn rows(&self, block_bytes: u64, accesses: [u64; 2]) -> Vec<Row>;
}

/// The row of a tally.
pub(crate) fn tallied(machine: u32, block_bytes: u64, what: What, tally: &Tally, parts: bool) -> Row {
    let parts = parts.then_some(*tally);
    Row { machine, block_bytes, what, cost: tally.total(), parts, optimum: None, exact: true, done: None }
}

/// A row that is a cost and nothing else.
pub(crate) fn priced(machine: u32, block_bytes: u64, what: What, cost: TotalCost, exact: bool) -> Row {
    Row { machine, block_bytes, what, cost, parts: None, optimum: None, exact, done: None }
}
