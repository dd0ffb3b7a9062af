//! What a sampled recording knows and what sampling cannot see, in figures and in sentences.
use crate::units::{count, percent, plural};
use homenode_sim::evaluation::{Interval, SampleSpread, SampledTotals, SourceRow};
use homenode_trace::{DataSource, SampleUnit, Sampling};
use schemars::JsonSchema;
use serde::Serialize;

/// How a recording was sampled, and what follows from that for every number beside it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SamplingDoc {
    /// What weights count: `reference`, `miss` or `window`.
    pub unit: SampleUnit,
    /// The event in words.
    pub event: String,
    /// Mean number of units between samples; 0 = unknown.
    pub period: u64,
    /// Samples.
    pub samples: u64,
    /// Sum of their weights: estimated units.
    pub weight: u64,
    /// Samples that the kernel or a buffer lost.
    pub lost: u64,
    /// Of all samples that were taken, lost ones included.
    #[schemars(with = "Option<f64>")]
    pub lost_share: f64,
    /// Samples dropped for want of an address.
    pub unaddressed: u64,
    /// Whether stores are seen.
    pub sees_writes: bool,
    /// Pages that the kernel moved meanwhile; null if unknown.
    pub kernel_moves: Option<u64>,
    /// Samples by where their data came from.
    pub sources: Vec<SourceRow>,
    /// How they scatter; null where nothing was evaluated.
    pub spread: Option<SampleSpread>,
    /// What the numbers mean, in sentences.
    pub known: Vec<String>,
    /// What sampling cannot see, in sentences.
    pub unseen: Vec<String>,
}

impl SamplingDoc {
    /// The facts of a manifest, what was counted, and how it scatters if it was evaluated.
    pub fn new(s: &Sampling, counted: &SampledTotals, spread: Option<SampleSpread>) -> SamplingDoc {
        let taken = counted.samples.saturating_add(s.lost).saturating_add(s.unaddressed);
        SamplingDoc {
            unit: s.unit,
            event: s.event.clone(),
            period: s.period,
            samples: counted.samples,
            weight: counted.weight,
            lost: s.lost,
            lost_share: if taken == 0 { 0.0 } else { s.lost as f64 / taken as f64 },
            unaddressed: s.unaddressed,
            sees_writes: s.sees_writes,
            kernel_moves: s.kernel_moves,
            sources: counted.sources.clone(),
            spread,
            known: known(s, counted, spread),
            unseen: unseen(s, counted, taken),
        }
    }

    /// One line: `Estimated from 12.3 k samples (…), one in about 1,000 references`.
    pub fn headline(&self) -> String {
        let every = match self.unit {
            SampleUnit::Window => "first touches of a page in a window".to_owned(),
            unit if self.period > 1 => format!("one in about {} {}", count(self.period), unit_words(unit, self.period)),
            unit => unit_words(unit, 2).to_owned(),
        };
        format!("Estimated from {} ({}): {every}.", plural(self.samples, "sample", "samples"), self.event)
    }
}

/// What is counted, in words.
fn unit_words(unit: SampleUnit, n: u64) -> &'static str {
    match (unit, n) {
        (SampleUnit::Reference, 1) => "reference",
        (SampleUnit::Reference, _) => "references",
        (SampleUnit::Miss, 1) => "miss",
        (SampleUnit::Miss, _) => "misses",
        (SampleUnit::Window, 1) => "window",
        (SampleUnit::Window, _) => "windows",
    }
}

/// A data source in words.
pub(crate) fn source_words(source: DataSource) -> &'static str {
    match source {
        DataSource::Unknown => "not known",
        DataSource::Cache => "near caches",
        DataSource::LocalMemory => "local memory",
        DataSource::RemoteMemory => "remote memory",
        DataSource::RemoteCache => "clean line in a remote cache",
        DataSource::RemoteModified => "modified line in another cache",
        DataSource::SlowMemory => "slow memory",
        DataSource::Io => "device",
        DataSource::FirstTouch => "first touch of the page",
    }
}

/// `40 % (38 to 42 %)`, or the share alone.
pub(crate) fn share_with_interval(share: f64, interval: Option<Interval>) -> String {
    match interval {
        Some(i) => format!("{} ({})", percent(share), range(i)),
        None => percent(share),
    }
}

/// `38 to 42 %`.
pub(crate) fn range(i: Interval) -> String {
    let low = percent(i.low);
    format!("{} to {}", low.strip_suffix(" %").unwrap_or(&low), percent(i.high))
}

fn known(s: &Sampling, counted: &SampledTotals, spread: Option<SampleSpread>) -> Vec<String> {
    let mut out = vec![match s.unit {
        SampleUnit::Reference => {
            "Counts and costs are sums of weights: each sample stands for the references from it to \
             the next one, so they estimate all references."
                .to_owned()
        }
        SampleUnit::Miss => {
            "Counts and costs are sums of weights: each sample stands for as many misses of the recorded \
             machine's caches, and each is charged as one access to memory."
                .to_owned()
        }
        SampleUnit::Window => {
            "Counts and costs are windows: each sample says that a thread was the first to touch a page \
             in a scan window, and is charged as one access."
                .to_owned()
        }
    }];
    if let Some(spread) = spread.filter(|s| s.charged > 0) {
        let independent = count(spread.effective.round() as u64);
        let bursts = if spread.design_effect > 1.5 { ", since they come in bursts" } else { "" };
        out.push(format!(
            "Ranges of shares are 95 % confidence intervals; {} say as much about them as {independent} independent ones \
             of equal weight{bursts}.",
            plural(spread.charged, "sample that costs something", "samples that cost something"),
        ));
    }
    let free: u64 = counted.sources.iter().filter(|r| !r.charged).map(|r| r.weight).sum();
    if free > 0 && counted.weight > 0 {
        out.push(format!(
            "{} of the {} were served by caches or devices and are not charged: no placement of pages changes their cost.",
            percent(free as f64 / counted.weight as f64),
            unit_words(s.unit, 2),
        ));
    }
    out
}

fn unseen(s: &Sampling, counted: &SampledTotals, taken: u64) -> Vec<String> {
    let mut out = Vec::new();
    if s.lost > 0 {
        out.push(format!(
            "{} lost ({}): what the program did then is missing, and no interval knows of it.",
            plural(s.lost, "sample was", "samples were"),
            percent(s.lost as f64 / taken.max(1) as f64)
        ));
    }
    if s.unaddressed > 0 {
        out.push(format!("{} dropped for want of an address.", plural(s.unaddressed, "sample was", "samples were")));
    }
    if s.unit == SampleUnit::Window {
        out.push(
            "How often a page is used within a window, and by whom after the first thread, does not show; two threads that \
             take turns are told apart only over many windows."
                .to_owned(),
        );
    }
    if !s.sees_writes {
        out.push(
            "Stores are not seen: memory that is only written is missing, and sharing looks read-only.".to_owned(),
        );
    }
    let known_source = |r: &&SourceRow| r.source != DataSource::Unknown;
    if s.unit != SampleUnit::Window && !counted.sources.iter().any(|r| known_source(&r)) {
        out.push("Where the data came from is not known, so cache hits are charged like memory.".to_owned());
    }
    match s.kernel_moves {
        Some(n) if n > 0 => out.push(format!(
            "The kernel moved {} while samples were taken: what is remote or local changed under way.",
            plural(n, "page", "pages")
        )),
        None if s.unit == SampleUnit::Window => {
            out.push("Whether the kernel moved pages meanwhile is not known.".to_owned());
        }
        _ => {}
    }
    if !counted.sources.iter().any(|r| r.source == DataSource::FirstTouch) {
        out.push(
            "The first touch of a page is mostly not sampled: homes under first touch are those of the first sample, unless \
             the program keeps using its memory as it began."
                .to_owned(),
        );
    }
    out.push(
        "The order of references of different threads is not in samples: false sharing, and bounds for placements that \
         move blocks, are not given."
            .to_owned(),
    );
    out
}
