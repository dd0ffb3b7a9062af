//! What a sampler would have seen of an exact recording: a seeded, pure transform for experiments whose truth is known.
//!
//! [`Sampler`] draws them, [`Thinner`] from any [`Stream`]; [`thin_dataset`] writes a sampled dataset. Both draw the same
//! samples from the same seed. In every method but [`Method::FirstTouchers`] each reference is kept with the same
//! probability, 1 / period, and then weighs a period, so that the sum of weights over any set of references is an
//! unbiased estimate of their number. Spins are never kept: their count is the host's.
mod draw;
mod write;

use crate::TraceError;
use crate::manifest::Manifest;
use crate::order::{Piece, Stream};
use crate::record::{Merged, Op};
use crate::sample::{SampleUnit, Sampling};
use draw::Draw;
pub use write::thin_dataset;

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
    /// The same seed draws the same samples.
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
    fn sees(&self, op: Op) -> bool {
        op != Op::Spin && !(self.loads_only && op == Op::Write)
    }
}

/// Draws samples from references that come in order.
#[derive(Debug)]
pub struct Sampler {
    thin: Thin,
    draw: Draw,
    kept: Vec<Merged>,
}

impl Sampler {
    /// A sampler that has seen nothing; `manifest` says which threads share an address space.
    pub fn new(thin: Thin, manifest: &Manifest) -> Sampler {
        let space =
            |t: &crate::manifest::Thread| manifest.processes.get(t.process as usize).map_or(0, |p| p.address_space);
        let draw = Draw::new(thin, manifest.threads.iter().map(space).collect());
        Sampler { thin, draw, kept: Vec::new() }
    }
    /// Of the next references those that are kept, with their weights.
    pub fn samples(&mut self, refs: &[Merged]) -> &[Merged] {
        self.kept.clear();
        for r in refs.iter().filter(|r| self.thin.sees(r.op)) {
            self.kept
                .extend(self.draw.weight(r).map(|weight| Merged { weight: weight.saturating_mul(r.weight), ..*r }));
        }
        &self.kept
    }
}

/// The samples of a stream, and all its events.
#[derive(Debug)]
pub struct Thinner<S> {
    stream: S,
    sampler: Sampler,
}

impl<S: Stream> Thinner<S> {
    /// A sampler of `stream`; `manifest` says which threads share an address space.
    pub fn new(thin: Thin, manifest: &Manifest, stream: S) -> Thinner<S> {
        Thinner { stream, sampler: Sampler::new(thin, manifest) }
    }
}

impl<S: Stream> Stream for Thinner<S> {
    fn pull(&mut self) -> Result<Option<Piece<'_>>, TraceError> {
        let Some(piece) = self.stream.pull()? else { return Ok(None) };
        Ok(Some(Piece { refs: self.sampler.samples(piece.refs), event: piece.event }))
    }
}
