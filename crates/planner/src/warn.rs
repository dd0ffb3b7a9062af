//! Why a plan may not be worth much.
use crate::unit::Unit;
use homenode_placement::plan::{Unplaceable, Why};
use homenode_report::units::integer;
use homenode_trace::Manifest;
use homenode_trace::sample::SampleUnit;

/// Fewer samples than this say little about any program.
const SAMPLES_LEAST: u64 = 1000;
/// Nor do fewer samples a page, where each stands for one use.
const SAMPLES_A_PAGE: u64 = 2;
/// Less processor time than this, in microseconds, is mostly the start of a program.
const SAMPLED_US_LEAST: u64 = 1_000_000;
/// Fewer references than this are hardly a program's work.
const REFS_LEAST: u64 = 10_000;

/// What warnings rest on.
pub(crate) struct Basis<'a> {
    pub(crate) manifest: &'a Manifest,
    /// References or samples recorded.
    pub(crate) refs: u64,
    /// Uses counted, and those on pages that the plan places.
    pub(crate) counted: u64,
    pub(crate) covered: u64,
    pub(crate) units: &'a [Unit],
    pub(crate) unplaceable: &'a [Unplaceable],
}

/// Uses on pages that the plan places.
pub(crate) fn covered(units: &[Unit]) -> u64 {
    units.iter().filter(|u| u.placeable && u.home.is_some()).map(uses).fold(0, u64::saturating_add)
}

fn uses(unit: &Unit) -> u64 {
    unit.uses.iter().flatten().fold(0, |sum, n| sum.saturating_add(*n))
}

/// One sentence for each reason to mistrust the plan.
pub(crate) fn warnings(b: &Basis<'_>) -> Vec<String> {
    [few(b), short(b), incomplete(b), coverage(b)].into_iter().flatten().collect()
}

fn few(b: &Basis<'_>) -> Option<String> {
    let pages: usize = b.units.iter().map(|u| u.pages.len()).sum();
    let Some(sampling) = &b.manifest.sampling else {
        return (b.refs < REFS_LEAST)
            .then(|| format!("thin evidence: only {} references were recorded", integer(b.refs)));
    };
    let a_page = sampling.unit != SampleUnit::Window && b.refs < SAMPLES_A_PAGE.saturating_mul(pages as u64);
    (b.refs < SAMPLES_LEAST || a_page).then(|| {
        let (samples, pages) = (integer(b.refs), integer(pages as u64));
        format!("thin evidence: {samples} samples on {pages} pages; record longer or with a shorter interval")
    })
}

fn short(b: &Basis<'_>) -> Option<String> {
    let us = b.manifest.cpu_us.filter(|us| b.manifest.sampling.is_some() && *us < SAMPLED_US_LEAST)?;
    let seconds = us as f64 / 1e6;
    Some(format!(
        "thin evidence: the recording saw {seconds:.2} s of processor time, the start of the program included"
    ))
}

fn incomplete(b: &Basis<'_>) -> Option<String> {
    let m = b.manifest;
    let mut parts = Vec::new();
    if !m.complete || !m.ended.is_empty() {
        parts.push(if m.ended.is_empty() { "it did not end in order".to_owned() } else { m.ended.clone() });
    }
    if m.blind.dropped > 0 {
        parts.push(format!("{} references were dropped", integer(m.blind.dropped)));
    }
    if let Some(phase) = &m.roi {
        parts.push(format!("only the phase {phase} was recorded"));
    }
    (!parts.is_empty()).then(|| format!("incomplete evidence: {}", parts.join("; ")))
}

/// Less than half of the uses are on pages that the plan places.
fn coverage(b: &Basis<'_>) -> Option<String> {
    if b.counted == 0 {
        return Some("the recording shows no use of memory: the plan is empty".to_owned());
    }
    if b.covered >= b.counted.div_ceil(2) {
        return None;
    }
    let share = |n: u64| 100.0 * n as f64 / b.counted as f64;
    let mut reasons: Vec<(u64, &str)> = [Why::OtherProcess, Why::SmallObjects, Why::NoBuildId, Why::UnknownMemory]
        .iter()
        .map(|why| (sum(b.unplaceable, *why), why.words()))
        .collect();
    let left = b.units.iter().filter(|u| u.placeable && u.home.is_none()).map(uses).fold(0, u64::saturating_add);
    reasons.push((left, "the rule leaves the data where it is touched first"));
    reasons.sort_by_key(|(n, _)| std::cmp::Reverse(*n));
    let reasons = reasons.iter().filter(|(n, _)| *n > 0).take(3);
    let reasons: Vec<String> = reasons.map(|(n, words)| format!("{:.0} %: {words}", share(*n))).collect();
    Some(format!("the plan covers {:.0} % of the uses ({})", share(b.covered), reasons.join("; ")))
}

fn sum(unplaceable: &[Unplaceable], why: Why) -> u64 {
    unplaceable.iter().filter(|u| u.why == why).map(|u| u.uses).fold(0, u64::saturating_add)
}
