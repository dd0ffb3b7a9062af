//! What a sampled recording counts on the way.
use homenode_host::supervise::Outcome;
use homenode_sampling::SampleSource;
use homenode_sampling::heat::Heat;
use homenode_trace::{SampleUnit, Sampling};

/// Counts of a sampled recording that its manifest tells.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) unaddressed: u64,
    pub(super) throttled: u64,
    pub(super) lost: u64,
    /// Samples beyond the limit asked for, or of threads without an entry.
    pub(super) dropped: u64,
    /// Why the dataset could not be written on.
    pub(super) write: Option<String>,
    pub(super) notes: Vec<String>,
    pub(super) unit: SampleUnit,
    pub(super) event: String,
    pub(super) sees_writes: bool,
    pub(super) kernel_moves: Option<u64>,
    pub(super) duration_over: bool,
    /// How much memory was used.
    pub(super) heat: Heat,
    pub(super) outcome: Outcome,
    /// When the first and the last sample were taken.
    pub(super) between_ns: Option<(u64, u64)>,
}

impl Tally {
    /// Notes the time of a sample.
    pub(super) fn at(&mut self, ns: u64) {
        let (first, last) = self.between_ns.unwrap_or((ns, ns));
        self.between_ns = Some((first.min(ns), last.max(ns)));
    }
    /// Notes what a source says at its end.
    pub(super) fn told(&mut self, source: &dyn SampleSource) {
        self.lost = source.lost();
        self.unaddressed = self.unaddressed.saturating_add(source.unaddressed());
        self.notes.extend(source.notes());
        self.kernel_moves = source.kernel_moves();
    }
    /// Nanoseconds from the first to the last sample, 0 without samples.
    pub(super) fn elapsed_ns(&self) -> u64 {
        self.between_ns.map_or(0, |(first, last)| last - first)
    }
    /// What the manifest says of the samples; `period` is the mean of what one stands for.
    pub(super) fn sampling(&self, period: u64) -> Sampling {
        Sampling {
            unit: self.unit,
            event: self.event.clone(),
            period,
            lost: self.lost,
            unaddressed: self.unaddressed,
            sees_writes: self.sees_writes,
            kernel_moves: self.kernel_moves,
            elapsed_ns: self.elapsed_ns(),
        }
    }
}
