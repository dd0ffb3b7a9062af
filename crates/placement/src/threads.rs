//! Threads to nodes beside data to nodes.
//!
//! Best data for given threads is a minimum per page; best threads for given data is an assignment problem, solved
//! exactly ([`assign`](crate::assign::assign)). Alternating the two never raises the cost and ends in a point where
//! neither alone can help, which need not be the best: it starts from the bindings given and from clusters of threads that
//! share pages, and the better end counts. The cost knows distances only. Neither caches nor bandwidth keep threads
//! apart in it, so the caller limits how many share a node ([`fair_shares`]).
mod exchange;

use crate::affinity::Distances;
use crate::assign::{Class, assign};
use crate::counts::{ClassCounts, PageUse};
use homenode_base::{NodeId, TotalCost};

/// Where threads run and pages live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundMachine {
    /// Node of each thread.
    pub node_of: Vec<NodeId>,
    /// Home of each page.
    pub homes: Vec<NodeId>,
    /// Cost of all uses.
    pub cost: TotalCost,
}

/// Rounds at most; each lowers the cost.
const ROUNDS: usize = 100;

/// Most threads that should share a node: so many that all fit evenly over the nodes with processors, but no more than
/// the node has.
pub fn fair_shares(cores: &[u16], threads: usize) -> Vec<u64> {
    let mut bindings = vec![0u64; cores.len()];
    let mut left = threads;
    while left > 0 {
        let open: Vec<usize> = (0..cores.len()).filter(|k| bindings[*k] < u64::from(cores[*k])).collect();
        if open.is_empty() {
            // More threads than processors: they share them evenly.
            let nodes: Vec<usize> = (0..cores.len()).filter(|k| cores[*k] > 0).collect();
            nodes.iter().for_each(|k| bindings[*k] += (left as u64).div_ceil(nodes.len() as u64));
            break;
        }
        open.iter().for_each(|k| bindings[*k] += 1);
        left = left.saturating_sub(open.len());
    }
    bindings
}

/// Bindings and homes that cost no more than the best homes for the bindings given. `start[t]` is the node of thread t,
/// `bindings[k]` how many threads may run on node k; where the start breaks that, only other starts obey it. Panics if a page
/// is used by a thread that has no start.
pub fn co_optimise(distances: &Distances, pages: &[&PageUse], start: &[NodeId], bindings: &[u64]) -> BoundMachine {
    let given = with_best_homes(distances, pages, start.to_vec());
    let fits = bindings.iter().sum::<u64>() >= start.len() as u64 && bindings.len() == distances.homes();
    if !fits {
        return given;
    }
    let clustered = with_best_homes(distances, pages, clusters(pages, start.len(), bindings));
    let starts = [given, clustered];
    let ends = starts.into_iter().map(|s| {
        let low = descend(distances, pages, s, bindings);
        exchange::exchange(distances, pages, low, bindings)
    });
    ends.min_by_key(|s| s.cost).expect("there are two")
}

/// The best homes for these bindings; equal ones go to the lowest node.
pub fn with_best_homes(distances: &Distances, pages: &[&PageUse], node_of: Vec<NodeId>) -> BoundMachine {
    let (mut homes, mut cost) = (Vec::with_capacity(pages.len()), TotalCost::ZERO);
    for page in pages {
        let uses = page.by_node(distances.rows(), |t| node_of[t.index()]);
        let costs = distances.costs(&uses);
        let home = (0..costs.len()).min_by_key(|k| costs[*k]).expect("a home");
        homes.push(NodeId(home as u16));
        cost += costs[home];
    }
    BoundMachine { node_of, homes, cost }
}

fn descend(distances: &Distances, pages: &[&PageUse], mut now: BoundMachine, bindings: &[u64]) -> BoundMachine {
    for _ in 0..ROUNDS {
        let Some(node_of) = best_bindings(distances, pages, &now, bindings) else { break };
        let next = with_best_homes(distances, pages, node_of);
        if next.cost >= now.cost {
            break;
        }
        now = next;
    }
    now
}

/// The cheapest bindings for these homes. A thread without uses prefers to stay, and so does one that is as well off.
fn best_bindings(
    distances: &Distances,
    pages: &[&PageUse],
    now: &BoundMachine,
    bindings: &[u64],
) -> Option<Vec<NodeId>> {
    let (threads, nodes) = (now.node_of.len(), bindings.len());
    // How often each thread uses each home.
    let mut uses: Vec<Vec<ClassCounts>> = vec![vec![[0; 3]; nodes]; threads];
    for (page, home) in pages.iter().zip(&now.homes) {
        for (thread, counts) in &page.by_thread {
            let cell = &mut uses[thread.index()][home.index()];
            cell.iter_mut().zip(counts).for_each(|(sum, n)| *sum = sum.saturating_add(*n));
        }
    }
    // One half of a unit for moving: only ties are decided by it.
    let price = |thread: usize, node: usize| {
        let stays = now.node_of[thread].index() == node;
        TotalCost(2 * threads as i128 * binding_cost(distances, &uses[thread], node).0 + i128::from(!stays))
    };
    let class = |t: usize| Class { prices: (0..nodes).map(|k| price(t, k)).collect(), pages: 1 };
    let assigned = assign(&(0..threads).map(class).collect::<Vec<_>>(), bindings).ok()?;
    let node = |at: &Vec<u64>| NodeId(at.iter().position(|n| *n > 0).unwrap_or(0) as u16);
    Some(assigned.pages.iter().map(node).collect())
}

/// What one thread's uses cost if it runs on `node`.
fn binding_cost(distances: &Distances, uses_of_home: &[ClassCounts], node: usize) -> TotalCost {
    let mut row = vec![[0; 3]; distances.rows()];
    let mut cost = TotalCost::ZERO;
    for (home, counts) in uses_of_home.iter().enumerate().filter(|(_, c)| **c != [0; 3]) {
        row[node] = *counts;
        cost += distances.cost(&row, NodeId(home as u16));
    }
    cost
}

/// Threads that share pages, on one node: the pairs that share most first, as long as a node has room for the group.
fn clusters(pages: &[&PageUse], threads: usize, bindings: &[u64]) -> Vec<NodeId> {
    let largest = bindings.iter().copied().max().unwrap_or(0);
    let mut group: Vec<usize> = (0..threads).collect();
    for (_, a, b) in sharing(pages, threads) {
        let (a, b) = (group[a], group[b]);
        let size = group.iter().filter(|g| **g == a || **g == b).count() as u64;
        if a != b && size <= largest {
            group.iter_mut().filter(|g| **g == b).for_each(|g| *g = a);
        }
    }
    let mut members: Vec<Vec<usize>> = (0..threads)
        .map(|g| (0..threads).filter(|t| group[*t] == g).collect())
        .filter(|m: &Vec<usize>| !m.is_empty())
        .collect();
    members.sort_by_key(|m| (std::cmp::Reverse(m.len()), m[0]));
    let (mut free, mut node_of) = (bindings.to_vec(), vec![NodeId(0); threads]);
    for thread in members.iter().flat_map(|m| bind_group(m, &mut free)) {
        node_of[thread.0] = NodeId(thread.1 as u16);
    }
    node_of
}

/// Binds a group on the node where it fits best, or piecemeal where none has room for all.
fn bind_group(members: &[usize], free: &mut [u64]) -> Vec<(usize, usize)> {
    let need = members.len() as u64;
    let whole = (0..free.len()).filter(|k| free[*k] >= need).min_by_key(|k| (free[*k], *k));
    let mut placed = Vec::new();
    for t in members {
        let node = whole.or_else(|| (0..free.len()).max_by_key(|k| (free[*k], std::cmp::Reverse(*k)))).unwrap_or(0);
        free[node] = free[node].saturating_sub(1);
        placed.push((*t, node));
    }
    placed
}

/// Pairs of threads by how much use they share, most first: per page the smaller of the two counts.
fn sharing(pages: &[&PageUse], threads: usize) -> Vec<(u64, usize, usize)> {
    let mut shared = vec![0u64; threads * threads];
    for page in pages {
        let uses: Vec<(usize, u64)> = page.by_thread.iter().map(|(t, c)| (t.index(), c.iter().sum())).collect();
        for (i, (a, m)) in uses.iter().enumerate() {
            for (b, n) in &uses[i + 1..] {
                shared[a * threads + b] = shared[a * threads + b].saturating_add(*m.min(n));
            }
        }
    }
    let mut pairs: Vec<(u64, usize, usize)> =
        shared.iter().enumerate().filter(|(_, n)| **n > 0).map(|(i, n)| (*n, i / threads, i % threads)).collect();
    pairs.sort_by_key(|p| (std::cmp::Reverse(p.0), p.1, p.2));
    pairs
}
