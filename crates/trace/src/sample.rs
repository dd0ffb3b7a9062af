//! What a sampled reference says beside address, size, operation and site. Absent is not 0: an exact recording has no
//! samples at all.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The extra columns of one sampled reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// How many occurrences of the unit this sample stands for, at least 1 (usually the sampling period).
    pub weight: u32,
    /// Latency in processor cycles; `None` if not measured.
    pub latency_cycles: Option<u32>,
    /// Where the data came from.
    pub source: DataSource,
    /// Processor the thread ran on; `None` if not recorded.
    pub cpu: Option<u16>,
}

impl Sample {
    /// One unit of which nothing else is known.
    pub const ONE: Sample = Sample { weight: 1, latency_cycles: None, source: DataSource::Unknown, cpu: None };
}

impl Default for Sample {
    fn default() -> Sample {
        Sample::ONE
    }
}

/// Where a sampled load found its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum DataSource {
    /// Not known (page faults, instruction streams without a source).
    #[default]
    Unknown = 0,
    /// A cache of the same core or node: no placement matters.
    Cache = 1,
    /// Memory of the processor's own node.
    LocalMemory = 2,
    /// Memory of another node.
    RemoteMemory = 3,
    /// A clean line in another node's cache: sharing, not placement.
    RemoteCache = 4,
    /// A modified line in another cache (HITM): sharing, not placement.
    RemoteModified = 5,
    /// Slow memory (CXL, persistent).
    SlowMemory = 6,
    /// Device or uncached.
    Io = 7,
    /// A page fault that brought the page in: it says who touched the page first and nothing about its use.
    FirstTouch = 8,
}

impl DataSource {
    /// All, in code order.
    pub const ALL: [DataSource; 9] = [
        DataSource::Unknown,
        DataSource::Cache,
        DataSource::LocalMemory,
        DataSource::RemoteMemory,
        DataSource::RemoteCache,
        DataSource::RemoteModified,
        DataSource::SlowMemory,
        DataSource::Io,
        DataSource::FirstTouch,
    ];
    /// Lower-case name as in exports.
    pub const fn name(self) -> &'static str {
        [
            "unknown",
            "cache",
            "local memory",
            "remote memory",
            "remote cache",
            "remote modified",
            "slow memory",
            "io",
            "first touch",
        ][self as usize]
    }
    /// Whether moving the page could change the cost of such an access. Unknown sources count: nothing else is known.
    pub const fn placement_matters(self) -> bool {
        matches!(
            self,
            DataSource::Unknown | DataSource::LocalMemory | DataSource::RemoteMemory | DataSource::SlowMemory
        )
    }
}

/// What one unit of weight is. Figures of different units cannot be added or compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SampleUnit {
    /// An executed memory reference.
    #[default]
    Reference,
    /// A reference that missed the caches (or whatever subset the event counts).
    Miss,
    /// A scan window in which the thread was the first to touch the page (NUMA-hinting faults, mprotect).
    Window,
}

/// The part of [`Sampling`] that decides what can be concluded from samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counting {
    /// What weights count.
    pub unit: SampleUnit,
    /// Whether stores are seen too.
    pub sees_writes: bool,
}

impl Sampling {
    /// What decides how samples are evaluated.
    pub const fn counting(&self) -> Counting {
        Counting { unit: self.unit, sees_writes: self.sees_writes }
    }
}

/// How a dataset was sampled: [`Manifest::sampling`](crate::Manifest::sampling). Its presence marks the dataset as
/// sampled: every reference has a [`Sample`] and counts with its weight.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampling {
    /// What weights count.
    pub unit: SampleUnit,
    /// Event in words, e.g. `cpu/mem-loads,ldlat=30/P`.
    pub event: String,
    /// Mean number of units between samples (or of windows per page); 0 = unknown.
    pub period: u64,
    /// Samples that the kernel or the buffer lost.
    #[serde(default)]
    pub lost: u64,
    /// Samples dropped here because they had no usable address.
    #[serde(default)]
    pub unaddressed: u64,
    /// Whether stores are seen too.
    #[serde(default)]
    pub sees_writes: bool,
    /// Pages that the kernel moved while sampling, if known.
    #[serde(default)]
    pub kernel_moves: Option<u64>,
    /// Nanoseconds from the first to the last sample, in the program's own time; 0 = unknown.
    #[serde(default)]
    pub elapsed_ns: u64,
}
