//! Single threads change bindings, pairs exchange theirs, as long as that lowers the cost of the best homes.
use super::{BoundMachine, with_best_homes};
use crate::affinity::Distances;
use crate::counts::PageUse;
use homenode_base::{NodeId, TotalCost};

/// Pages looked at in all: what keeps this within a second or so for any program.
const PAGES_MAX: usize = 4_000_000;

/// A binding that costs no more than `now`.
pub(super) fn exchange(distances: &Distances, pages: &[&PageUse], now: BoundMachine, bindings: &[u64]) -> BoundMachine {
    let mut search = Search::new(distances, pages, now, bindings);
    while search.round() && search.left > 0 {}
    with_best_homes(distances, pages, search.node_of)
}

struct Search<'a> {
    distances: &'a Distances,
    pages: &'a [&'a PageUse],
    /// Pages that each thread uses.
    used: Vec<Vec<u32>>,
    node_of: Vec<NodeId>,
    free: Vec<i64>,
    left: usize,
}

impl<'a> Search<'a> {
    fn new(distances: &'a Distances, pages: &'a [&'a PageUse], now: BoundMachine, bindings: &[u64]) -> Search<'a> {
        let mut used = vec![Vec::new(); now.node_of.len()];
        for (i, page) in pages.iter().enumerate() {
            page.by_thread.iter().for_each(|(t, _)| used[t.index()].push(i as u32));
        }
        let mut free: Vec<i64> = bindings.iter().map(|n| i64::try_from(*n).unwrap_or(i64::MAX)).collect();
        now.node_of.iter().for_each(|n| free[n.index()] -= 1);
        Search { distances, pages, used, node_of: now.node_of, free, left: PAGES_MAX }
    }

    /// Tries everything once; whether anything helped.
    fn round(&mut self) -> bool {
        let mut better = false;
        for a in 0..self.node_of.len() {
            for node in 0..self.free.len() {
                if self.free[node] > 0 && self.node_of[a].index() != node {
                    better |= self.attempt(&[(a, NodeId(node as u16))]);
                }
            }
            for b in a + 1..self.node_of.len() {
                if self.node_of[a] != self.node_of[b] {
                    better |= self.attempt(&[(a, self.node_of[b]), (b, self.node_of[a])]);
                }
            }
        }
        better
    }

    /// Binds these threads so if that lowers the cost.
    fn attempt(&mut self, bindings: &[(usize, NodeId)]) -> bool {
        let mut touched: Vec<u32> = bindings.iter().flat_map(|(t, _)| self.used[*t].iter().copied()).collect();
        touched.sort_unstable();
        touched.dedup();
        if touched.len() > self.left {
            self.left = 0;
            return false;
        }
        self.left -= touched.len();
        let before = self.cost(&touched);
        let old: Vec<(usize, NodeId)> = bindings.iter().map(|(t, _)| (*t, self.node_of[*t])).collect();
        self.binding(bindings);
        let better = self.cost(&touched) < before;
        if !better {
            self.binding(&old);
        }
        better
    }

    fn binding(&mut self, bindings: &[(usize, NodeId)]) {
        for (thread, node) in bindings {
            self.free[self.node_of[*thread].index()] += 1;
            self.free[node.index()] -= 1;
            self.node_of[*thread] = *node;
        }
    }

    fn cost(&self, pages: &[u32]) -> TotalCost {
        let best = |i: &u32| {
            let uses = self.pages[*i as usize].by_node(self.distances.rows(), |t| self.node_of[t.index()]);
            self.distances.costs(&uses).into_iter().min().unwrap_or_default()
        };
        pages.iter().map(best).sum()
    }
}
