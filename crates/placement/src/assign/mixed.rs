//! Indivisible blocks of several pages (huge pages, runs that must stay together): a heuristic with its bound.
//!
//! Exactly this is a generalised assignment problem, which is NP-hard. With blocks made divisible it is the problem of
//! [`assign`](super::assign): that optimum is a lower bound, and all but a few blocks come out of it whole. The others go
//! where they are cheapest among the nodes with room, and moves and swaps of single blocks improve the whole until none
//! does.
use super::{AssignError, Class, assign};
use homenode_base::TotalCost;

/// One indivisible block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Price of the block at each home.
    pub prices: Vec<TotalCost>,
    /// Pages it fills, at least 1.
    pub pages: u64,
}

/// Homes of blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mixed {
    /// Home of each item.
    pub homes: Vec<usize>,
    /// Sum of prices.
    pub cost: TotalCost,
    /// No assignment costs less.
    pub bound: TotalCost,
}

/// Fractions of a price kept when it is shared among pages: the bound loses at most one part in so many per block.
const SCALE: i128 = 1 << 20;
/// Rounds of improvement at most; each lowers the cost.
const ROUNDS: usize = 64;

/// Homes for blocks with at most `capacity[k]` pages at home k.
///
/// # Errors
/// The pages do not fit, no node has room for one of the blocks, or prices are missing.
pub fn assign_mixed(items: &[Item], capacity: &[u64]) -> Result<Mixed, AssignError> {
    let share = |i: &Item, p: &TotalCost| TotalCost((p.0 * SCALE).div_euclid(i128::from(i.pages.max(1))));
    let class = |i: &Item| Class { prices: i.prices.iter().map(|p| share(i, p)).collect(), pages: i.pages };
    let relaxed = assign(&items.iter().map(class).collect::<Vec<_>>(), capacity)?;
    let bound = TotalCost(relaxed.cost.0.div_euclid(SCALE) + i128::from(relaxed.cost.0.rem_euclid(SCALE) > 0));
    let mut search = bind_rest(items, capacity, &relaxed.pages)
        .or_else(|| largest_first(items, capacity))
        .ok_or_else(|| AssignError::Fragmented { pages: items.iter().map(|i| i.pages).max().unwrap_or(0) })?;
    for _ in 0..ROUNDS {
        if !search.improve() {
            break;
        }
    }
    let cost = items.iter().zip(&search.homes).map(|(item, home)| item.prices[*home]).sum();
    Ok(Mixed { homes: search.homes, cost, bound })
}

/// What the divisible optimum left whole stays, the rest goes where it is cheapest and fits, largest first.
fn bind_rest<'a>(items: &'a [Item], capacity: &[u64], relaxed: &[Vec<u64>]) -> Option<Search<'a>> {
    let mut search = Search::new(items, capacity);
    let mut left = Vec::new();
    for (i, at) in relaxed.iter().enumerate() {
        match at.iter().position(|n| *n == items[i].pages && *n > 0) {
            Some(home) => search.put(i, home),
            None => left.push(i),
        }
    }
    left.sort_by_key(|i| std::cmp::Reverse(items[*i].pages));
    for i in left {
        let home = search.cheapest(i)?;
        search.put(i, home);
    }
    Some(search)
}

/// Largest first into the fullest node that still has room: packs best where room is short, whatever it costs.
fn largest_first<'a>(items: &'a [Item], capacity: &[u64]) -> Option<Search<'a>> {
    let mut search = Search::new(items, capacity);
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(items[*i].pages));
    for i in order {
        let fits = |k: &usize| search.free[*k] >= items[i].pages;
        let home = (0..capacity.len()).filter(fits).min_by_key(|k| search.free[*k])?;
        search.put(i, home);
    }
    Some(search)
}

struct Search<'a> {
    items: &'a [Item],
    free: Vec<u64>,
    homes: Vec<usize>,
}

impl<'a> Search<'a> {
    fn new(items: &'a [Item], capacity: &[u64]) -> Search<'a> {
        Search { items, free: capacity.to_vec(), homes: vec![usize::MAX; items.len()] }
    }

    fn put(&mut self, i: usize, home: usize) {
        if let Some(room) = self.free.get_mut(self.homes[i]) {
            *room += self.items[i].pages;
        }
        self.free[home] -= self.items[i].pages;
        self.homes[i] = home;
    }

    fn cheapest(&self, i: usize) -> Option<usize> {
        let fits = |k: &usize| self.free[*k] >= self.items[i].pages;
        (0..self.free.len()).filter(fits).min_by_key(|k| self.items[i].prices[*k])
    }

    /// One round of moves and swaps; whether any helped.
    fn improve(&mut self) -> bool {
        let mut better = false;
        for i in 0..self.items.len() {
            if let Some(home) = self.cheapest(i).filter(|k| self.gain(i, *k) > 0) {
                self.put(i, home);
                better = true;
            }
        }
        for i in 0..self.items.len().min(2000) {
            better |= self.swap(i);
        }
        better
    }

    fn gain(&self, i: usize, home: usize) -> i128 {
        let prices = &self.items[i].prices;
        prices[self.homes[i]].0 - prices[home].0
    }

    /// Exchanges a block with a later one if both fit and the sum of prices falls.
    fn swap(&mut self, i: usize) -> bool {
        for j in i + 1..self.items.len() {
            let (a, b) = (self.homes[i], self.homes[j]);
            let (size_i, size_j) = (self.items[i].pages, self.items[j].pages);
            let fits = self.free[a] + size_i >= size_j && self.free[b] + size_j >= size_i;
            if a != b && fits && self.gain(i, b) + self.gain(j, a) > 0 {
                (self.homes[i], self.homes[j]) = (b, a);
                (self.free[a], self.free[b]) = (self.free[a] + size_i - size_j, self.free[b] + size_j - size_i);
                return true;
            }
        }
        false
    }
}
