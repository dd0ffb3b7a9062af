//! What comes out.
use homenode_base::TotalCost;
use homenode_placement::Tally;

/// What a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// A policy, by its place in [`Question::policies`](crate::Question::policies).
    Policy(u32),
    /// Each block at its cheapest home for ever.
    BestStatic,
    /// The optimum without replication.
    WithoutReplication,
    /// The optimum with replication, or a lower bound for it.
    WithReplication,
}

/// One point: what something costs on a machine at a block size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Place in [`Question::machines`](crate::Question::machines).
    pub machine: u32,
    /// Block size in bytes.
    pub block_bytes: u64,
    /// What.
    pub what: What,
    /// References and movement; cache-to-cache transfers are not contained.
    pub cost: TotalCost,
    /// What it consists of; absent where only the cost was asked for.
    pub parts: Option<Tally>,
    /// Whether an optimum is exact and not a bound; true for policies.
    pub exact: bool,
}

/// Rows of one trace, or of a part of it: sorted by machine, block size and [`What`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The rows.
    pub rows: Vec<Row>,
    /// References, spins included.
    pub refs: u64,
    /// Accesses charged (words, or lines of machines with lines), summed over nothing: of one machine without caches.
    pub accesses: u64,
    /// Blocks touched, by block size in the order of [`Question::blocks`](crate::Question::blocks).
    pub blocks_touched: Vec<u64>,
}
