//! Loops and blocks that each round passes, held against slow searches of random graphs; pairs of blocks of one function.
use super::blocks::Blocks;
use super::nest::Nest;
use super::pairs::{Shape, pairs};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn blocks(succ: Vec<Vec<usize>>) -> Blocks {
    let mut pred = vec![Vec::new(); succ.len()];
    succ.iter().enumerate().for_each(|(from, to)| to.iter().for_each(|to| pred[*to].push(from)));
    let (spans, leaves) = ((0..succ.len()).map(|n| n..n + 1).collect(), succ.iter().map(Vec::is_empty).collect());
    Blocks { spans, succ, pred, leaves }
}

/// Everything that can be reached from a node without these.
fn reached(blocks: &Blocks, from: usize, without: &BTreeSet<usize>) -> BTreeSet<usize> {
    let (mut found, mut todo) = (BTreeSet::new(), vec![from]);
    while let Some(node) = todo.pop() {
        if !without.contains(&node) && found.insert(node) {
            todo.extend(&blocks.succ[node]);
        }
    }
    found
}

/// Whether every way to `b` is by way of `a`.
fn dominates(blocks: &Blocks, a: usize, b: usize) -> bool {
    !reached(blocks, 0, &BTreeSet::from([a])).contains(&b)
}

/// The blocks from which an edge leads back to `head`, and all that reach those without it.
fn natural(blocks: &Blocks, head: usize) -> Option<BTreeSet<usize>> {
    let backs: Vec<usize> = blocks.pred[head].iter().copied().filter(|p| dominates(blocks, head, *p)).collect();
    let inside = |b: &usize| {
        let on = reached(blocks, *b, &BTreeSet::from([head]));
        *b == head || backs.iter().any(|e| on.contains(e))
    };
    (!backs.is_empty()).then(|| (0..blocks.succ.len()).filter(inside).collect())
}

/// Whether all circles go by way of the begin of a natural loop.
fn is_reducible(blocks: &Blocks) -> bool {
    let mut forward = blocks.succ.clone();
    for (from, to) in forward.iter_mut().enumerate() {
        to.retain(|to| !dominates(blocks, *to, from));
    }
    let forward = self::blocks(forward);
    (0..forward.len()).all(|n| forward.succ[n].iter().all(|to| !reached(&forward, *to, &BTreeSet::new()).contains(&n)))
}

/// Up to ten blocks, with at most two ways on from each; all are reached.
fn graphs() -> impl Strategy<Value = Blocks> {
    proptest::collection::vec((0..10usize, 0..10usize, 0..3u8), 1..10).prop_map(|nodes| {
        let n = nodes.len();
        let next = |(at, (a, b, ways)): (usize, &(usize, usize, u8))| {
            // The next block, so that all are reached, and others.
            let on = (at + 1 < n).then_some(at + 1);
            let others = [a % n, b % n].into_iter().take((*ways).into());
            on.into_iter().chain(others).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>()
        };
        blocks(nodes.iter().enumerate().map(next).collect())
    })
}

proptest! {
    #[test]
    fn loops_of_reducible_graphs_are_the_natural_ones(graph in graphs()) {
        prop_assume!(is_reducible(&graph));
        let nest = Nest::new(&graph);
        let found: BTreeSet<Vec<usize>> = nest.bodies[1..].iter().cloned().collect();
        let natural: BTreeSet<Vec<usize>> =
            (0..graph.len()).filter_map(|h| natural(&graph, h)).map(|l| l.into_iter().collect()).collect();
        prop_assert_eq!(found, natural);
    }

    #[test]
    fn loops_of_any_graph_are_connected_and_nested(graph in graphs()) {
        let nest = Nest::new(&graph);
        for (number, body) in nest.bodies.iter().enumerate().skip(1) {
            let around: BTreeSet<usize> = nest.bodies[nest.parent[number]].iter().copied().collect();
            prop_assert!(nest.parent[number] < number && body.iter().all(|b| around.contains(b)));
            let outside = (0..graph.len()).filter(|b| !body.contains(b)).collect();
            for b in body {
                let on = reached(&graph, *b, &outside);
                prop_assert!(body.iter().all(|to| on.contains(to)), "{:?} of {:?}", body, graph);
            }
        }
        for (b, inner) in nest.inner.iter().enumerate() {
            let smallest = (0..nest.bodies.len()).filter(|l| nest.bodies[*l].contains(&b)).min_by_key(|l| nest.bodies[*l].len());
            prop_assert_eq!(nest.bodies[*inner].len(), nest.bodies[smallest.unwrap_or(0)].len());
        }
    }

    #[test]
    fn what_each_call_and_each_round_passes_cannot_be_gone_around(graph in graphs()) {
        prop_assume!(is_reducible(&graph));
        let nest = Nest::new(&graph);
        let leaves: Vec<usize> = (0..graph.len()).filter(|b| graph.leaves[*b]).collect();
        for b in 0..graph.len() {
            let without = BTreeSet::from([b]);
            let expected = if nest.inner[b] == 0 {
                let on = reached(&graph, 0, &without);
                !leaves.is_empty() && leaves.iter().all(|l| !on.contains(l))
            } else {
                // The begin of a natural loop dominates the others; without `b` nothing comes back to it.
                let body = &nest.bodies[nest.inner[b]];
                let head = *body.iter().find(|h| body.iter().all(|x| dominates(&graph, **h, *x))).expect("a begin");
                let outside: BTreeSet<usize> = (0..graph.len()).filter(|x| !body.contains(x) || *x == b).collect();
                let mut rounds = graph.succ[head].iter().map(|s| reached(&graph, *s, &outside));
                b == head || rounds.all(|on| !on.contains(&head)) && !graph.succ[head].contains(&head)
            };
            prop_assert_eq!(nest.always[b], expected, "block {} of {:?}", b, graph);
        }
    }

    /// A function compared with itself: each block is its own partner, if lines tell the blocks apart.
    #[test]
    fn a_function_is_like_itself(graph in graphs()) {
        let lines = || (0..graph.len() as u32).map(|n| vec![n, n + 100]).collect();
        let copy = || blocks(graph.succ.clone());
        let (a, b) = (Shape::new(copy(), lines()), Shape::new(copy(), lines()));
        prop_assert_eq!(pairs(&a, &b).unwrap(), (0..graph.len()).map(Some).collect::<Vec<_>>());
    }
}

/// A loop with two entries keeps the loop inside it, and blocks without a line of their own go by what lies around them.
#[test]
fn a_loop_with_two_entries_and_a_block_of_the_same_line() {
    // 0 -> 1 or 3; 1 -> 1 or 2; 2 -> 3; 3 -> 1 or 4.
    let nest = Nest::new(&blocks(vec![vec![1, 3], vec![1, 2], vec![3], vec![1, 4], vec![]]));
    assert_eq!(nest.bodies[1..], [vec![1, 2, 3], vec![1]]);
    // 0 -> 1 or 2 -> 3, where 1 and 2 are of one line and only 2 is called by both; the begins tell them apart.
    let graph = || blocks(vec![vec![1, 2], vec![4], vec![3], vec![4], vec![]]);
    let shape = |lines: [u32; 5]| Shape::new(graph(), lines.map(|l| vec![l]).into());
    let same = shape([1, 2, 2, 3, 4]);
    assert_eq!(pairs(&same, &shape([1, 2, 2, 3, 4])).unwrap(), [Some(0), Some(1), Some(2), Some(3), Some(4)]);
}
