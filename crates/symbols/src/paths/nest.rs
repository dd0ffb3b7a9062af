//! The loops of a function, and which of its blocks every round passes.
use super::blocks::Blocks;
use std::collections::{BTreeSet, HashMap, HashSet};

/// How deep loops are looked for.
const DEPTH_MAX: usize = 64;

/// No node.
const NONE: usize = usize::MAX;

/// Loops, outer ones first; number 0 is the function itself.
#[derive(Debug, Default)]
pub(crate) struct Nest {
    /// The loop around each; 0 for 0.
    pub(crate) parent: Vec<usize>,
    /// Blocks of each, those of loops inside included.
    pub(crate) bodies: Vec<Vec<usize>>,
    /// By block: the innermost loop.
    pub(crate) inner: Vec<usize>,
    /// By block: whether each round of its innermost loop passes it (of the function: each call).
    pub(crate) always: Vec<bool>,
}

/// A part of a function: its blocks, and the edges that are not the way back to the begin of a loop around it.
struct Region<'a> {
    blocks: &'a Blocks,
    body: &'a [usize],
    back: &'a HashSet<(usize, usize)>,
}

impl Nest {
    pub(crate) fn new(blocks: &Blocks) -> Nest {
        let all: Vec<usize> = (0..blocks.len()).collect();
        let mut nest =
            Nest { inner: vec![0; all.len()], always: vec![false; all.len()], parent: vec![0], bodies: vec![all] };
        let mut back = HashSet::new();
        let ends: Vec<usize> = (0..blocks.len()).filter(|b| blocks.leaves[*b]).collect();
        let mut passed = vec![Region { blocks, body: &nest.bodies[0], back: &back }.passed(&[0], &ends)];
        let (mut begin, mut end) = (0, 1);
        for _ in 0..DEPTH_MAX {
            for around in begin..end {
                let inside = Region { blocks, body: &nest.bodies[around], back: &back }.circles();
                for body in inside {
                    body.iter().for_each(|b| nest.inner[*b] = nest.bodies.len());
                    passed.push(cut(blocks, &body, &mut back));
                    nest.parent.push(around);
                    nest.bodies.push(body);
                }
            }
            (begin, end) = (end, nest.bodies.len());
        }
        for (of, list) in passed.iter().enumerate() {
            list.iter().for_each(|b| nest.always[*b] |= nest.inner[*b] == of);
        }
        nest
    }

    /// The loops around a loop.
    pub(crate) fn around(&self, of: usize) -> HashSet<usize> {
        std::iter::successors(Some(of), |l| (*l > 0).then(|| self.parent[*l])).skip(1).collect()
    }
}

/// Adds the ways back to the begin of a loop to `back`, and returns the blocks that each round passes.
/// A loop with several entries begins at each of them, as far as it does not lie in a smaller loop that begins there.
fn cut(blocks: &Blocks, body: &[usize], back: &mut HashSet<(usize, usize)>) -> Vec<usize> {
    let inside: HashSet<usize> = body.iter().copied().collect();
    let enters = |b: &usize| *b == 0 || blocks.pred[*b].iter().any(|p| !inside.contains(p) || back.contains(&(*p, *b)));
    let mut entries: Vec<usize> = body.iter().copied().filter(enters).collect();
    if entries.is_empty() {
        entries.extend(body.iter().min());
    }
    let region = Region { blocks, body, back };
    let dominators = region.dominators(&entries, &[]);
    let dominates = |a: usize, b: usize| entries.len() > 1 && dominators.dominates(a, b);
    let to = |e: &usize| blocks.pred[*e].iter().map(move |p| (*p, *e)).collect::<Vec<_>>();
    let ways = entries.iter().flat_map(to).filter(|(p, e)| inside.contains(p) && !dominates(*e, *p));
    let ways: Vec<(usize, usize)> = ways.filter(|w| !back.contains(w)).collect();
    back.extend(&ways);
    let latches: Vec<usize> = ways.into_iter().map(|w| w.0).collect();
    Region { blocks, body, back }.passed(&entries, &latches)
}

/// Dominators of the blocks of a region.
struct Dominators {
    local: HashMap<usize, usize>,
    immediate: Vec<usize>,
}

impl Dominators {
    fn dominates(&self, a: usize, b: usize) -> bool {
        let (a, root) = (self.local[&a], self.immediate.len() - 2);
        std::iter::successors(Some(self.local[&b]), |x| Some(self.immediate[*x]).filter(|n| *n != NONE && *x != root))
            .any(|x| x == a)
    }
}

impl Region<'_> {
    /// Edges by places in `body`; two more nodes: one before the `entries` and one behind the `ends`.
    fn graph(&self, entries: &[usize], ends: &[usize]) -> (HashMap<usize, usize>, Vec<Vec<usize>>) {
        let local: HashMap<usize, usize> = self.body.iter().enumerate().map(|(n, b)| (*b, n)).collect();
        let kept = |b: usize| self.blocks.succ[b].iter().filter(move |to| !self.back.contains(&(b, **to)));
        let mut succ: Vec<Vec<usize>> =
            self.body.iter().map(|b| kept(*b).filter_map(|to| local.get(to).copied()).collect()).collect();
        ends.iter().for_each(|b| succ[local[b]].push(self.body.len() + 1));
        succ.push(entries.iter().map(|b| local[b]).collect());
        succ.push(Vec::new());
        (local, succ)
    }

    fn dominators(&self, entries: &[usize], ends: &[usize]) -> Dominators {
        let (local, succ) = self.graph(entries, ends);
        let immediate = immediate_dominators(&succ, self.body.len());
        Dominators { local, immediate }
    }

    /// The blocks that are on every way from the entries to the ends.
    fn passed(&self, entries: &[usize], ends: &[usize]) -> Vec<usize> {
        let (root, end) = (self.body.len(), self.body.len() + 1);
        let immediate = self.dominators(entries, ends).immediate;
        let up = std::iter::successors(Some(end), |x| Some(immediate[*x]).filter(|n| *n != NONE && *n != root));
        up.skip(1).map(|n| self.body[n]).collect()
    }

    /// The strongly connected parts that have an edge (Tarjan 1972).
    fn circles(&self) -> Vec<Vec<usize>> {
        let (_, succ) = self.graph(&[], &[]);
        let (mut number, mut low) = (vec![NONE; succ.len()], vec![NONE; succ.len()]);
        let (mut stack, mut on, mut count, mut found) = (Vec::new(), vec![false; succ.len()], 0, Vec::new());
        for root in 0..self.body.len() {
            let mut work = if number[root] == NONE { vec![(root, 0)] } else { Vec::new() };
            while let Some((node, edge)) = work.last_mut() {
                let node = *node;
                if *edge == 0 && number[node] == NONE {
                    (number[node], low[node], on[node]) = (count, count, true);
                    count += 1;
                    stack.push(node);
                }
                if let Some(&to) = succ[node].get(*edge) {
                    *edge += 1;
                    match number[to] {
                        NONE => work.push((to, 0)),
                        n if on[to] => low[node] = low[node].min(n),
                        _ => {}
                    }
                    continue;
                }
                work.pop();
                if let Some((before, _)) = work.last() {
                    low[*before] = low[*before].min(low[node]);
                }
                if low[node] == number[node] {
                    let at = stack.iter().rposition(|n| *n == node).unwrap_or(0);
                    let mut part = stack.split_off(at);
                    part.iter().for_each(|n| on[*n] = false);
                    part.sort_unstable();
                    if part.len() > 1 || succ[node].contains(&node) {
                        found.push(part.into_iter().map(|n| self.body[n]).collect());
                    }
                }
            }
        }
        found
    }
}

/// Immediate dominators (Cooper, Harvey, Kennedy 2001); [`NONE`] for nodes that are not reached.
fn immediate_dominators(succ: &[Vec<usize>], root: usize) -> Vec<usize> {
    let (mut seen, mut post, mut work) = (BTreeSet::from([root]), Vec::new(), vec![(root, 0)]);
    while let Some((node, edge)) = work.last_mut() {
        let node = *node;
        if let Some(&to) = succ[node].get(*edge) {
            *edge += 1;
            if seen.insert(to) {
                work.push((to, 0));
            }
        } else {
            post.push(node);
            work.pop();
        }
    }
    let mut rank = vec![0; succ.len()];
    post.iter().enumerate().for_each(|(n, node)| rank[*node] = n);
    let mut pred = vec![Vec::new(); succ.len()];
    post.iter().for_each(|from| succ[*from].iter().for_each(|to| pred[*to].push(*from)));
    let mut found = vec![NONE; succ.len()];
    found[root] = root;
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for &node in post.iter().rev().skip(1) {
            let known = pred[node].iter().copied().filter(|p| found[*p] != NONE);
            let new = known.reduce(|a, b| meet(&found, &rank, a, b)).unwrap_or(NONE);
            changed |= std::mem::replace(&mut found[node], new) != new;
        }
    }
    found
}

fn meet(found: &[usize], rank: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        if rank[a] < rank[b] {
            a = found[a];
        } else {
            b = found[b];
        }
    }
    a
}
