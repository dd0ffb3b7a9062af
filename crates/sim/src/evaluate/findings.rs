//! What the candidates are worth: each is replayed, all of them in one pass over the trace.
use super::{EvalContext, FIRST_TOUCH};
use crate::SimError;
use crate::colours::colours;
use crate::evaluation::{Evaluation, Finding, Interval, ObjectRow};
use crate::observer::Observer;
use crate::whatif::{Changed, Predicted};
use crate::workers::{Job, Workers};
use homenode_analysis::evidence::Gap;
use homenode_analysis::{Candidate, Making, Transform};
use homenode_base::TotalCost;
use homenode_machine::{Machine, Unit};
use homenode_trace::Merged;
use homenode_trace::order::{Source, Stream};
use std::cmp::Reverse;

/// Replays the candidates and keeps those that are worth it, the most valuable first.
pub(super) fn fill(
    evaluation: &mut Evaluation,
    candidates: Vec<Candidate>,
    source: &mut dyn Source,
    context: &EvalContext<'_>,
) -> Result<(), SimError> {
    let Some(base) = evaluation.policies.iter().find(|p| p.name == FIRST_TOUCH).map(|p| p.total) else {
        return Ok(());
    };
    let permille = i128::from(context.options.finding_permille);
    let refs = evaluation.totals.refs.saturating_sub(evaluation.totals.spins);
    let least = if permille == 0 { TotalCost::ZERO } else { noticed(context.setup.machine, base, refs) };
    let worth_it =
        |saving: TotalCost| saving > TotalCost::ZERO && saving >= least && saving.0 * 1000 >= base.0 * permille;
    let candidates: Vec<Candidate> =
        candidates.into_iter().filter(|c| worth_it(limit(c, &evaluation.objects))).collect();
    let (candidates, untried) = chosen(candidates, context.options.candidates_max);
    note_untried(evaluation, &untried);
    let changes: Vec<Vec<Transform>> = candidates.iter().map(|c| vec![c.remedy.clone()]).collect();
    let predicted = replay(&changes, source, context)?;
    let tried = candidates.into_iter().zip(changes).zip(predicted).map(|((candidate, change), predicted)| {
        let total = predicted.total();
        Tried { candidate, change, total, saving: base - total }
    });
    let tried: Vec<Tried> = tried.filter(|t| worth_it(t.saving)).collect();
    let mut found: Vec<(Finding, Transform)> = Vec::new();
    for t in smallest_of_best(&tried) {
        let finding = finding(t.candidate.clone(), t.total, t.saving, (base, &evaluation.objects));
        found.extend(t.change.iter().map(|transform| (finding.clone(), transform.clone())));
    }
    // Among equals the one that looked better.
    found.sort_by_key(|(finding, _)| Reverse(finding.saving));
    tell_of_copies(&mut found);
    keep_best(&mut found);
    let (findings, all): (Vec<Finding>, Vec<Transform>) = found.into_iter().unzip();
    evaluation.predicted_all = match findings.as_slice() {
        [] => None,
        [only] => Some(only.predicted_total),
        _ => replay(&[all], source, context)?.first().map(Predicted::total),
    };
    evaluation.findings = findings;
    Ok(())
}

/// What a reference that hits costs at least on machines with caches, where it is charged nothing: a cycle and what is
/// computed with it.
const HIT_PS: i128 = 1_000;

/// The least saving that anybody would notice: a hundredth of the memory cost and of what the hits take beside it. Where
/// nearly everything hits, large shares of the memory cost are shares of nothing. Zero where every reference is charged.
pub(super) fn noticed(machine: &Machine, base: TotalCost, refs: u64) -> TotalCost {
    if machine.sections.caches.is_none() || machine.unit != Unit::Picoseconds {
        return TotalCost::ZERO;
    }
    TotalCost((base.0 + i128::from(refs) * HIT_PS) / 100)
}

/// Replayed in one pass at most, alternatives included.
const REPLAYS_MAX: usize = 16;

fn are_alternatives(a: &Candidate, b: &Candidate) -> bool {
    (a.kind, a.object) == (b.kind, b.object)
}

/// What is replayed, at most so many with their alternatives, and what is not.
fn chosen(candidates: Vec<Candidate>, max: usize) -> (Vec<Candidate>, Vec<Candidate>) {
    let groups = candidates.chunk_by(are_alternatives).take(max).map(<[Candidate]>::len).sum::<usize>();
    let mut chosen = candidates;
    let untried = chosen.split_off(groups.min(REPLAYS_MAX.max(max)));
    (chosen, untried)
}

/// A candidate that was replayed.
struct Tried {
    candidate: Candidate,
    change: Vec<Transform>,
    total: TotalCost,
    saving: TotalCost,
}

/// Of alternative layouts what saves most, or a smaller change that saves nearly as much; of placements all.
fn smallest_of_best(tried: &[Tried]) -> Vec<&Tried> {
    let mut out = Vec::new();
    for alternatives in tried.chunk_by(|a, b| are_alternatives(&a.candidate, &b.candidate)) {
        if alternatives[0].candidate.kind.is_placement() {
            out.extend(alternatives);
            continue;
        }
        let best = alternatives.iter().map(|t| t.saving).max().unwrap_or(TotalCost::ZERO);
        out.extend(alternatives.iter().find(|t| t.saving.0 * 100 >= best.0 * NEARLY_PERCENT));
    }
    out
}

/// See [`smallest_of_best`].
const NEARLY_PERCENT: i128 = 97;

/// What a candidate can save at most. No placement of an object saves more than all that the object costs (estimates are no
/// such limit); what travels for nothing is known.
pub(super) fn limit(candidate: &Candidate, objects: &[ObjectRow]) -> TotalCost {
    if !candidate.kind.is_placement() {
        return candidate.estimate;
    }
    objects.iter().filter(|o| o.name == candidate.name).map(|o| o.cost).sum()
}

fn note_untried(evaluation: &mut Evaluation, untried: &[Candidate]) {
    let Some(first) = untried.first() else { return };
    evaluation.untried_candidates = untried.len() as u64;
    evaluation.evidence.add(Gap::untried(evaluation.untried_candidates, &first.name));
}

/// Building copies saves more than copying in a loop: says what the loop would save, since it is what one thinks of first.
fn tell_of_copies(found: &mut [(Finding, Transform)]) {
    let copied = |(f, t): &(Finding, Transform)| match t {
        Transform::CopyPerNode { making: Making::Copy, .. } => Some((f.object.clone(), f.saving_share)),
        _ => None,
    };
    let loops: Vec<(String, f64)> = found.iter().filter_map(copied).collect();
    for (finding, transform) in found {
        if let Transform::CopyPerNode { making: Making::Build, .. } = transform {
            let share = loops.iter().find(|l| l.0 == finding.object).map(|l| l.1);
            finding.advice += &match share {
                Some(share) => format!(" Copying it in a loop saves {:.1} % only.", share * 100.0),
                None => " Copying it in a loop is not worth it.".to_owned(),
            };
        }
    }
}

/// Of several ways to place one object only the best, and of several layouts of its lines only the best: they cannot be
/// had together.
fn keep_best(found: &mut Vec<(Finding, Transform)>) {
    let mut seen: Vec<(String, bool)> = Vec::new();
    found.retain(|(finding, _)| {
        let key = (finding.object.clone(), finding.kind.is_placement());
        let new = !seen.contains(&key);
        if new {
            seen.push(key);
        }
        new
    });
}

fn finding(
    candidate: Candidate,
    predicted_total: TotalCost,
    saving: TotalCost,
    (base, objects): (TotalCost, &[ObjectRow]),
) -> Finding {
    let object = objects.iter().find(|o| o.name == candidate.name);
    let share = saving.ratio_to(base);
    Finding {
        kind: candidate.kind,
        object: candidate.name,
        places: candidate.places,
        sentence: candidate.sentence,
        advice: candidate.advice,
        predicted_total,
        saving,
        saving_share: share,
        saving_interval: object.and_then(|o| scaled(o, share, base)),
    }
}

/// The interval of a part of an object's cost, in proportion to that of the whole.
fn scaled(object: &ObjectRow, share: f64, base: TotalCost) -> Option<Interval> {
    let whole = object.cost.ratio_to(base);
    let Interval { low, high } = object.share_interval?;
    (whole > 0.0).then(|| Interval { low: (low * share / whole).min(share), high: (high * share / whole).max(share) })
}

/// One pass with all these programs side by side; no pass if there are none.
fn replay(
    changes: &[Vec<Transform>],
    source: &mut dyn Source,
    context: &EvalContext<'_>,
) -> Result<Vec<Predicted>, SimError> {
    if changes.is_empty() {
        return Ok(Vec::new());
    }
    let parts = parts(changes.len(), context);
    let runs = changes.iter().map(|change| Changed::parts(context.setup, change, parts));
    let mut runs = runs.collect::<Result<Vec<_>, SimError>>()?.into_iter().flatten().collect::<Vec<_>>();
    let mut stream = source.stream(0)?;
    drive(runs.iter_mut().map(|run| (0, run)).collect(), 1, context.workers, |lots| read(&mut *stream, &mut lots[0]))?;
    let done = runs.into_iter().map(|run| Ok(run.finish()?.0)).collect::<Result<Vec<_>, SimError>>()?;
    let sum = |parts: &[Predicted]| {
        let mut sum = parts[0].clone();
        parts[1..].iter().for_each(|part| sum.absorb(part));
        sum
    };
    Ok(done.chunks(parts as usize).map(sum).collect())
}

/// Runs, each with a lot of references, of which there are so many; `fill` reads the next references of all lots, while those before them
/// are replayed, and says whether there may be more.
pub(super) fn drive<O: Observer + Send>(
    mut runs: Vec<(usize, &mut Changed<'_, O>)>,
    lots: usize,
    workers: &dyn Workers,
    mut fill: impl FnMut(&mut [Vec<Merged>]) -> Result<bool, SimError>,
) -> Result<(), SimError> {
    let (mut refs, mut next, mut more) = (vec![Vec::new(); lots], vec![Vec::new(); lots], Ok(true));
    while more? || refs.iter().any(|refs| !refs.is_empty()) {
        more = Ok(false);
        let now: &[Vec<Merged>] = &refs;
        let mut jobs: Vec<Job<'_>> =
            runs.iter_mut().map(|(lot, run)| Box::new(|| run.refs(&now[*lot])) as Job<'_>).collect();
        workers.run(&mut || more = fill(&mut next), &mut jobs);
        drop(jobs);
        std::mem::swap(&mut refs, &mut next);
        next.iter_mut().for_each(Vec::clear);
    }
    Ok(())
}

/// In how many parts each of so many programs is replayed, that no worker is idle. Each part rewrites all references, so there
/// are no more than that.
fn parts(programs: usize, context: &EvalContext<'_>) -> u64 {
    let wanted = context.workers.count().div_ceil(programs).next_power_of_two();
    colours(&context.setup).min(wanted as u64)
}

/// References read at once while those before them are replayed.
pub(super) const BATCH_REFS: usize = 1 << 16;

/// Reads the next references; whether there may be more.
fn read(stream: &mut dyn Stream, next: &mut Vec<Merged>) -> Result<bool, SimError> {
    while next.len() < BATCH_REFS {
        let Some(piece) = stream.pull()? else { return Ok(false) };
        next.extend_from_slice(piece.refs);
    }
    Ok(true)
}
