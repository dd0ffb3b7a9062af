//! Samples of references that come in order.
use crate::draw::Draw;
use crate::method::Thin;
use homenode_trace::TraceError;
use homenode_trace::manifest::Manifest;
use homenode_trace::order::{Piece, Stream};
use homenode_trace::record::Merged;

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
        let space = |t: &homenode_trace::manifest::Thread| {
            manifest.processes.get(t.process as usize).map_or(0, |p| p.address_space)
        };
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
