//! The document that the three outputs are views of.
use crate::capacity::CapacityDoc;
use crate::compare::{Comparison, first_touch};
use crate::layout::LayoutDoc;
use crate::memory_time::MemoryTime;
use crate::provenance::Provenance;
use crate::sampling::SamplingDoc;
use crate::source::Sources;
use crate::units::CostUnit;
use homenode_base::TotalCost;
use homenode_sim::Evaluation;
use homenode_sim::evidence::GapKind;
use homenode_trace::Manifest;
use homenode_trace::manifest::Blind;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Value of [`ReportDoc::schema`]; an identifier, described by `docs/schema/report.json`.
pub const REPORT_SCHEMA: &str = "https://github.com/homenode/homenode/schema/report-1";

/// What `homenode report --json` prints: what was recorded, what it would cost, what to change.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReportDoc {
    /// Identifier of this kind of document.
    #[schemars(extend("const" = REPORT_SCHEMA))]
    pub schema: &'static str,
    /// Where the data comes from.
    pub provenance: Provenance,
    /// How it was sampled; null for exact recordings. Every count and cost of a sampled one is an estimate.
    pub sampling: Option<SamplingDoc>,
    /// What the recording could not see, in sentences; empty if it saw everything.
    pub blind: Vec<String>,
    /// One evaluation per machine and block size; the first one is what the finding is about.
    pub evaluations: Vec<Evaluation>,
    /// What another layout of data would be worth to protocols of page coherence, with pages of the first evaluation; null on
    /// machines without prices for them.
    pub layout: Option<LayoutDoc>,
    /// How much DRAM is enough, with pages of the first evaluation; only on machines with memory that no processor is at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<CapacityDoc>,
    /// What the first evaluation's model says that the program waits for memory, beside the time that it took; only if it was recorded
    /// whole and with `--calibrate`, and costs are times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_time: Option<MemoryTime>,
    /// A second recording beside the first evaluation: what was predicted and what came true.
    pub compare: Option<Comparison>,
    /// Sentences about the whole report, e.g. that the recording ended early.
    pub warnings: Vec<String>,
    /// Lines of the program's source, for the page; not part of the document.
    #[serde(skip)]
    pub sources: Sources,
    /// Paths of source files by the names that places in the report have, for annotations; not part of the document.
    #[serde(skip)]
    pub paths: BTreeMap<String, String>,
}

impl ReportDoc {
    /// A report without comparison. `warnings` gains a sentence if the recording is incomplete.
    pub fn new(manifest: &Manifest, provenance: Provenance, evaluations: Vec<Evaluation>) -> ReportDoc {
        let mut warnings = Vec::new();
        let said = |e: &Evaluation| e.evidence.gaps.iter().any(|g| g.kind == GapKind::Incomplete);
        if !manifest.complete && !evaluations.iter().any(said) {
            let why = if manifest.ended.is_empty() { "the reason is not known" } else { &manifest.ended };
            warnings.push(format!(
                "The recording did not end in order ({why}); everything below is about a part of the run."
            ));
        }
        let memory_time = evaluations.first().and_then(|e| MemoryTime::of(manifest, e));
        warnings.extend(match &memory_time {
            Some(time) => time.doubt(),
            None => evaluations.first().and_then(|e| beyond_the_clock(manifest, e)),
        });
        ReportDoc {
            schema: REPORT_SCHEMA,
            provenance,
            sampling: sampling(manifest, evaluations.first()),
            blind: blind_sentences(manifest),
            evaluations,
            layout: None,
            capacity: None,
            memory_time,
            compare: None,
            warnings,
            sources: Sources::new(),
            paths: BTreeMap::new(),
        }
    }

    /// The JSON document on one line, with a newline at the end.
    pub fn to_json(&self) -> String {
        to_json_line(self)
    }
}

/// Says why a memory cost exceeds the processor time of the program, if it does.
fn beyond_the_clock(manifest: &Manifest, e: &Evaluation) -> Option<String> {
    let (unit, cost) = (CostUnit::of(&e.unit), first_touch(e)?.total);
    let used = TotalCost(i128::from(manifest.cpu_us?) * 1_000_000);
    (unit == CostUnit::Time && cost > used).then(|| {
        let why = match e.totals.misses {
            None => "every miss is charged in full, as if processors neither overlapped nor prefetched them",
            Some(_) => "the machine's caches and costs are not those that it ran on, or misses are charged whole of which nobody knows whether they are waited for",
        };
        format!(
            "The memory cost, {}, is more than the {} of processor time that the program used while it was recorded: {why}.",
            unit.cost(cost),
            unit.cost(used)
        )
    })
}

fn sampling(manifest: &Manifest, first: Option<&Evaluation>) -> Option<SamplingDoc> {
    let sampling = manifest.sampling.as_ref()?;
    let counted = first.and_then(|e| e.totals.sampled.clone()).unwrap_or_default();
    Some(SamplingDoc::new(sampling, &counted, first.and_then(|e| e.spread)))
}

pub(crate) fn to_json_line<T: Serialize>(value: &T) -> String {
    let mut text = serde_json::to_string(value).expect("plain structs with string keys always serialise");
    text.push('\n');
    text
}

/// What a recording counted but could not see, one sentence each.
pub fn blind_counts(blind: &Blind) -> Vec<String> {
    let counted = [
        (
            blind.dropped,
            "reference was dropped after recording had stopped or for want of a buffer",
            "references were dropped after recording had stopped or for want of a buffer",
        ),
        (
            blind.signal_refs,
            "reference was made inside a signal handler and not recorded",
            "references were made inside signal handlers and not recorded",
        ),
        (
            blind.unnumbered,
            "atomic operation has no sequence number, so its order is not known",
            "atomic operations have no sequence number, so their order is not known",
        ),
        (
            blind.wide,
            "access by vector code wider than 16 bytes is recorded as one range",
            "accesses by vector code wider than 16 bytes are recorded as one range each",
        ),
        (
            blind.unringed_threads,
            "thread was not recorded: no buffer was left for it",
            "threads were not recorded: no buffer was left for them",
        ),
    ];
    counted
        .into_iter()
        .filter(|(n, _, _)| *n > 0)
        .map(|(n, one, many)| format!("{} {}.", crate::units::integer(n), if n == 1 { one } else { many }))
        .collect()
}

/// What the recording could not see, one sentence each, from the counts and notes of its manifest.
pub fn blind_sentences(manifest: &Manifest) -> Vec<String> {
    let mut out = blind_counts(&manifest.blind);
    if !manifest.synchronised {
        out.push(
            "Synchronisation was not recorded, so results that depend on the order of threads are estimates."
                .to_owned(),
        );
    }
    out.extend(manifest.blind.notes.iter().cloned());
    out
}
