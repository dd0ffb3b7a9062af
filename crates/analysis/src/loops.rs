//! Which loop or region of OpenMP each thread is in: what it costs there, and which loop each line of code belongs to.
use crate::feed::{Charge, Hit, Transfer};
use homenode_base::TotalCost;
use homenode_machine::Location;

const NONE: u32 = u32::MAX;
/// A site in several loops is in none of them.
const SEVERAL: u32 = u32::MAX - 1;
/// A lying thread number, or number of a construct, must not make a table as long as it says.
const MANY: usize = 1 << 16;

/// Sums of one construct, without what loops in it have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LoopSums {
    /// Entered, all threads.
    pub(crate) entered: u64,
    pub(crate) refs: u64,
    pub(crate) cost: TotalCost,
    pub(crate) remote: TotalCost,
    pub(crate) hits: TotalCost,
}

/// The accumulator.
#[derive(Debug, Default)]
pub(crate) struct Loops {
    /// By thread, what is open, innermost last.
    open: Vec<Vec<u32>>,
    /// By thread, the innermost.
    current: Vec<u32>,
    sums: Vec<LoopSums>,
    /// By site.
    of_site: Vec<u32>,
}

impl Loops {
    /// A thread begins or ends a construct.
    pub(crate) fn phase(&mut self, thread: u32, construct: u32, begins: bool) {
        let (t, c) = (thread as usize, construct as usize);
        if t >= MANY || c >= MANY {
            return;
        }
        if t >= self.open.len() {
            self.open.resize(t + 1, Vec::new());
            self.current.resize(t + 1, NONE);
        }
        if c >= self.sums.len() {
            self.sums.resize(c + 1, LoopSums::default());
        }
        let open = &mut self.open[t];
        if begins {
            self.sums[c].entered += 1;
            open.push(construct);
        } else if let Some(at) = open.iter().rposition(|o| *o == construct) {
            open.remove(at);
        }
        self.current[t] = open.last().copied().unwrap_or(NONE);
    }

    #[inline]
    fn here(&self, thread: u32) -> u32 {
        self.current.get(thread as usize).copied().unwrap_or(NONE)
    }

    /// Notes a reference.
    #[inline]
    pub(crate) fn reference(&mut self, thread: u32, site: u32, weight: u32) {
        if self.sums.is_empty() {
            return;
        }
        let here = self.here(thread);
        if let Some(sums) = self.sums.get_mut(here as usize) {
            sums.refs += u64::from(weight);
        }
        match self.of_site.get_mut(site as usize) {
            Some(known) if *known == here || *known == SEVERAL => {}
            Some(known) => *known = if *known == NONE { here } else { SEVERAL },
            None => self.meet(site, here),
        }
    }

    #[cold]
    fn meet(&mut self, site: u32, here: u32) {
        if (site as usize) < MANY * 16 {
            self.of_site.resize(site as usize + 1, NONE);
            self.of_site[site as usize] = here;
        }
    }

    /// Notes an access that the thread's last reference caused.
    #[inline]
    pub(crate) fn charge(&mut self, thread: u32, c: &Charge) {
        let here = self.here(thread);
        if let Some(sums) = self.sums.get_mut(here as usize) {
            sums.cost += c.cost;
            if c.home != Location::Node(c.node) {
                sums.remote += c.cost;
            }
        }
    }

    /// Notes a transfer.
    pub(crate) fn transfer(&mut self, thread: u32, t: &Transfer) {
        let here = self.here(thread);
        if let Some(sums) = self.sums.get_mut(here as usize) {
            sums.cost += t.cost;
        }
    }

    /// Notes a hit in the last level.
    #[inline]
    pub(crate) fn hit(&mut self, thread: u32, h: &Hit) {
        let here = self.here(thread);
        if let Some(sums) = self.sums.get_mut(here as usize) {
            sums.hits += h.cost;
        }
    }

    /// Adds what others have charged; where code ran, and who entered what, is known here.
    pub(crate) fn absorb(&mut self, charged: &Loops) {
        for (sums, more) in self.sums.iter_mut().zip(&charged.sums) {
            sums.cost += more.cost;
            sums.remote += more.remote;
            sums.hits += more.hits;
        }
    }

    /// Constructs with their sums.
    pub(crate) fn sums(&self) -> impl Iterator<Item = (u32, LoopSums)> {
        (0u32..).zip(self.sums.iter().copied())
    }

    /// The only construct in which this code ran.
    pub(crate) fn of_site(&self, site: u32) -> Option<u32> {
        self.of_site.get(site as usize).copied().filter(|c| *c < SEVERAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_belong_to_the_innermost_construct_and_code_to_the_only_one() {
        let mut loops = Loops::default();
        loops.reference(0, 9, 1);
        loops.phase(0, 0, true);
        loops.reference(0, 1, 2);
        loops.phase(0, 1, true);
        loops.phase(3, 1, true);
        loops.reference(0, 2, 3);
        loops.reference(3, 2, 1);
        loops.phase(0, 1, false);
        loops.reference(0, 4, 5);
        loops.phase(0, 7, false);
        loops.reference(3, 4, 1);
        let sums: Vec<(u64, u64)> = loops.sums().map(|(_, s)| (s.entered, s.refs)).collect();
        assert_eq!(sums[..2], [(1, 7), (2, 5)]);
        assert_eq!([1, 2, 4, 9].map(|s| loops.of_site(s)), [Some(0), Some(1), None, None]);
    }
}
