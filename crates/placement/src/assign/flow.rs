//! The exact assignment under capacities: successive shortest paths.
//!
//! Every class starts at its cheapest home, which is the optimum without capacities. Each step takes pages from a node
//! that is too full along a shortest path of exchanges to one with room (Ahuja, Magnanti and Orlin 1993, section 9.7),
//! which keeps the optimum of what has been asked so far. Pages far outnumber nodes, so the residual graph is kept over
//! nodes alone: the arc from j to k is the class at j that loses least by going to k. No library was found that
//! compresses it so; a general network simplex would build an arc for every pair of class and node.
use super::{AssignError, Assigned, Class, cost_of};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Cheapest assignment of all pages with at most `capacity[k]` pages at home k. Among homes of equal price the first.
///
/// # Errors
/// The pages do not fit, or a class does not have one price for each home.
pub fn assign(classes: &[Class], capacity: &[u64]) -> Result<Assigned, AssignError> {
    let homes = capacity.len();
    if let Some(class) = classes.iter().position(|c| c.prices.len() != homes) {
        return Err(AssignError::Shape { class, prices: classes[class].prices.len(), homes });
    }
    let total = |numbers: &mut dyn Iterator<Item = u64>| numbers.fold(0u64, u64::saturating_add);
    let (pages, room) = (total(&mut classes.iter().map(|c| c.pages)), total(&mut capacity.iter().copied()));
    if pages > room {
        return Err(AssignError::Full { pages, room });
    }
    let mut flow = Flow::new(classes, capacity);
    while let Some(from) = (0..homes).find(|k| flow.load[*k] > capacity[*k]) {
        flow.relieve(from);
    }
    Ok(Assigned { cost: cost_of(classes, &flow.placed), pages: flow.placed })
}

/// What going from one home to another costs, and the class that goes.
type Arc = (i128, u32);

struct Flow<'a> {
    classes: &'a [Class],
    capacity: &'a [u64],
    placed: Vec<Vec<u64>>,
    load: Vec<u64>,
    /// Arcs from j to k at `j * homes + k`, least first; entries of classes that left j are dropped when met.
    arcs: Vec<BinaryHeap<Reverse<Arc>>>,
}

impl<'a> Flow<'a> {
    fn new(classes: &'a [Class], capacity: &'a [u64]) -> Flow<'a> {
        let homes = capacity.len();
        let mut flow = Flow {
            classes,
            capacity,
            placed: vec![vec![0; homes]; classes.len()],
            load: vec![0; homes],
            arcs: vec![BinaryHeap::new(); homes * homes],
        };
        for (c, class) in classes.iter().enumerate().filter(|(_, c)| c.pages > 0) {
            let best = (0..homes).min_by_key(|k| class.prices[*k]).expect("room for a page means a home");
            flow.put(c as u32, best, class.pages);
        }
        flow
    }

    fn put(&mut self, class: u32, home: usize, pages: u64) {
        let homes = self.capacity.len();
        if self.placed[class as usize][home] == 0 {
            let prices = &self.classes[class as usize].prices;
            for to in (0..homes).filter(|k| *k != home) {
                self.arcs[home * homes + to].push(Reverse((prices[to].0 - prices[home].0, class)));
            }
        }
        self.placed[class as usize][home] += pages;
        self.load[home] += pages;
    }

    /// The cheapest arc that still exists.
    fn arc(&mut self, from: usize, to: usize) -> Option<Arc> {
        let heap = &mut self.arcs[from * self.capacity.len() + to];
        while let Some(Reverse((cost, class))) = heap.peek().copied() {
            if self.placed[class as usize][from] > 0 {
                return Some((cost, class));
            }
            heap.pop();
        }
        None
    }

    /// Sends pages of an overfull node along a shortest path to one with room.
    fn relieve(&mut self, from: usize) {
        let path = self.shortest(from);
        let end = path.last().map_or(from, |hop| hop.1);
        let excess = self.load[from] - self.capacity[from];
        let room = self.capacity[end] - self.load[end];
        let narrowest = path.iter().map(|&(j, _, class)| self.placed[class as usize][j]).min().unwrap_or(0);
        let pages = excess.min(room).min(narrowest);
        for &(j, k, class) in &path {
            self.placed[class as usize][j] -= pages;
            self.load[j] -= pages;
            self.put(class, k, pages);
        }
    }

    /// Hops (from, to, class) of a shortest path from `from` to the nearest node with room (Bellman and Ford: exchanges may
    /// gain, but no cycle does).
    fn shortest(&mut self, from: usize) -> Vec<(usize, usize, u32)> {
        let homes = self.capacity.len();
        let mut far: Vec<Option<i128>> = vec![None; homes];
        let mut via: Vec<(usize, u32)> = vec![(from, 0); homes];
        far[from] = Some(0);
        let mut arcs = Vec::with_capacity(homes * homes);
        for (j, k) in (0..homes * homes).map(|i| (i / homes, i % homes)).filter(|(j, k)| j != k) {
            arcs.extend(self.arc(j, k).map(|(cost, class)| (j, k, cost, class)));
        }
        loop {
            let mut changed = false;
            for &(j, k, cost, class) in &arcs {
                let Some(there) = far[j].map(|d| d + cost) else { continue };
                if far[k].is_none_or(|d| there < d) {
                    (far[k], via[k], changed) = (Some(there), (j, class), true);
                }
            }
            if !changed {
                break;
            }
        }
        let open = (0..homes).filter(|k| self.load[*k] < self.capacity[*k] && far[*k].is_some());
        let end = open.min_by_key(|k| far[*k]).expect("the pages fit, and a full node has arcs to all others");
        let mut path = Vec::new();
        let mut at = end;
        while at != from {
            let (before, class) = via[at];
            path.push((before, at, class));
            at = before;
        }
        path.reverse();
        path
    }
}
