//! What an evaluation says, priced again: every policy and every bound block by block, from the placement that it made, by the
//! checker of placements, which knows nothing but the definition of cost.
//!
//! The accesses are those that pass the caches, one by one. They are gathered for as many blocks as fit into memory, so a large
//! trace is read several times.
use crate::SimError;
use crate::evaluate::EvalContext;
use crate::evaluation::{Evaluation, HitTotals, Totals};
use crate::filtered::{Filtered, Passed};
use crate::verified::{Verified, VerifiedRow};
use hashbrown::HashMap;
use homenode_base::spaces::tag;
use homenode_base::{Cost, TotalCost};
use homenode_machine::{Location, Machine};
use homenode_placement::Access;
use homenode_placement::checker::{Illegal, recost};
use homenode_placement::optimum::{BestStatic, Replication, Solo};
use homenode_placement::placement::{LocationSet, Placement};
use homenode_placement::policies::{Choice, Member};
use homenode_placement::policy::{Outcome, Sink};
use homenode_trace::order::Source;

/// A block: address space and number.
type Block = (u32, u64);

/// Prices an evaluation again, with at most so many bytes of accesses in memory at once (one block's at least). `evaluation` is
/// of this context and source, and of an exact recording.
///
/// # Errors
/// The source fails, or a placement that was made is not legal.
pub fn verify(
    source: &mut dyn Source,
    context: &EvalContext<'_>,
    evaluation: &Evaluation,
    memory_bytes: usize,
) -> Result<Verified, SimError> {
    let (counts, totals) = counts(source, context)?;
    let mut figures = figures(context, evaluation)?;
    let mut verified = Verified { passes: 1, blocks: counts.len() as u64, ..Verified::default() };
    let mut left: Vec<(Block, u64)> = counts.into_iter().collect();
    left.sort_unstable();
    verified.accesses = left.iter().map(|(_, n)| n).sum();
    let mut left = &left[..];
    while !left.is_empty() {
        let (now, later) = left.split_at(fitting(left, memory_bytes / size_of::<Access>()));
        let gathered = gather(source, context, now)?;
        verified.passes += 1;
        for (block, _) in now {
            let trace = &gathered[block];
            let number = salted(*block, context.setup.block_bytes);
            figures.iter_mut().try_for_each(|f| f.add(context, number, trace)).map_err(SimError::Illegal)?;
        }
        left = later;
    }
    let transfers = evaluation.totals.transfer_cost;
    verified.rows = figures.into_iter().map(|f| f.row(transfers)).collect();
    verified.rows.extend(hits(context.setup.machine, evaluation, totals.hits));
    Ok(verified)
}

/// Hits in last levels, which no placement changes: counted again and priced by the machine.
fn hits(machine: &Machine, evaluation: &Evaluation, counted: Option<HitTotals>) -> Option<VerifiedRow> {
    let (said, counted, costs) = (evaluation.totals.hits?, counted.unwrap_or_default(), machine.sections.hits?.shared);
    let price = |n: u64, cost: Cost| cost.times(n);
    let checked = price(counted.waited + counted.unknown, costs.waited)
        + price(counted.overlapped, costs.overlapped)
        + price(counted.streamed, costs.streamed);
    let name = "hits in last levels".to_owned();
    Some(VerifiedRow { name, said: said.cost, checked: Some(checked), note: String::new() })
}

/// How many of these blocks have at most so many accesses together; one at least.
fn fitting(blocks: &[(Block, u64)], accesses_max: usize) -> usize {
    let mut sum = 0;
    let more = |(_, n): &&(Block, u64)| {
        sum += n;
        sum <= accesses_max as u64
    };
    blocks.iter().take_while(more).count().max(1)
}

/// The number by which policies know a block.
fn salted((space, block): Block, block_bytes: u64) -> u64 {
    ((block * block_bytes) ^ tag(space)) / block_bytes
}

/// Hands every access that passes the caches to `each`.
fn passed(
    source: &mut dyn Source,
    context: &EvalContext<'_>,
    mut each: impl FnMut(Block, &Passed),
) -> Result<Totals, SimError> {
    let mut filtered = Filtered::new(context.setup)?;
    let shift = context.setup.block_bytes.trailing_zeros();
    let mut stream = source.stream(0)?;
    while let Some(piece) = stream.pull()? {
        filtered.refs(piece.refs).iter().for_each(|p| each((p.space, p.addr >> shift), p));
    }
    drop(stream);
    filtered.finish()
}

fn counts(source: &mut dyn Source, context: &EvalContext<'_>) -> Result<(HashMap<Block, u64>, Totals), SimError> {
    let mut counts: HashMap<Block, u64> = HashMap::new();
    let totals =
        passed(source, context, |block, p| *counts.entry(block).or_default() += u64::from(p.access.weight.max(1)))?;
    Ok((counts, totals))
}

/// The accesses of these blocks, each by itself: a policy that counts may decide between two that are equal.
fn gather(
    source: &mut dyn Source,
    context: &EvalContext<'_>,
    blocks: &[(Block, u64)],
) -> Result<HashMap<Block, Vec<Access>>, SimError> {
    let mut gathered: HashMap<Block, Vec<Access>> =
        blocks.iter().map(|(block, n)| (*block, Vec::with_capacity(*n as usize))).collect();
    passed(source, context, |block, p| {
        if let Some(trace) = gathered.get_mut(&block) {
            let one = Access { weight: p.access.weight.min(1), ..p.access };
            trace.extend(std::iter::repeat_n(one, p.access.weight.max(1) as usize));
        }
    })?;
    Ok(gathered)
}

/// How the placements of a figure are made.
enum PlacementSource {
    Policy(Choice),
    BestStatic,
    Solo(Box<Solo>),
    Replication(Box<Replication>),
    /// There are none, for this reason.
    Nobody(&'static str),
}

struct Figure {
    name: String,
    said: TotalCost,
    source: PlacementSource,
    checked: TotalCost,
}

fn figures(context: &EvalContext<'_>, evaluation: &Evaluation) -> Result<Vec<Figure>, SimError> {
    let (machine, block_bytes) = (context.setup.machine, context.setup.block_bytes);
    let mut figures = Vec::new();
    let mut add = |name: &str, said, source| {
        figures.push(Figure { name: name.to_owned(), said, source, checked: TotalCost::ZERO });
    };
    for row in &evaluation.policies {
        let owned = context.policies.iter().find(|c| matches!(c.spec, Member::Owned(_)) && c.spec.name == row.name);
        let choice = owned.cloned().map_or_else(|| Choice::parse(&row.name), Ok)?;
        let detour = choice.spec.params.iter().zip(&choice.values).any(|(p, value)| p.name == "path" && *value == 1);
        let source = match (detour, choice.spec.needs_homes, choice.phase()) {
            (true, ..) => PlacementSource::Nobody("its moves take a dearer way than a placement shows"),
            (_, true, Some(_)) => PlacementSource::Nobody("homes by phase are solved for, not placed"),
            (_, true, None) => PlacementSource::BestStatic,
            _ => PlacementSource::Policy(choice),
        };
        add(&row.name, row.total, source);
    }
    for row in &evaluation.optimum {
        let source = match (row.name.as_str(), row.exact) {
            ("best static", _) => PlacementSource::BestStatic,
            ("optimum without replication", _) => PlacementSource::Solo(Box::new(Solo::new(machine, block_bytes))),
            (_, true) => {
                PlacementSource::Replication(Box::new(Replication::new(machine, block_bytes, context.options.start)))
            }
            (_, false) => PlacementSource::Nobody("it is a bound that no placement need reach"),
        };
        add(&row.name, row.total, source);
    }
    Ok(figures)
}

impl Figure {
    /// Adds the cost of one block.
    fn add(&mut self, context: &EvalContext<'_>, number: u64, trace: &[Access]) -> Result<(), Illegal> {
        let (machine, block_bytes) = (context.setup.machine, context.setup.block_bytes);
        let placement = match &self.source {
            PlacementSource::Policy(choice) => by_policy(choice, machine, block_bytes, number, trace),
            PlacementSource::BestStatic => for_ever(machine, trace),
            PlacementSource::Solo(solver) => solver.place(trace).1,
            PlacementSource::Replication(solver) => solver.place(trace).1,
            PlacementSource::Nobody(_) => return Ok(()),
        };
        self.checked += recost(machine, block_bytes, trace, &placement)?.total();
        Ok(())
    }

    fn row(self, transfers: TotalCost) -> VerifiedRow {
        let note = if let PlacementSource::Nobody(why) = self.source { why } else { "" };
        let checked = note.is_empty().then_some(self.checked);
        VerifiedRow { name: self.name, said: self.said - transfers, checked, note: note.to_owned() }
    }
}

/// The cheapest home for ever, of all there are.
fn for_ever(machine: &Machine, trace: &[Access]) -> Placement {
    let solver = BestStatic::new(machine);
    let mut uses = solver.begin();
    trace.iter().for_each(|a| solver.push(&mut uses, a));
    let home = LocationSet::single(solver.finish(&uses).0);
    Placement { sets: vec![home; trace.len()], ..Placement::default() }
}

/// Where a policy has the block at each access.
fn by_policy(choice: &Choice, machine: &Machine, block_bytes: u64, number: u64, trace: &[Access]) -> Placement {
    let mut placement = Placement::default();
    // The evaluation has built the same engine.
    let Ok(mut engine) = choice.engine(machine, block_bytes) else { return placement };
    let slot = engine.open(number, None);
    let mut copies = Copies(LocationSet::default());
    for access in trace {
        placement.served.push(engine.step(slot, access, &mut copies));
        placement.sets.push(copies.0.clone());
    }
    placement
}

/// The copies of one block; whatever is asked for is done.
struct Copies(LocationSet);

impl Sink for Copies {
    fn place(&mut self, at: Location) -> Outcome {
        self.0.insert(at);
        Outcome::Done
    }
    fn replicate(&mut self, _: Location, to: Location) -> Outcome {
        self.place(to)
    }
    fn migrate(&mut self, from: Location, to: Location) -> Outcome {
        self.0.remove(from);
        self.place(to)
    }
    fn drop_copy(&mut self, at: Location) -> Outcome {
        self.0.remove(at);
        Outcome::Done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_taken_as_they_fit_and_one_always() {
        let blocks = [((0, 1), 10), ((0, 2), 10), ((0, 3), 100)];
        assert_eq!([25, 20, 19, 1].map(|n| fitting(&blocks, n)), [2, 2, 1, 1]);
        assert_eq!(fitting(&blocks[2..], 5), 1);
    }
}
