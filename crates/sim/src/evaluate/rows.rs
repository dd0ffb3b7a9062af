//! Results as rows.
use super::EvalContext;
use crate::consumers::ProgramBounds;
use crate::engine::Priced;
use crate::evaluation::{BindingRow, Evaluation, LoopRow, OptimumRow, PolicyRow, SampleSpread, ThreadRow};
use homenode_analysis::evidence::{Evidence, Gap};
use homenode_analysis::{Analysed, Candidate};
use homenode_base::TotalCost;
use homenode_machine::Unit;
use homenode_placement::Solved;
use homenode_placement::policies::Choice;
use homenode_trace::SampleUnit;

/// Everything but the findings, and the candidates for them.
pub(super) fn evaluation(
    context: &EvalContext<'_>,
    choices: &[Choice],
    priced: &Priced,
    analysed: Analysed,
) -> (Evaluation, Vec<Candidate>) {
    let machine = context.setup.machine;
    let mut optimum = optimum(priced.bounds, priced.totals.transfer_cost);
    if context.setup.options.sampled.is_some() {
        estimates_only(&mut optimum);
    }
    let reference = optimum.first().map(|o| o.total);
    let policies = choices.iter().zip(0..).map(|(c, i)| policy(c, priced, i, reference)).collect();
    let mut warnings = analysed.warnings;
    if !machine.cost.remote_access && machine.nodes() > 1 {
        warnings.push(format!(
            "{} cannot reference memory of other nodes, so there is no first touch: costs by object, line and pattern \
             count references as if all were local.",
            machine.name
        ));
    }
    warnings.extend(sampled_warnings(context));
    let mut evidence = evidence(priced.strangers, analysed.transfer_breakdown.unwatched.transfers, analysed.spread);
    dealt_anew(&analysed.loops, analysed.total).into_iter().for_each(|gap| evidence.add(gap));
    let evaluation = Evaluation {
        binding: BindingRow::default(),
        machine: machine.name.clone(),
        machine_title: machine.title.clone(),
        machine_sources: machine.sources.clone(),
        unit: match &machine.unit {
            Unit::Picoseconds => "ps".into(),
            Unit::Quantum(words) => words.clone(),
        },
        caches: machine.sections.caches.is_some(),
        block_bytes: context.setup.block_bytes,
        blocks: priced.blocks.len() as u64,
        threads: threads(context, priced),
        totals: priced.totals.clone(),
        policies,
        optimum,
        patterns: analysed.patterns,
        spread: analysed.spread,
        objects: analysed.objects,
        lines: analysed.lines,
        loops: analysed.loops,
        false_sharing: analysed.false_sharing,
        transfer_breakdown: analysed.transfer_breakdown,
        heat: analysed.heat,
        findings: Vec::new(),
        untried_candidates: 0,
        predicted_all: None,
        traffic: None,
        evidence,
        verified: None,
        warnings,
    };
    (evaluation, analysed.candidates)
}

/// Of 100 parts of the memory cost, what loops without a fixed schedule must have to be named.
const DEALT_PERCENT: i128 = 10;

/// Loops that matter and that deal their iterations anew each time, on several nodes.
fn dealt_anew(loops: &[LoopRow], total: TotalCost) -> Option<Gap> {
    let dealt: Vec<&LoopRow> = loops.iter().filter(|l| l.dealt_anew && l.cost > TotalCost::ZERO).collect();
    let cost: TotalCost = dealt.iter().map(|l| l.cost).sum();
    let percent = (cost.0 * 100 + total.0 / 2) / total.0.max(1);
    let named: Vec<(String, String)> = dealt.iter().map(|l| (l.construct.clone(), l.place.clone())).collect();
    (percent >= DEALT_PERCENT).then(|| Gap::schedule(&named, percent))
}

/// What the evaluation itself did not see.
fn evidence(strangers: u64, unwatched: u64, spread: Option<SampleSpread>) -> Evidence {
    let gaps = [
        (strangers > 0).then(|| Gap::strangers(strangers)),
        (unwatched > 0).then(|| Gap::pruned(unwatched)),
        spread.and_then(|s| Gap::few_samples(s.charged, s.effective)),
    ];
    let mut evidence = Evidence::default();
    gaps.into_iter().flatten().for_each(|gap| evidence.add(gap));
    evidence
}

fn threads(context: &EvalContext<'_>, priced: &Priced) -> Vec<ThreadRow> {
    let rows = context.setup.bindings.iter().zip(&priced.refs_of).zip(0..);
    let cost = |thread: u32| priced.cost_of.get(thread as usize).copied().unwrap_or_default();
    rows.map(|((binding, refs), thread)| ThreadRow {
        thread,
        cpu: binding.cpu,
        node: binding.node.0,
        refs: *refs,
        cost: cost(thread),
        hit_cost: priced.totals.hits.map(|_| priced.hits_of.get(thread as usize).copied().unwrap_or_default()),
    })
    .collect()
}

fn policy(choice: &Choice, priced: &Priced, i: usize, reference: Option<TotalCost>) -> PolicyRow {
    let (tally, total) = (&priced.policies[i], priced.total(i));
    PolicyRow {
        name: choice.to_string(),
        summary: choice.spec.summary.clone().into_owned(),
        total,
        local: tally.local,
        remote: tally.remote,
        global: tally.global,
        movement: tally.movement,
        transfer: priced.totals.transfer_cost,
        moves: tally.moves,
        copies: tally.copies,
        ratio: reference.map_or(1.0, |r| total.ratio_to(r)),
        spread: None,
    }
}

/// Of samples, only what does not depend on their order: a placement that moves blocks could follow every sample.
fn estimates_only(optimum: &mut Vec<OptimumRow>) {
    optimum.retain(|row| row.name == BEST_STATIC);
    for row in optimum {
        row.exact = false;
        row.summary =
            "Estimated: each block where its samples cost least; the truth is a little dearer, since the homes \
                       fit the same samples"
                .to_owned();
    }
}

fn sampled_warnings(context: &EvalContext<'_>) -> Vec<String> {
    let Some(counting) = context.setup.options.sampled else { return Vec::new() };
    let mut out = Vec::new();
    if context.setup.machine.sections.caches.is_some() && counting.unit == SampleUnit::Reference {
        out.push(
            "The samples are of all references and no caches are simulated for samples: each is charged as if it went to \
             memory."
                .to_owned(),
        );
    }
    out.push(
        "Policies that move blocks see samples in place of references and pay their moves in full: their totals only show \
         which way they tend."
            .to_owned(),
    );
    out
}

/// Name of the bound that needs no order.
const BEST_STATIC: &str = "best static";

/// The bounds, the lowest one (which policies are measured against) first.
pub(super) fn optimum(bounds: Option<ProgramBounds>, transfers: TotalCost) -> Vec<OptimumRow> {
    let Some(bounds) = bounds else { return Vec::new() };
    let row = |name: &str, exact, summary: &str, solved: Solved| OptimumRow {
        name: name.to_owned(),
        exact,
        summary: summary.to_owned(),
        total: solved.cost + transfers,
        movement: solved.movement,
        moves: solved.moves,
        copies: solved.copies,
        spread: None,
    };
    let replication = if bounds.exact {
        row(
            "optimum with replication",
            true,
            "No placement that moves and copies blocks, knowing the future, costs less",
            bounds.with_replication,
        )
    } else {
        row(
            "lower bound with replication",
            false,
            "No placement costs less; the machine's distances differ, so none may reach it",
            bounds.with_replication,
        )
    };
    vec![
        replication,
        row(
            "optimum without replication",
            true,
            "No placement that keeps one copy of each block and moves it, knowing the future, costs less",
            bounds.without_replication,
        ),
        row(
            BEST_STATIC,
            true,
            "No placement that leaves each block where it is for ever costs less",
            bounds.best_static,
        ),
    ]
}
