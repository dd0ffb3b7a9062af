//! Threads that do the same at an object they take in turns: their code tells.
//!
//! Where the turns of two threads come from different code, one may hand on what the other takes, so that the recorded order
//! within a round counts. Where they come from the same code, which of the two is first in a round is the host's doing.
use crate::TraceError;
use crate::dataset::DatasetReader;
use crate::frame::DecodedFrame;

/// Turns of a thread that are looked at, spread over all of them.
const LOOKED_AT: usize = 64;

/// References by their ordinal.
pub(super) struct Code<'a> {
    data: &'a DatasetReader,
    frame: DecodedFrame,
    bytes: Vec<u8>,
    loaded: Option<(u32, usize)>,
}

/// Code of a turn: of the reference that takes the object, if it has one, and of the two that follow.
pub(super) type Site = [u64; 3];

impl<'a> Code<'a> {
    pub(super) fn new(data: &'a DatasetReader) -> Code<'a> {
        Code { data, frame: DecodedFrame::default(), bytes: Vec::new(), loaded: None }
    }

    /// Program counter and address of a reference; 0 beyond the last.
    fn reference(&mut self, thread: u32, at: u64) -> Result<(u64, u64), TraceError> {
        let Some(frame) = self.data.frame_of(thread, at) else { return Ok((0, 0)) };
        if self.loaded != Some((thread, frame)) {
            self.loaded = None;
            self.data.read_frame(thread, frame, &mut self.bytes, &mut self.frame)?;
            self.loaded = Some((thread, frame));
        }
        let index = at.checked_sub(self.frame.first_ref).filter(|i| *i < self.frame.len() as u64);
        Ok(index.map_or((0, 0), |i| {
            let r = self.frame.get(i as usize);
            (self.frame.pcs[r.site as usize], r.addr)
        }))
    }

    /// Where a thread takes the object at this address, of turns that begin after so many references each; sorted.
    pub(super) fn sites(&mut self, thread: u32, object: u64, turns: &[u64]) -> Result<Vec<Site>, TraceError> {
        let looked_at = turns.len().min(LOOKED_AT);
        let mut sites = Vec::with_capacity(looked_at);
        for n in 0..looked_at {
            let at = turns[n * turns.len() / looked_at];
            let before = match at.checked_sub(1) {
                Some(before) => self.reference(thread, before)?,
                None => (0, 0),
            };
            let takes = if before.1 == object { before.0 } else { 0 };
            sites.push([takes, self.reference(thread, at)?.0, self.reference(thread, at + 1)?.0]);
        }
        sites.sort_unstable();
        Ok(sites)
    }
}

/// The site that occurs most often; of several the smallest.
fn usual(sites: &[Site]) -> Option<&Site> {
    sites.chunk_by(|a, b| a == b).rev().max_by_key(|run| run.len()).map(|run| &run[0])
}

/// Whether what each of two threads mostly does is done by the other one, too.
pub(super) fn alike(a: &[Site], b: &[Site]) -> bool {
    let has = |all: &[Site], site: Option<&Site>| site.is_some_and(|s| all.binary_search(s).is_ok());
    has(a, usual(b)) && has(b, usual(a))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_alike_if_what_each_mostly_does_is_done_by_the_other() {
        let (push, pop) = ([1, 2, 3], [4, 5, 6]);
        let [mostly_push, mostly_pop] = [[push, push, pop], [push, pop, pop]];
        assert!(alike(&mostly_push, &mostly_pop));
        assert!(alike(&[push], &mostly_push));
        assert!(!alike(&[push], &[pop]));
        assert!(!alike(&[push], &[pop, pop, pop]));
        assert!(!alike(&[], &[push]));
    }
}
