//! Threads that do the same at an object they take in turns: their code tells.
//!
//! Where the turns of two threads come from different code, one may hand on what the other takes, so that the recorded order
//! within a round counts. Where they come from the same code, which of the two is first in a round is the host's doing.
use crate::TraceError;
use crate::dataset::DatasetReader;
use crate::frame::DecodedFrame;

/// Turns of a thread that are looked at, spread over all of them.
pub(super) const LOOKED_AT: u64 = 64;

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

    /// Where a thread takes the object at this address in a turn that begins after so many references.
    pub(super) fn site(&mut self, thread: u32, object: u64, at: u64) -> Result<Site, TraceError> {
        let before = match at.checked_sub(1) {
            Some(before) => self.reference(thread, before)?,
            None => (0, 0),
        };
        let takes = if before.1 == object { before.0 } else { 0 };
        Ok([takes, self.reference(thread, at)?.0, self.reference(thread, at + 1)?.0])
    }
}

/// How often a thread takes an object where, in order of site.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally(Vec<(Site, u32)>);

impl Tally {
    pub(super) fn add(&mut self, site: Site) {
        match self.0.binary_search_by_key(&site, |s| s.0) {
            Ok(i) => self.0[i].1 += 1,
            Err(i) => self.0.insert(i, (site, 1)),
        }
    }
    /// The site that occurs most often; of several the smallest.
    fn usual(&self) -> Option<Site> {
        self.0.iter().rev().max_by_key(|s| s.1).map(|s| s.0)
    }
    fn has(&self, site: Option<Site>) -> bool {
        site.is_some_and(|site| self.0.binary_search_by_key(&site, |s| s.0).is_ok())
    }
}

/// Whether what each of two threads mostly does is done by the other one, too.
pub(super) fn alike(a: &Tally, b: &Tally) -> bool {
    a.has(b.usual()) && b.has(a.usual())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_alike_if_what_each_mostly_does_is_done_by_the_other() {
        let (push, pop) = ([1, 2, 3], [4, 5, 6]);
        let tally = |sites: &[Site]| {
            let mut tally = Tally::default();
            sites.iter().for_each(|s| tally.add(*s));
            tally
        };
        let [mostly_push, mostly_pop] = [tally(&[push, push, pop]), tally(&[push, pop, pop])];
        assert!(alike(&mostly_push, &mostly_pop));
        assert!(alike(&tally(&[push]), &mostly_push));
        assert!(!alike(&tally(&[push]), &tally(&[pop])));
        assert!(!alike(&tally(&[push]), &tally(&[pop, pop, pop])));
        assert!(!alike(&tally(&[]), &tally(&[push])));
    }
}
