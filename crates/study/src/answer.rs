//! What comes out.
use crate::{StudyError, What};
use homenode_base::TotalCost;
use homenode_coherence::Effects;
use homenode_placement::{Solved, Tally};
use std::collections::BTreeMap;

/// One point: what something costs on a machine at a block size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Place in [`Question::machines`](crate::Question::machines).
    pub machine: u32,
    /// Block size in bytes.
    pub block_bytes: u64,
    /// Policy or bound that the row is about.
    pub what: What,
    /// References and movement; cache-to-cache transfers are not contained.
    pub cost: TotalCost,
    /// What it consists of: always there for policies, for the best static placement where that was wanted, never for
    /// an optimum.
    pub parts: Option<Tally>,
    /// An optimum with its movement, moves and copies, where they were wanted.
    pub optimum: Option<Solved>,
    /// Whether an optimum is exact and not a bound; true for policies.
    pub exact: bool,
    /// What a protocol of page coherence did; never there for anything else.
    pub done: Option<Done>,
}

/// What a protocol did with pages of one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Effects, counted.
    pub effects: Effects,
    /// References to pages that more than one processor touches, of all references.
    pub between: u64,
}

/// What a machine saw, whatever the block size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Charged {
    /// Accesses that reach the placement: words, or misses and write-backs of machines with caches.
    pub accesses: u64,
    /// Cache-to-cache transfers.
    pub transfers: u64,
    /// What these transfers cost, wherever blocks are.
    pub transfer_cost: TotalCost,
}

/// Rows of one trace, or of a part of it: sorted by machine, block size and [`What`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The rows.
    pub rows: Vec<Row>,
    /// References, spins included. In answers of parts, all are with the part that begins with region 0.
    pub refs: u64,
    /// Accesses charged by the first machine without caches; 0 if all have caches.
    pub accesses: u64,
    /// Blocks touched, by block size in the order of [`Question::blocks`](crate::Question::blocks): those of the first
    /// machine that can have the size, 0 if none can.
    pub blocks_touched: Vec<u64>,
    /// By machine. Transfers are with the part that begins with region 0.
    pub charged: Vec<Charged>,
}

impl Answer {
    /// Adds the answer to the same question about another part of the same trace.
    ///
    /// # Errors
    /// The answers are not about the same points.
    pub fn add(&mut self, other: &Answer) -> Result<(), StudyError> {
        if *self == Answer::default() {
            *self = other.clone();
            return Ok(());
        }
        let same = |(a, b): (&Row, &Row)| (a.machine, a.block_bytes, a.what) == (b.machine, b.block_bytes, b.what);
        if self.rows.len() != other.rows.len()
            || self.charged.len() != other.charged.len()
            || self.blocks_touched.len() != other.blocks_touched.len()
            || !self.rows.iter().zip(&other.rows).all(same)
        {
            return Err(StudyError::OtherQuestion);
        }
        self.rows.iter_mut().zip(&other.rows).for_each(|(a, b)| a.add(b));
        self.refs += other.refs;
        self.accesses += other.accesses;
        self.blocks_touched.iter_mut().zip(&other.blocks_touched).for_each(|(a, b)| *a += b);
        for (a, b) in self.charged.iter_mut().zip(&other.charged) {
            a.accesses += b.accesses;
            a.transfers += b.transfers;
            a.transfer_cost += b.transfer_cost;
        }
        Ok(())
    }
}

impl Answer {
    /// Leaves of the counters in hindsight of each protocol, machine and page size the best one, the smallest of equals, and
    /// the best of each page. An answer of the whole, since the best of a part is another one.
    pub fn keep_best_counters(&mut self) {
        let mut best: BTreeMap<(u32, u64, u32), (TotalCost, What)> = BTreeMap::new();
        let counters = self.rows.iter().filter_map(|row| Some((row, row.what.as_counter()?)));
        for (row, (protocol, _)) in counters.filter(|(_, (_, lane))| lane.is_some()) {
            let found = best.entry((row.machine, row.block_bytes, protocol)).or_insert((row.cost, row.what));
            *found = (*found).min((row.cost, row.what));
        }
        self.rows.retain(|row| match row.what.as_counter() {
            Some((protocol, Some(_))) => best[&(row.machine, row.block_bytes, protocol)].1 == row.what,
            _ => true,
        });
    }
}

impl Row {
    fn add(&mut self, other: &Row) {
        self.cost += other.cost;
        if let (Some(a), Some(b)) = (&mut self.parts, &other.parts) {
            a.add(b);
        }
        if let (Some(a), Some(b)) = (&mut self.optimum, &other.optimum) {
            a.add(b);
        }
        if let (Some(a), Some(b)) = (&mut self.done, &other.done) {
            a.effects.merge(&b.effects);
            a.between += b.between;
        }
    }
}
