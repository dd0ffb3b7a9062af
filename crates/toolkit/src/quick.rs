//! `homenode report --quick`: a first answer, from some of the pages.
use crate::info::{provenance, unseen};
use crate::report::{Passes, Plan, ReportRequest, blame, order_name, plan};
use crate::threads::Threads;
use homenode_command::dataset::{open, open_any, refs};
use homenode_command::{Failure, Progress};
use homenode_machine::Unit;
use homenode_report::quick::PagesDoc;
use homenode_report::text::{Style, render_quick};
use homenode_report::units::bytes;
use homenode_report::{QuickDoc, QuickFacts};
use homenode_sim::evaluation::BindingRow;
use homenode_sim::evidence::{self, Evidence};
use homenode_sim::names::NameTable;
use homenode_sim::{EvalContext, EvalOptions, MissModel, PageDraw, ReplayOptions, Setup, estimate, estimate_pages};
use homenode_timed::tiers::TierMachine;
use homenode_trace::dataset::DatasetReader;
use std::path::Path;

/// Which colours are drawn: the same for whoever asks again.
const SEED: u64 = 1;

/// Changes that are tried at most: each takes a replay.
const CHANGES_MAX: usize = 6;

/// References from which on a first answer is worth having before the whole one: seconds of waiting.
const FIRST_REFS: u64 = 50_000_000;

/// Says a first answer where somebody waits for a whole report and it can be had.
pub fn first_answer(request: &ReportRequest, progress: &mut dyn Progress) {
    let waits = || open(&request.dataset).is_ok_and(|opened| refs(&opened.reader) >= FIRST_REFS);
    if progress.is_watched()
        && request.compare.is_none()
        && !request.charge_spins
        && waits()
        && let Ok(doc) = quick(request, false, progress)
    {
        progress.say(&format!("First answer: {}", doc.sentence));
    }
}

/// Whether a dataset has some pages alone, so that there is no other answer than [`quick`].
pub fn has_some_pages(dataset: &Path) -> Result<bool, Failure> {
    Ok(open_any(dataset)?.reader.manifest().pages.is_some())
}

/// Replays some of the pages of a dataset, or those that it has, and says what all of them come to; with `changes`, also what changes of
/// the program that have data where it is would save.
pub fn quick(request: &ReportRequest, changes: bool, progress: &mut dyn Progress) -> Result<QuickDoc, Failure> {
    let plan = plan(request)?;
    let opened = open_any(&request.dataset)?;
    let reader = &opened.reader;
    check(&plan, reader)?;
    let pages = reader.manifest().pages;
    let machine = &plan.bound_machine.machine;
    let map = plan.bound_machine.map(reader).map_err(|e| Failure::usage(format!("--map: {e}")))?;
    let bindings = homenode_sim::bindings(&map, |t| reader.address_space(t));
    let options = ReplayOptions { model: request.model, ..plan.bound_machine.replay_options(reader) };
    let setup = Setup { machine, bindings: &bindings, block_bytes: plan.blocks[0], options, waits: &[] };
    let threads = Threads::new();
    let options = EvalOptions {
        finding_permille: request.threshold_percent * 10,
        candidates_max: if changes { CHANGES_MAX } else { 0 },
        ..EvalOptions::default()
    };
    let context = EvalContext { setup, policies: &plan.policies, options, workers: &threads };
    let names = NameTable::new(reader)?;
    let passes = 1 + u64::from(pages.is_some()) + u64::from(changes);
    let mut source = Passes::new(reader, request.order, progress, refs(reader) * passes);
    source.stage = Some(if pages.is_some() { "an estimate" } else { "a first answer" });
    let certain = reader.manifest().certain.clone();
    let draw = |drawn| PageDraw { certain, ..PageDraw::recorded(drawn, pages.map_or(0, |p| p.left_out)) };
    let found = match pages.and_then(|p| p.drawn()) {
        None => estimate(&mut source, &names.follow(), &context, SEED),
        Some(drawn) => estimate_pages(&mut source, &names.follow(), &context, draw(drawn)),
    };
    let mut found = found.map_err(blame)?;
    found.refs += pages.map_or(0, |p| p.left_out);
    let mut gaps = Evidence::default();
    source.apart.iter().for_each(|a| gaps.add(evidence::Gap::apart(a)));
    if found.strangers > 0 {
        gaps.add(evidence::Gap::strangers(found.strangers));
    }
    evidence::of_recording(reader.manifest(), reader.symbols(), reader.events())
        .gaps
        .into_iter()
        .for_each(|g| gaps.add(g));
    let fits = TierMachine::has(machine)
        .then(|| "All data is taken to fit in DRAM; the whole report says how much is enough.".to_owned());
    let no_base = (changes && found.changes.is_none()).then(|| {
        "No changes were tried: this machine has no first touch, of which they would save something.".to_owned()
    });
    let facts = QuickFacts {
        provenance: provenance(&request.dataset, reader, order_name(request.order)),
        machine: machine.name.clone(),
        unit: match &machine.unit {
            Unit::Picoseconds => "ps".to_owned(),
            Unit::Quantum(words) => words.clone(),
        },
        block_bytes: plan.blocks[0],
        binding: BindingRow::of(map.summary()).sentence(),
        pages: PagesDoc::of(reader.manifest()),
        threshold: f64::from(request.threshold_percent) / 100.0,
        evidence: gaps,
        warnings: map.warnings().into_iter().chain(unseen(reader)).chain(fits).chain(no_base).collect(),
    };
    Ok(QuickDoc::new(facts, found))
}

/// The first answer for a terminal of this many columns.
pub fn quick_text(doc: &QuickDoc, width: usize, colour: bool) -> String {
    render_quick(doc, Style { width, colour })
}

/// Whether a part of the pages can say it.
fn check(plan: &Plan<'_>, reader: &DatasetReader) -> Result<(), Failure> {
    let refused = |why: &str| Err(Failure::usage(format!("--quick: {why}")));
    if reader.manifest().sampling.is_some() {
        return refused("this recording is of samples, of which there are few enough; report without --quick");
    }
    if let Some(pages) = reader.manifest().pages {
        if reader.shared().moves() {
            return Err(Failure::input(
                "memory that has different addresses in different processes was drawn for each apart: record without --sample",
            ));
        }
        if plan.blocks[0] > pages.page_bytes {
            let (has, wanted) = (bytes(pages.page_bytes), bytes(plan.blocks[0]));
            return Err(Failure::usage(format!(
                "blocks of {wanted}: this recording is of pages of {has}; record with --sample-page {}",
                plan.blocks[0]
            )));
        }
    }
    if plan.blocks.len() > 1 {
        return refused("it answers for one size of blocks; give one --block");
    }
    if plan.request.model == MissModel::Overlap {
        return refused("which misses overlap depends on all pages; --model latency, or report without --quick");
    }
    Ok(())
}
