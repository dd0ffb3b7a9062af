//! What changes of the program would save, by the colours looked at: each change is replayed for the blocks of each of these alone.
//!
//! Only changes that leave data in blocks of their colours are: who initialises memory, who uses it, and copies for each node. What
//! another layout of lines saves, blocks of some colours do not say.
use super::{Estimate, Looked};
use crate::SimError;
use crate::evaluate::findings::{BATCH_REFS, drive, limit, noticed};
use crate::evaluate::{EvalContext, EvalOptions, FIRST_TOUCH};
use crate::split::for_pieces;
use crate::whatif::Changed;
use homenode_analysis::rows::{FindingKind, Interval};
use homenode_analysis::{Analysed, Candidate, Transform};
use homenode_base::TotalCost;
use homenode_base::spaces::tag;
use homenode_trace::order::{Source, Stream};
use homenode_trace::{Merged, Op};
use schemars::JsonSchema;
use serde::Serialize;

/// A change of the program, and what it would save.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ChangeEstimate {
    /// Kind.
    pub kind: FindingKind,
    /// Name of the data object.
    pub object: String,
    /// Where to change the program: `file:line` of the allocation, then of the initialisation.
    pub places: Vec<String>,
    /// What to do, one sentence.
    pub advice: String,
    /// Share of the first-touch total that it saves; below 0 it costs more.
    pub saving: Interval,
}

/// The colours that are replayed, of how many.
#[derive(Clone, Copy)]
pub(super) struct Drawn<'d> {
    pub(super) all: u64,
    pub(super) colours: &'d [usize],
}

/// What of the candidates can be tried here and may be worth it, beside so much that first touch costs in the colours looked at; and how
/// many more there are than may be tried.
pub(super) fn candidates(analysed: Analysed, base: TotalCost, options: &EvalOptions) -> (Vec<Candidate>, u64) {
    let Analysed { objects, candidates, .. } = analysed;
    let may_save = |c: &Candidate| {
        let most = limit(c, &objects);
        most > TotalCost::ZERO && most.0 * 1000 >= base.0 * i128::from(options.finding_permille)
    };
    let tried = |c: &Candidate| of_colour(&c.remedy, (1, 0)).is_some() && may_save(c);
    let mut candidates: Vec<Candidate> = candidates.into_iter().filter(tried).collect();
    let untried = candidates.split_off(candidates.len().min(options.candidates_max));
    (candidates, untried.len() as u64)
}

/// The part of a change that concerns blocks of one colour, of so many.
fn of_colour(remedy: &Transform, (colours, colour): (u64, u64)) -> Option<Transform> {
    with_blocks(remedy, |block| (block & (colours - 1) == colour).then_some(block))
}

/// A change of some blocks alone, which are numbered anew in the same order; nothing if it moves data within or between blocks.
pub(super) fn with_blocks(remedy: &Transform, number: impl Fn(u64) -> Option<u64>) -> Option<Transform> {
    let given =
        |blocks: &[(u64, u32)]| blocks.iter().filter_map(|(block, thread)| Some((number(*block)?, *thread))).collect();
    Some(match remedy {
        Transform::InitialiseInParallel { blocks } => Transform::InitialiseInParallel { blocks: given(blocks) },
        Transform::KeepParts { blocks } => Transform::KeepParts { blocks: given(blocks) },
        Transform::CopyPerNode { blocks, makers, making } => {
            let blocks = blocks.iter().filter_map(|block| number(*block)).collect();
            Transform::CopyPerNode { blocks, makers: makers.clone(), making: *making }
        }
        _ => return None,
    })
}

/// What each change makes of the blocks of each colour that was drawn, in one pass over the trace.
pub(super) fn replay(
    candidates: &[Candidate],
    source: &mut dyn Source,
    context: &EvalContext<'_>,
    drawn: Drawn<'_>,
) -> Result<Vec<Vec<f64>>, SimError> {
    if candidates.is_empty() {
        return Ok(Vec::new());
    }
    let run = |c: &Candidate, (lot, colour): (usize, usize)| {
        let part = (drawn.all, colour as u64);
        let remedy: Vec<Transform> = of_colour(&c.remedy, part).into_iter().collect();
        Ok((lot, Changed::new(context.setup, &remedy, part, ())?))
    };
    let colours = || drawn.colours.iter().copied().enumerate();
    let runs = candidates.iter().flat_map(|c| colours().map(move |colour| run(c, colour)));
    let mut runs = runs.collect::<Result<Vec<_>, SimError>>()?;
    let lots = Lots::new(context, drawn);
    let mut stream = source.stream(0)?;
    let all = runs.iter_mut().map(|(lot, run)| (*lot, run)).collect();
    drive(all, drawn.colours.len(), context.workers, |next| lots.fill(&mut *stream, next))?;
    let total = |(_, run): (usize, Changed<'_, ()>)| Ok(run.finish()?.0.total().as_f64());
    let totals = runs.into_iter().map(total).collect::<Result<Vec<_>, SimError>>()?;
    Ok(totals.chunks(drawn.colours.len()).map(<[f64]>::to_vec).collect())
}

/// Sends references to the lot of their block's colour.
struct Lots {
    /// By thread, what makes its addresses flat.
    space_tags: Vec<u64>,
    block_shift: u32,
    /// By colour.
    lot_of: Vec<Option<usize>>,
}

impl Lots {
    fn new(context: &EvalContext<'_>, drawn: Drawn<'_>) -> Lots {
        let mut lot_of = vec![None; drawn.all as usize];
        drawn.colours.iter().enumerate().for_each(|(lot, colour)| lot_of[*colour] = Some(lot));
        let space_tags = context.setup.bindings.iter().map(|b| tag(b.space)).collect();
        Lots { space_tags, block_shift: context.setup.block_bytes.trailing_zeros(), lot_of }
    }

    /// Reads the next references; whether there may be more.
    fn fill(&self, stream: &mut dyn Stream, lots: &mut [Vec<Merged>]) -> Result<bool, SimError> {
        let mut read = 0;
        while read < BATCH_REFS {
            let Some(piece) = stream.pull()? else { return Ok(false) };
            read += piece.refs.len();
            piece.refs.iter().for_each(|r| self.reference(r, lots));
        }
        Ok(true)
    }

    #[inline]
    fn reference(&self, r: &Merged, lots: &mut [Vec<Merged>]) {
        let Some(space_tag) = self.space_tags.get(r.thread as usize).filter(|_| r.op != Op::Spin) else { return };
        for_pieces(r.addr, r.size, self.block_shift, |piece| {
            let colour = ((piece.addr ^ space_tag) >> self.block_shift) as usize & (self.lot_of.len() - 1);
            if let Some(lot) = self.lot_of[colour] {
                lots[lot].push(piece.of(r));
            }
        });
    }
}

impl Estimate {
    /// The share of first touch from which on a saving is worth a finding, beside so many references that take time whether they miss or not.
    pub(super) fn least_saving(&self, context: &EvalContext<'_>, refs: u64) -> f64 {
        let share = f64::from(context.options.finding_permille) / 1000.0;
        let base = self.policies.iter().find(|p| p.name == FIRST_TOUCH).map(|p| (p.total.low + p.total.high) / 2.0);
        match base.filter(|base| share > 0.0 && *base > 0.0 && base.is_finite()) {
            Some(base) => share.max(noticed(context.setup.machine, TotalCost(base as i128), refs).as_f64() / base),
            None => share,
        }
    }
}

impl Looked<'_> {
    /// What a change saves of first touch that makes so much of each part; anything may be, where there is no first touch.
    pub(super) fn saving(&self, totals: &[f64]) -> Interval {
        let base = self.base().map(|i| self.values(|p| p.total(i))).unwrap_or_default();
        let ratio = self.sample.ratio(totals, &base, (self.handover.0, self.handover.0));
        Interval { low: 1.0 - ratio.high, high: 1.0 - ratio.low }
    }
}

/// The changes that may save such a share at least, with what they save: the best one of each object, those that save most first.
pub(super) fn best(changes: impl Iterator<Item = (Candidate, Interval)>, least: f64) -> Vec<ChangeEstimate> {
    let row = |(c, saving): (Candidate, Interval)| {
        let Candidate { kind, name: object, places, advice, .. } = c;
        ChangeEstimate { kind, object, places, advice, saving }
    };
    let middle = |c: &ChangeEstimate| c.saving.low + c.saving.high;
    let worth_it = |c: &ChangeEstimate| c.saving.high > 0.0 && c.saving.high >= least;
    let mut rows: Vec<ChangeEstimate> = changes.map(row).filter(worth_it).collect();
    rows.sort_by(|a, b| middle(b).total_cmp(&middle(a)));
    let mut best: Vec<ChangeEstimate> = Vec::new();
    for row in rows {
        if best.iter().all(|b| b.object != row.object) {
            best.push(row);
        }
    }
    best
}
