//! Lives of threads: which of them had ended before another one began.
//!
//! Threads are named by *rank*, their place in the order of creation: a thread before those it creates, these in the
//! order in which it does, each with its own descendants. Sets of ranks are lists of ranges, because threads that end
//! together were mostly created one after the other.
use std::sync::Arc;

/// A set of ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranks {
    /// First and last of each run, ascending, with a gap between any two.
    runs: Arc<Vec<(u32, u32)>>,
}

impl Ranks {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }
    /// Whether this rank is among them.
    pub fn contains(&self, rank: u32) -> bool {
        let after = self.runs.partition_point(|r| r.0 <= rank);
        after > 0 && self.runs[after - 1].1 >= rank
    }
    /// Adds one.
    pub fn insert(&mut self, rank: u32) {
        if !self.contains(rank) {
            self.merge(&[(rank, rank)]);
        }
    }
    /// Adds all of another set.
    pub fn extend(&mut self, other: &Ranks) {
        if self.runs.is_empty() {
            self.runs = other.runs.clone();
        } else if !Arc::ptr_eq(&self.runs, &other.runs) && !other.runs.is_empty() {
            self.merge(&other.runs);
        }
    }

    fn merge(&mut self, other: &[(u32, u32)]) {
        let mut all: Vec<(u32, u32)> = self.runs.iter().chain(other).copied().collect();
        all.sort_unstable();
        let mut runs: Vec<(u32, u32)> = Vec::with_capacity(all.len());
        for (first, last) in all {
            match runs.last_mut() {
                Some(run) if first <= run.1.saturating_add(1) => run.1 = run.1.max(last),
                _ => runs.push((first, last)),
            }
        }
        self.runs = Arc::new(runs);
    }
}

impl FromIterator<u32> for Ranks {
    fn from_iter<I: IntoIterator<Item = u32>>(ranks: I) -> Ranks {
        let mut set = Ranks::default();
        set.merge(&ranks.into_iter().map(|r| (r, r)).collect::<Vec<_>>());
        set
    }
}

/// The life of one thread beside those of the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Life {
    /// Place of the thread in the order of creation, from 0.
    pub rank: u32,
    /// Ranks of threads that are known to have ended before it began.
    pub ended_before: Ranks,
}

impl Life {
    /// Whether the two may have lived at the same time: neither is known to have ended before the other began.
    pub fn overlaps(&self, other: &Life) -> bool {
        !self.ended_before.contains(other.rank) && !other.ended_before.contains(self.rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;
    use std::collections::BTreeSet;

    #[test]
    fn ranks_are_a_set() {
        let mut rng = Rng::new(1);
        for _ in 0..200 {
            let (mut set, mut plain) = (Ranks::default(), BTreeSet::new());
            for _ in 0..rng.below(30) {
                let some: BTreeSet<u32> = (0..rng.below(6)).map(|_| rng.below(40) as u32).collect();
                match some.len() {
                    1 => some.iter().for_each(|r| set.insert(*r)),
                    _ => set.extend(&some.iter().copied().collect()),
                }
                plain.extend(some);
            }
            assert_eq!(set.is_empty(), plain.is_empty());
            assert!((0..41).all(|r| set.contains(r) == plain.contains(&r)));
            assert!(set.runs.windows(2).all(|w| w[0].1 + 1 < w[1].0), "runs are maximal: {set:?}");
        }
    }
}
