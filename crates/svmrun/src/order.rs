//! Pages that are fetched in order: how many fetches fewer there are if pages behind come with one that is fetched, as
//! [`prefetch`](homenode_hlrc::cluster::Cluster::prefetch) does it.
use crate::collect::sum;
use crate::doc::AheadDoc;

/// Numbers of pages ahead that are looked at.
const AHEAD: [u8; 5] = [1, 2, 4, 8, 15];

/// The fetches of one node, page by page in the order of addresses, if so many pages come with one.
#[derive(Clone, Debug)]
struct One {
    ahead: u8,
    /// Fetches of the page before, by how many pages before it the one is with which it would have come.
    at: Vec<u64>,
}

impl One {
    /// Fetches of the next page that would have come with one before it: `in_order` of them are right behind the page before.
    fn saves(&mut self, fetches: u64, in_order: u64) -> u64 {
        let all = sum(&self.at);
        let carried = in_order.min(fetches).min(all);
        let mut next = vec![0; self.at.len()];
        for (at, count) in self.at.iter().enumerate() {
            // Which of them went on is not known but where all did; else equal shares.
            let share = u128::from(*count) * u128::from(carried) / u128::from(all.max(1));
            next[(at + 1) % self.at.len()] += share as u64;
        }
        next[0] += fetches - sum(&next);
        self.at = next;
        sum(&self.at[1..])
    }
}

/// The fetches of one node, page by page in the order of addresses.
#[derive(Clone, Debug)]
pub(crate) struct InOrder {
    all: Vec<One>,
    /// Home of the page before, if it was fetched.
    home: Option<u16>,
}

impl InOrder {
    pub(crate) fn new() -> InOrder {
        InOrder {
            all: AHEAD.map(|ahead| One { ahead, at: vec![0; usize::from(ahead) + 1] }).to_vec(),
            home: None,
        }
    }
    /// What nothing was fetched of saves nothing.
    pub(crate) fn none() -> Vec<AheadDoc> {
        AHEAD.map(|ahead| AheadDoc { ahead, saved_fetches: 0 }).to_vec()
    }
    /// Adds what the next page saves, which was fetched so often, and so often right after the page before. Pages of several homes do not come together.
    pub(crate) fn next(&mut self, home: Option<u16>, fetches: u64, in_order: u64, saved: &mut [AheadDoc]) {
        if fetches == 0 && self.home.is_none() {
            return;
        }
        let in_order = if home.is_some() && home == self.home { in_order } else { 0 };
        for one in &mut self.all {
            let more = one.saves(fetches, in_order);
            saved.iter_mut().filter(|s| s.ahead == one.ahead).for_each(|s| s.saved_fetches += more);
        }
        self.home = home.filter(|_| fetches > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is saved with each number of pages ahead, of pages with homes, fetches, and fetches in order.
    fn saved(pages: &[(u16, u64, u64)]) -> Vec<u64> {
        let (mut order, mut saved) = (InOrder::new(), InOrder::none());
        pages.iter().for_each(|(home, fetches, in_order)| order.next(Some(*home), *fetches, *in_order, &mut saved));
        saved.iter().map(|s| s.saved_fetches).collect()
    }

    #[test]
    fn each_run_of_pages_takes_one_fetch_for_so_many_and_one() {
        // Ten rounds of 64 pages: one of 2, 3, 5, 9 and 16 is fetched.
        let rounds = |home: fn(u16) -> u16| (0..64).map(|p| (home(p), 10, if p > 0 { 10 } else { 0 })).collect::<Vec<_>>();
        assert_eq!(saved(&rounds(|_| 1)), [32, 64 - 22, 64 - 13, 64 - 8, 60].map(|n| 10 * n));
        // Pages in turn at two homes, and in two halves.
        assert_eq!(saved(&rounds(|p| p % 2)), [0; 5]);
        assert_eq!(saved(&rounds(|p| p / 32)), [32, 64 - 2 * 11, 64 - 2 * 7, 64 - 2 * 4, 60].map(|n| 10 * n));
        // Every other page, or no page right after the one before.
        assert_eq!(saved(&[(0, 9, 0), (0, 0, 0), (0, 9, 0), (0, 9, 0)]), [0; 5]);
        // Half of the time the run begins at the second page.
        assert_eq!(saved(&[(0, 4, 0), (0, 8, 4), (0, 8, 8)]), [4 + 4, 8 + 4, 12, 12, 12]);
    }

    #[test]
    fn numbers_that_cannot_be_save_no_more_than_there_are_fetches() {
        let most = u64::from(u32::MAX);
        for pages in [[(0, 3, 7), (0, 2, most)], [(0, most, most), (0, most, most)], [(0, 0, 5), (0, 5, 5)]] {
            let fetches: u64 = pages.iter().map(|p| p.1).sum();
            assert!(saved(&pages).iter().all(|n| *n <= fetches), "{pages:?}: {:?}", saved(&pages));
        }
    }
}
