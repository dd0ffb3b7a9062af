//! Pages that are fetched in order: how many fetches fewer there are if pages behind come with one that is fetched, as
//! [`prefetch`](homenode_hlrc::cluster::Cluster::prefetch) does it.
//!
//! Pages come in chunks: one that is fetched, and so many behind it at the same home. The last one of a chunk is the marker: if the program does not
//! come to it, the prefetch was in vain, and is not done again. So a chunk counts if its marker is touched: if it is whole, or if what is behind
//! its last page has another home and cannot come with it.
use crate::doc::AheadDoc;

/// Numbers of pages ahead that are looked at.
const AHEAD: [u8; 8] = [1, 2, 3, 4, 6, 8, 11, 15];

/// The sum of numbers that are shares of one that was counted.
fn sum(shares: &[u64]) -> u64 {
    shares.iter().sum()
}

/// The fetches of one node, page by page in the order of addresses, if so many pages come with one.
#[derive(Clone, Debug)]
struct One {
    /// Fetches of the page before, by its place in the chunk with which it would have come.
    at: Vec<u64>,
}

impl One {
    /// Fetches that the chunks save which end before this page: `in_order` of its fetches are right behind the page before. `goes_on`: what is here could
    /// come with the page before.
    fn saves(&mut self, fetches: u64, in_order: u64, goes_on: bool) -> u64 {
        let (all, last) = (sum(&self.at), self.at.len() - 1);
        let carried = if goes_on { in_order.min(fetches).min(all) } else { 0 };
        let mut next = vec![0; self.at.len()];
        let mut saved = 0;
        for (at, count) in self.at.iter().enumerate() {
            // Which of them went on is not known but where all did; else equal shares.
            let went_on = (u128::from(*count) * u128::from(carried) / u128::from(all.max(1))) as u64;
            next[(at + 1) % self.at.len()] += went_on;
            let touched = if at == last || !goes_on { *count } else { 0 };
            saved += at as u64 * touched;
        }
        next[0] += fetches - sum(&next);
        self.at = next;
        saved
    }
}

/// The fetches of one node, page by page in the order of addresses.
#[derive(Clone, Debug)]
pub(crate) struct InOrder {
    all: Vec<One>,
    /// Home and object of the page before, if it was fetched.
    before: Option<(Option<u16>, Option<u32>)>,
}

impl InOrder {
    pub(crate) fn new() -> InOrder {
        let one = |ahead| One { at: vec![0; usize::from(ahead) + 1] };
        InOrder { all: AHEAD.map(one).to_vec(), before: None }
    }
    /// What nothing was fetched of saves nothing.
    pub(crate) fn none() -> Vec<AheadDoc> {
        AHEAD.map(|ahead| AheadDoc { ahead, saved_fetches: 0 }).to_vec()
    }
    /// Whether something is still open from the page before.
    pub(crate) fn is_open(&self) -> bool {
        self.before.is_some()
    }
    /// Adds the next page, of this home and object, which was fetched so often, and so often right after the page before. The object of the page
    /// before, if what ends with that saves something, and how much for each number of pages ahead.
    pub(crate) fn next(
        &mut self,
        (home, object): (Option<u16>, Option<u32>),
        fetches: u64,
        in_order: u64,
    ) -> Option<(u32, [u64; AHEAD.len()])> {
        let before = self.before.take();
        self.before = (fetches > 0).then_some((home, object));
        if before.is_none() && fetches == 0 {
            return None;
        }
        let goes_on = home.is_some() && before.is_some_and(|(one, _)| one == home);
        let mut saved = [0; AHEAD.len()];
        saved.iter_mut().zip(&mut self.all).for_each(|(saved, one)| *saved = one.saves(fetches, in_order, goes_on));
        Some((before?.1?, saved))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is saved with each number of pages ahead, of pages with homes, fetches, and fetches in order.
    fn saved(pages: &[(u16, u64, u64)]) -> Vec<u64> {
        let (mut order, mut saved) = (InOrder::new(), vec![0; AHEAD.len()]);
        let ends = [(None, 0, 0)];
        for (home, fetches, in_order) in pages.iter().map(|(home, f, o)| (Some(*home), *f, *o)).chain(ends) {
            let more = order.next((home, Some(0)), fetches, in_order);
            saved.iter_mut().zip(more.map_or([0; AHEAD.len()], |(_, more)| more)).for_each(|(sum, n)| *sum += n);
        }
        assert!(!order.is_open());
        saved
    }

    /// So many rounds in each of which so many pages are fetched in order.
    fn rounds(pages: u16, rounds: u64, home: fn(u16) -> u16) -> Vec<(u16, u64, u64)> {
        (0..pages).map(|p| (home(p), rounds, if p > 0 { rounds } else { 0 })).collect()
    }

    #[test]
    fn a_run_of_pages_takes_one_fetch_for_so_many_and_one() {
        let fetched = |pages: u64| AHEAD.map(|ahead| pages - pages.div_ceil(u64::from(ahead) + 1));
        assert_eq!(saved(&rounds(64, 10, |_| 1)), fetched(64).map(|n| 10 * n));
        // Pages in turn at two homes, and in two halves.
        assert_eq!(saved(&rounds(64, 10, |p| p % 2)), [0; 8]);
        assert_eq!(saved(&rounds(64, 10, |p| p / 32)), fetched(32).map(|n| 2 * 10 * n));
        // Every other page, or no page right after the one before.
        assert_eq!(saved(&[(0, 9, 0), (0, 0, 0), (0, 9, 0), (0, 9, 0)]), [0; 8]);
    }

    #[test]
    fn a_prefetch_beyond_what_is_used_saves_nothing() {
        // Four pages, and one of the same home behind them that nobody fetches: two and two, or three of four.
        let four = [rounds(4, 5, |_| 0), vec![(0, 0, 0)]].concat();
        assert_eq!(saved(&four), [2, 2, 3, 0, 0, 0, 0, 0].map(|n| 5 * n));
        // The same where the page behind is another's.
        let four = [rounds(4, 5, |_| 0), vec![(1, 0, 0)]].concat();
        assert_eq!(saved(&four), [2, 2, 3, 3, 3, 3, 3, 3].map(|n| 5 * n));
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
