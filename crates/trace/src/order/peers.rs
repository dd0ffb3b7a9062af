//! Threads that do the same at an object they take in turns: their code tells.
//!
//! Where the turns of two threads come from different code, one may hand on what the other takes, so that the recorded order
//! within a round counts. Where they come from the same code, which of the two is first in a round is the host's doing.
use crate::TraceError;
use crate::dataset::DatasetReader;
use crate::frame::DecodedFrame;
use hashbrown::HashMap;
use std::cmp::Reverse;

/// Turns of a thread that are looked at, spread over all of them.
pub(super) const LOOKED_AT: u32 = 64;

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
        let here = |f: &DecodedFrame| at.checked_sub(f.first_ref).filter(|i| *i < f.len() as u64);
        if self.loaded.is_none_or(|of| of.0 != thread) || here(&self.frame).is_none() {
            let Some(frame) = self.data.frame_of(thread, at) else { return Ok((0, 0)) };
            self.loaded = None;
            self.data.read_frame(thread, frame, &mut self.bytes, &mut self.frame)?;
            self.loaded = Some((thread, frame));
        }
        Ok(here(&self.frame).map_or((0, 0), |i| {
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

/// Code of turns by number.
#[derive(Debug, Default)]
struct Sites {
    all: Vec<Site>,
    numbers: HashMap<Site, u32>,
}

impl Sites {
    fn number(&mut self, site: Site) -> u32 {
        *self.numbers.entry(site).or_insert_with(|| {
            self.all.push(site);
            self.all.len() as u32 - 1
        })
    }
}

/// Sites of a thread at an object that are kept beside each other.
const FEW: usize = 3;

/// How often threads take objects where: of each, the sites with a count that is not 0.
#[derive(Debug)]
pub(super) struct Tallies {
    sites: Sites,
    few: Vec<[(u32, u32); FEW]>,
    /// What did not find room among the few.
    more: HashMap<u32, Vec<(u32, u32)>>,
}

impl Tallies {
    /// So many empty ones.
    pub(super) fn new(tallies: usize) -> Tallies {
        Tallies { sites: Sites::default(), few: vec![[(0, 0); FEW]; tallies], more: HashMap::new() }
    }

    /// Once more at this site.
    pub(super) fn add(&mut self, tally: u32, site: Site) {
        let site = self.sites.number(site);
        let room = self.few[tally as usize].iter_mut().find(|s| s.0 == site || s.1 == 0);
        if let Some(found) = room {
            *found = (site, found.1 + 1);
            return;
        }
        let more = self.more.entry(tally).or_default();
        match more.iter_mut().find(|s| s.0 == site) {
            Some(found) => found.1 += 1,
            None => more.push((site, 1)),
        }
    }

    fn of(&self, tally: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let more = self.more.get(&tally).into_iter().flatten();
        self.few[tally as usize].iter().chain(more).copied().filter(|s| s.1 > 0)
    }

    /// The site that occurs most often; of several the smallest.
    fn usual(&self, tally: u32) -> Option<u32> {
        self.of(tally).max_by_key(|s| (s.1, Reverse(self.sites.all[s.0 as usize]))).map(|s| s.0)
    }

    fn has(&self, tally: u32, site: Option<u32>) -> bool {
        site.is_some_and(|site| self.of(tally).any(|s| s.0 == site))
    }

    /// Whether what each of two threads mostly does is done by the other one, too.
    pub(super) fn alike(&self, a: u32, b: u32) -> bool {
        self.has(a, self.usual(b)) && self.has(b, self.usual(a))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_alike_if_what_each_mostly_does_is_done_by_the_other() {
        let (push, pop) = ([1, 2, 3], [4, 5, 6]);
        let other = |n: u64| [n, n, n];
        let all: [&[Site]; 6] = [
            &[push, push, pop],
            &[push, pop, pop],
            &[push],
            &[pop],
            &[],
            &[other(7), other(8), other(9), other(10), pop, pop, other(10), pop],
        ];
        let mut tallies = Tallies::new(all.len());
        for (tally, sites) in (0..).zip(all) {
            sites.iter().for_each(|s| tallies.add(tally, *s));
        }
        for (a, b, alike) in
            [(0, 1, true), (2, 0, true), (2, 3, false), (2, 1, false), (4, 2, false), (5, 3, true), (5, 0, false)]
        {
            assert_eq!((tallies.alike(a, b), tallies.alike(b, a)), (alike, alike), "{a} and {b}");
        }
        // Of several that occur as often the smallest, whichever came first.
        let mut tallies = Tallies::new(1);
        [pop, push].iter().for_each(|s| tallies.add(0, *s));
        assert_eq!(tallies.usual(0).map(|n| tallies.sites.all[n as usize]), Some(push));
    }
}
