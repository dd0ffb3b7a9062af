//! What the candidates are worth: each is replayed, all of them in one pass over the trace.
use super::{EvalContext, FIRST_TOUCH, Source};
use crate::SimError;
use crate::evaluation::{Evaluation, Finding, Interval, ObjectRow};
use crate::evidence::Gap;
use crate::whatif::{Predicted, Transform, WhatIf};
use homenode_analysis::{Candidate, Making};
use homenode_base::{TotalCost, VirtualTime};
use homenode_trace::order::Consumer;
use homenode_trace::{Event, Merged};
use std::cmp::Reverse;

/// Replays the candidates and keeps those that are worth it, the most valuable first.
pub(super) fn fill(
    evaluation: &mut Evaluation,
    candidates: Vec<Candidate>,
    source: &mut Source<'_>,
    context: &EvalContext<'_>,
) -> Result<(), SimError> {
    let Some(base) = evaluation.policies.iter().find(|p| p.name == FIRST_TOUCH).map(|p| p.total) else {
        return Ok(());
    };
    let permille = i128::from(context.options.finding_permille);
    let worth_it = |saving: TotalCost| saving > TotalCost::ZERO && saving.0 * 1000 >= base.0 * permille;
    // No change to an object saves more than all that the object costs; estimates are no such limit.
    let mut candidates: Vec<Candidate> =
        candidates.into_iter().filter(|c| worth_it(limit(c, &evaluation.objects))).collect();
    let untried = candidates.split_off(candidates.len().min(context.options.candidates_max));
    note_untried(evaluation, &untried);
    let changes: Vec<Vec<Transform>> = candidates.iter().map(|c| vec![Transform::from(&c.remedy)]).collect();
    let predicted = replay(&changes, source, context)?;
    let mut found: Vec<(Finding, Transform)> = Vec::new();
    for ((candidate, change), predicted) in candidates.into_iter().zip(changes).zip(predicted) {
        let saving = base - predicted.total();
        if worth_it(saving) {
            let finding = finding(candidate, predicted.total(), saving, (base, &evaluation.objects));
            found.extend(change.into_iter().map(|transform| (finding.clone(), transform)));
        }
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

/// What all objects of the candidate's name cost.
fn limit(candidate: &Candidate, objects: &[ObjectRow]) -> TotalCost {
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
    source: &mut Source<'_>,
    context: &EvalContext<'_>,
) -> Result<Vec<Predicted>, SimError> {
    if changes.is_empty() {
        return Ok(Vec::new());
    }
    let runs = changes.iter().map(|change| WhatIf::new(context.setup, change));
    let mut fan = Fan(runs.collect::<Result<Vec<_>, SimError>>()?);
    source(0, &mut fan)?;
    fan.0.into_iter().map(WhatIf::finish).collect()
}

/// Gives everything to several replays.
struct Fan<'m>(Vec<WhatIf<'m>>);

impl Consumer for Fan<'_> {
    fn refs(&mut self, refs: &[Merged]) {
        self.0.iter_mut().for_each(|run| run.refs(refs));
    }
    fn event(&mut self, _: &Event, _: VirtualTime) {}
}
