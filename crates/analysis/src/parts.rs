//! What rows and candidates are drawn from: the accumulators at the end of the replay, and the objects with their blocks.
use crate::attribution::{Attribution, Block};
use crate::confidence::Confidence;
use crate::feed::Setup;
use crate::heat::Heat;
use crate::loops::Loops;
use crate::names::{Names, ObjectName, object_name};
use crate::owners::Owners;
use crate::patterns::{Pattern, Patterns};
use crate::rows::ObjectRow;
use crate::shares::ShareCosts;
use crate::transfers::Transfers;
use crate::watched::Line;
use hashbrown::HashMap;
use homenode_base::{Cost, TotalCost};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What the accumulators hold when the replay has ended.
pub(crate) struct Parts<'a> {
    pub(crate) setup: &'a Setup<'a>,
    /// Of all colours.
    pub(crate) patterns: &'a [Patterns],
    pub(crate) attribution: &'a Attribution,
    pub(crate) lines: Vec<Line>,
    pub(crate) transfers: &'a Transfers,
    pub(crate) heat: &'a Heat,
    pub(crate) owners: &'a Owners,
    pub(crate) heat_rows: usize,
    pub(crate) confidence: Option<&'a Confidence>,
    pub(crate) loops: &'a Loops,
}

impl Parts<'_> {
    /// Bytes of a unit of sharing patterns.
    pub(crate) fn unit_bytes(&self) -> u64 {
        self.patterns.first().map_or(self.setup.unit_bytes, Patterns::unit_bytes)
    }
    /// Bytes of a word of such a unit.
    pub(crate) fn word_bytes(&self) -> u64 {
        self.patterns.first().map_or(1, Patterns::word_bytes)
    }
}

/// One object with what rows and candidates say of it.
pub(crate) struct Object {
    pub(crate) id: u32,
    pub(crate) name: ObjectName,
    pub(crate) row: ObjectRow,
    /// Bytes in units of each pattern.
    pub(crate) patterns: [u64; 6],
    /// Blocks it has a part of, with that part: ascending by block number.
    pub(crate) parts: Vec<Part>,
}

/// An object's part of one block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) number: u64,
    pub(crate) block: Block,
    pub(crate) cost: Cost,
    /// If every access were local.
    pub(crate) local: Cost,
    /// What the best home would save of the accesses since the block became shared: what is left if its user also
    /// initialises it.
    pub(crate) curable: Cost,
    /// Transfers that take a line from whoever initialised it, at most: one for each line of the block.
    pub(crate) handed_over: Cost,
    /// Whether other objects have accesses to the same block that cost something.
    pub(crate) shared_block: bool,
}

/// All objects, dearest first; `patterns` has the bytes of each by pattern.
pub(crate) fn objects(parts: &Parts<'_>, names: &dyn Names, patterns: &HashMap<u32, [u64; 6]>) -> Vec<Object> {
    let mut objects: Vec<Object> = parts
        .attribution
        .objects()
        .iter()
        .map(|sums| {
            let name = object_name(names, sums.id);
            let bytes = patterns.get(&sums.id).copied().unwrap_or_default();
            let row = ObjectRow {
                name: name.name.clone(),
                kind: name.kind.clone(),
                place: name.place.clone(),
                function: name.function.clone(),
                instances: name.instances,
                bytes: name.bytes,
                users: sums.users(),
                cost: sums.transfer,
                best_static: sums.transfer,
                transfer_cost: sums.transfer,
                pattern: main_pattern(&bytes).into(),
                ..ObjectRow::default()
            };
            Object { id: sums.id, name, row, patterns: bytes, parts: Vec::new() }
        })
        .collect();
    add_blocks(&mut objects, parts);
    let priced = parts.attribution.has_hits();
    for pair in parts.attribution.pairs() {
        let row = &mut objects[pair.object as usize].row;
        row.refs += pair.refs;
        row.hit_cost = priced.then(|| row.hit_cost.unwrap_or_default() + pair.hits);
    }
    objects.sort_by(|a, b| (Reverse(a.row.cost), &a.row.name, a.id).cmp(&(Reverse(b.row.cost), &b.row.name, b.id)));
    objects
}

fn main_pattern(bytes: &[u64; 6]) -> &'static str {
    let most = Pattern::ALL.into_iter().rev().max_by_key(|p| bytes[*p as usize]);
    most.map_or("", Pattern::name)
}

fn add_blocks(objects: &mut [Object], parts: &Parts<'_>) {
    let attribution = parts.attribution;
    let lines = parts.setup.block_bytes / parts.setup.unit_bytes;
    let dearest =
        parts.setup.machine.sections.caches.as_ref().map_or(Cost::ZERO, |c| c.transfer_far.max(c.transfer_near));
    let once_each = Cost(dearest.0.saturating_mul(lines as i64));
    let mut first: Vec<BTreeMap<u32, u64>> = vec![BTreeMap::new(); objects.len()];
    for (number, block) in attribution.blocks() {
        let best_index = best_home(attribution, block);
        let charged = attribution.shares_of(block).filter(|s| s.share.cost != Cost::ZERO).count();
        let home = attribution.homes().iter().position(|h| *h == block.home).unwrap_or(0);
        for ShareCosts { share, all, after } in attribution.shares_of(block) {
            let object = &mut objects[share.object as usize];
            object.row.cost += share.cost;
            object.row.remote_cost += share.remote;
            object.row.best_static += all[best_index];
            *first[share.object as usize].entry(block.first_thread).or_default() += 1;
            object.parts.push(Part {
                number,
                block: *block,
                cost: share.cost,
                local: share.local,
                curable: after[home] - after.iter().copied().min().unwrap_or(Cost::ZERO),
                handed_over: block.transfers.min(once_each),
                shared_block: charged > usize::from(share.cost != Cost::ZERO),
            });
        }
    }
    for (object, first) in objects.iter_mut().zip(first) {
        let mut threads: Vec<(u32, u64)> = first.into_iter().collect();
        threads.sort_by_key(|&(thread, blocks)| (Reverse(blocks), thread));
        object.row.first_touch = threads;
    }
}

/// Index of the home where all accesses to a block together cost least; among equals nodes ascending, global memory last.
fn best_home(attribution: &Attribution, block: &Block) -> usize {
    let mut sums: Vec<TotalCost> = Vec::new();
    for costs in attribution.shares_of(block) {
        sums.resize(costs.all.len(), TotalCost::ZERO);
        sums.iter_mut().zip(costs.all).for_each(|(sum, cost)| *sum += *cost);
    }
    (0..sums.len()).min_by_key(|&i| sums[i]).unwrap_or(0)
}
