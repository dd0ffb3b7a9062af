//! How samples are drawn, and what the manifest of such a dataset says.
use homenode_trace::record::Op;
use homenode_trace::sample::{SampleUnit, Sampling};

/// How samples are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Each reference for itself.
    Independent {
        /// One in so many, at least 1.
        period: u32,
    },
    /// Every so many-th reference of a thread, from a random first one on: resonates with loops, as a counter without
    /// randomisation does.
    Fixed {
        /// References from one sample of a thread to the next, at least 1.
        period: u32,
    },
    /// Distances between samples of a thread are uniform from 1 to twice the period less one.
    RandomPeriod {
        /// Mean distance in references, at least 1.
        period: u32,
    },
    /// Of every `period` stretches of a thread one drawn at random, whole: loss in bursts.
    Bursts {
        /// One stretch in so many, at least 1.
        period: u32,
        /// References in a stretch, at least 1.
        length: u32,
    },
    /// In every window the first reference to each page, by whichever thread: all that page faults show. Each weighs one
    /// window and nothing says how many references followed it.
    FirstTouchers {
        /// References of the whole program in a window, at least 1.
        window_refs: u64,
        /// A power of two.
        page_bytes: u64,
    },
}

/// A sampler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thin {
    /// How samples are drawn.
    pub method: Method,
    /// Seed of what is drawn: equal seeds draw equal samples.
    pub seed: u64,
    /// Whether only loads are seen. Stores are then neither kept nor counted.
    pub loads_only: bool,
}

impl Thin {
    /// A sampler of loads and stores.
    pub const fn new(method: Method, seed: u64) -> Thin {
        Thin { method, seed, loads_only: false }
    }
    /// What the manifest of such a dataset says.
    pub fn sampling(&self) -> Sampling {
        let (unit, period) = match self.method {
            Method::Independent { period } | Method::Fixed { period } | Method::RandomPeriod { period } => {
                (SampleUnit::Reference, u64::from(period.max(1)))
            }
            Method::Bursts { period, .. } => (SampleUnit::Reference, u64::from(period.max(1))),
            Method::FirstTouchers { .. } => (SampleUnit::Window, 1),
        };
        let event = match self.method {
            Method::Independent { period } => format!("one reference in {period}, each for itself"),
            Method::Fixed { period } => format!("every {period}th reference of a thread"),
            Method::RandomPeriod { period } => format!("one reference in {period} on average, at random distances"),
            Method::Bursts { period, length } => format!("one stretch of {length} references in {period}"),
            Method::FirstTouchers { window_refs, .. } => format!("first toucher of a page in {window_refs} references"),
        };
        let sees_writes = !self.loads_only;
        Sampling { unit, event, period, sees_writes, ..Sampling::default() }
    }
    pub(crate) fn sees(&self, op: Op) -> bool {
        op != Op::Spin && !(self.loads_only && op == Op::Write)
    }
}
