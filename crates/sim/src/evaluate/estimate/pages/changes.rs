//! What changes of the program would save, by the pages that a recording has: each change is replayed for these alone, where they lie side
//! by side.
use super::Pages;
use super::draw::{GROUPS, LOTS, Together, pieces};
use crate::SimError;
use crate::evaluate::estimate::changes::{best, with_blocks};
use crate::evaluate::estimate::{ChangeEstimate, Looked};
use crate::evaluate::findings::{BATCH_REFS, drive, limit};
use crate::evaluate::{EvalContext, EvalOptions};
use crate::front::Front;
use crate::observer::Observer;
use crate::setup::Setup;
use crate::whatif::Changed;
use homenode_analysis::rows::Interval;
use homenode_analysis::{Analysed, Candidate, Making, Transform};
use homenode_base::spaces::unflatten;
use homenode_base::{Cost, TotalCost};
use homenode_machine::Location;
use homenode_placement::Access;
use homenode_threads::ThreadBinding;
use homenode_trace::Merged;
use homenode_trace::order::{Source, Stream};
use std::cmp::Reverse;
use std::sync::Arc;

/// A change of the program to pages of both lots.
pub(super) struct PageChange {
    /// As the analysis of the lot has it in which it may save more.
    told: Candidate,
    /// By lot, of blocks side by side.
    remedies: [Option<Transform>; LOTS],
    /// What it may save of all pages, and what it is thought to.
    most: i128,
    estimate: i128,
}

/// What can be tried here and may be worth it, and how many more there are than may be tried.
pub(super) fn candidates(
    analysed: [Analysed; LOTS],
    looked: &Looked<'_>,
    pages: &Pages,
    options: &EvalOptions,
) -> (Vec<PageChange>, u64) {
    let stands_for = |lot| i128::from(pages.draw.stands_for(lot));
    let mut changes: Vec<PageChange> = Vec::new();
    for (lot, Analysed { objects, candidates, .. }) in analysed.into_iter().enumerate() {
        for told in candidates {
            let block = |number| pages.together[lot].block(number, pages.shift);
            let Some(remedy) = with_blocks(&told.remedy, block) else { continue };
            let (most, estimate) = (limit(&told, &objects).0 * stands_for(lot), told.estimate.0 * stands_for(lot));
            let at = changes.iter().position(|c| is_same(&c.told, &told)).unwrap_or_else(|| {
                let new = PageChange { told: told.clone(), remedies: [None, None], most: 0, estimate: 0 };
                changes.push(new);
                changes.len() - 1
            });
            let change = &mut changes[at];
            if most > change.most {
                change.told = told;
            }
            change.remedies[lot] = Some(remedy);
            change.most += most;
            change.estimate += estimate;
        }
    }
    let of_lot = |values: &[f64], lot| values.iter().sum::<f64>() * stands_for(lot) as f64;
    let base = looked.base().map(|base| looked.values(|p| p.total(base))).unwrap_or_default();
    let (drawn, sure) = base.split_at((GROUPS as usize).min(base.len()));
    let least = (of_lot(drawn, 0) + of_lot(sure, 1)) * f64::from(options.finding_permille) / 1000.0;
    changes.retain(|c| c.most > 0 && c.most as f64 >= least);
    changes.sort_by_key(|c| Reverse(c.estimate));
    let untried = changes.split_off(changes.len().min(options.candidates_max));
    (changes, untried.len() as u64)
}

/// Whether what two lots have is one change.
fn is_same(a: &Candidate, b: &Candidate) -> bool {
    let making = |c: &Candidate| -> Option<Making> {
        match &c.remedy {
            Transform::CopyPerNode { making, .. } => Some(*making),
            _ => None,
        }
    };
    (a.kind, a.object, making(a)) == (b.kind, b.object, making(b))
}

/// The changes that may be worth it, the best one of each object, with the hull of what each capacity says.
pub(super) fn worth(changes: Vec<PageChange>, savings: Vec<Interval>, least: f64) -> Vec<ChangeEstimate> {
    best(changes.into_iter().map(|c| c.told).zip(savings), least)
}

/// What each change saves, in one pass over the trace.
pub(super) fn replay(
    changes: &[PageChange],
    source: &mut dyn Source,
    context: &EvalContext<'_>,
    (pages, looked): (&Pages, &[Looked<'_>]),
) -> Result<Vec<Interval>, SimError> {
    if changes.is_empty() {
        return Ok(Vec::new());
    }
    let bindings: Vec<ThreadBinding> =
        context.setup.bindings.iter().map(|binding| ThreadBinding { space: 0, ..*binding }).collect();
    let setup = Setup { bindings: &bindings, waits: &[], ..context.setup };
    let run = |lot: usize, capacity: usize, remedy: &Transform| {
        let setup = Setup { machine: &pages.machines[lot][capacity], ..setup };
        let sums = GroupSums::new(&pages.together[lot], remedy, pages.shift);
        Changed::new(setup, std::slice::from_ref(remedy), (1, 0), sums)
    };
    // By change, lot and capacity.
    let mut runs = Vec::new();
    for (number, change) in changes.iter().enumerate() {
        for (lot, remedy) in change.remedies.iter().enumerate() {
            let Some(remedy) = remedy else { continue };
            for capacity in 0..looked.len() {
                runs.push(((number, lot, capacity), run(lot, capacity, remedy)?));
            }
        }
    }
    let mut side_by_side = SideBySide { front: Front::new(context.setup.bindings), pages };
    let mut stream = source.stream(0)?;
    let all = runs.iter_mut().map(|((_, lot, _), run)| (*lot, run)).collect();
    drive(all, LOTS, context.workers, |next| side_by_side.fill(&mut *stream, next))?;
    // What a change does not concern costs what it cost.
    let base = |l: &Looked<'_>| l.base().map(|base| l.values(|p| p.total(base))).unwrap_or_default();
    let mut totals: Vec<Vec<Vec<f64>>> = vec![looked.iter().map(base).collect(); changes.len()];
    for ((number, lot, capacity), run) in runs {
        let (_, sums) = run.finish()?;
        let values = &mut totals[number][capacity][if lot == 0 { 0 } else { GROUPS as usize }..];
        values.iter_mut().zip(sums.sums).for_each(|(value, sum)| *value = sum.as_f64());
    }
    let hull = |a: Interval, b: Interval| Interval { low: a.low.min(b.low), high: a.high.max(b.high) };
    let saving = |totals: Vec<Vec<f64>>| looked.iter().zip(totals).map(|(l, t)| l.saving(&t)).reduce(hull);
    Ok(totals.into_iter().filter_map(saving).collect())
}

/// Sends references to the pages of each lot, as they lie side by side.
struct SideBySide<'p> {
    front: Front,
    pages: &'p Pages,
}

impl SideBySide<'_> {
    /// Reads the next references; whether there may be more.
    fn fill(&mut self, stream: &mut dyn Stream, lots: &mut [Vec<Merged>]) -> Result<bool, SimError> {
        let Pages { draw, together, shift, .. } = self.pages;
        let mut read = 0;
        while read < BATCH_REFS {
            let Some(piece) = stream.pull()? else { return Ok(false) };
            read += piece.refs.len();
            for r in piece.refs {
                pieces(&mut self.front, draw, *shift, r, |lot, flat, beyond| {
                    let block = together[lot].block(flat >> shift, *shift);
                    let addr = |block| (block << shift) + (flat & ((1 << shift) - 1));
                    lots[lot].extend(block.map(|block| Merged { addr: addr(block), size: beyond as u32 + 1, ..*r }));
                });
            }
        }
        Ok(true)
    }
}

/// What groups of pages cost where first touch puts them, copies with their originals.
struct GroupSums {
    together: Arc<Together>,
    /// By their index, blocks that have copies.
    originals: Vec<u64>,
    block_shift: u32,
    sums: Vec<TotalCost>,
}

impl GroupSums {
    fn new(together: &Arc<Together>, remedy: &Transform, block_shift: u32) -> GroupSums {
        let originals = match remedy {
            Transform::CopyPerNode { blocks, .. } => blocks.clone(),
            _ => Vec::new(),
        };
        let sums = vec![TotalCost::ZERO; together.groups()];
        GroupSums { together: together.clone(), originals, block_shift, sums }
    }
    fn pay(&mut self, addr: u64, cost: Cost) {
        let addr = match unflatten(addr) {
            (0, addr) => addr,
            (_, copy) => {
                let original = self.originals.get((copy >> self.block_shift) as usize);
                original.copied().unwrap_or(0) << self.block_shift
            }
        };
        self.sums[self.together.group(addr)] += cost;
    }
}

impl Observer for GroupSums {
    const WANTS_CHARGES: bool = true;

    fn reference(&mut self, _: &Merged, _: ThreadBinding, _: u64) {}
    fn charge(&mut self, addr: u64, _: u32, _: &Access, _: Location, cost: Cost) {
        self.pay(addr, cost);
    }
    fn transfer(&mut self, addr: u64, _: u32, cost: Cost) {
        self.pay(addr, cost);
    }
}
