//! Intervals against all choices of intervals.
use crate::common::{bindings, cases, random_refs};
use homenode_base::Rng;
use homenode_placement::Start;
use homenode_study::analyses::{IntervalCounts, Intervals};
use homenode_trace::{Merged, Op};
use std::collections::{BTreeSet, HashMap};

/// Whether copies of one block may diverge over these references.
fn may_diverge(refs: &[Merged]) -> bool {
    let users: BTreeSet<u32> = refs.iter().map(|r| r.thread).collect();
    if users.len() < 2 || !refs.iter().any(|r| r.op.writes()) {
        return false;
    }
    let mut writers: HashMap<u64, BTreeSet<u32>> = HashMap::new();
    for r in refs {
        if r.op != Op::Write && writers.get(&r.addr).is_some_and(|w| w.iter().any(|t| *t != r.thread)) {
            return false;
        }
        if r.op.writes() {
            writers.entry(r.addr).or_default().insert(r.thread);
        }
    }
    true
}

/// Moves from these holders with coherence, and the holders afterwards; the first reference of all is free.
fn coherent(refs: &[Merged], mut holders: BTreeSet<u32>) -> (u64, BTreeSet<u32>) {
    let mut moves = 0;
    for r in refs {
        moves += u64::from(!holders.is_empty() && !holders.contains(&r.thread));
        if r.op.writes() {
            holders.clear();
        }
        holders.insert(r.thread);
    }
    (moves, holders)
}

/// The least cost (moves and merges at 1 each) over every choice of intervals, the copy of any writer kept after a merge.
fn best(refs: &[Merged], holders: &BTreeSet<u32>, memo: &mut HashMap<(usize, BTreeSet<u32>), u64>, at: usize) -> u64 {
    if at == refs.len() {
        return 0;
    }
    if let Some(known) = memo.get(&(at, holders.clone())) {
        return *known;
    }
    let (moves, after) = coherent(&refs[at..=at], holders.clone());
    let mut least = moves + best(refs, &after, memo, at + 1);
    for end in at + 2..=refs.len() {
        let part = &refs[at..end];
        if !may_diverge(part) {
            continue;
        }
        let users: BTreeSet<u32> = part.iter().map(|r| r.thread).collect();
        let writers: BTreeSet<u32> = part.iter().filter(|r| r.op.writes()).map(|r| r.thread).collect();
        let first = u64::from(holders.is_empty());
        let cost = users.difference(holders).count() as u64 - first + writers.len() as u64 - 1;
        for keeper in writers {
            least = least.min(cost + best(refs, &BTreeSet::from([keeper]), memo, end));
        }
    }
    memo.insert((at, holders.clone()), least);
    least
}

fn counts(refs: &[Merged], words: u64, threads: u32) -> IntervalCounts {
    let bindings = bindings(threads);
    let mut intervals = Intervals::new(words, 4, (1, 1), Start::FreeSingle, &bindings).unwrap();
    intervals.refs(refs);
    intervals.finish()
}

#[test]
fn chosen_intervals_cost_between_the_best_choice_and_none() {
    let (mut exact, mut below, mut all) = (0, 0, 0);
    for seed in 0..cases(1500, 40_000) {
        let mut rng = Rng::new(seed);
        let threads = 2 + rng.below(2) as u32;
        let n = 4 + rng.below(10);
        let mut refs = random_refs(&mut rng, threads, 4, n);
        refs.iter_mut().filter(|r| r.op == Op::Read).for_each(|r| {
            if rng.chance(1, 2) {
                r.op = Op::Write;
            }
        });
        let found = counts(&refs, 4, threads);
        let plain = coherent(&refs, BTreeSet::new()).0;
        assert_eq!(found.moves, plain, "seed {seed}");
        let optimum = best(&refs, &BTreeSet::new(), &mut HashMap::new(), 0);
        let chosen = found.chosen_moves + found.merges;
        assert!(optimum <= chosen, "seed {seed}: {optimum} {found:?}");
        let lower = found.lower(1, 1);
        assert_eq!(lower, (i128::from(plain) - i128::from(chosen)).max(0));
        assert!(lower <= i128::from(plain - optimum), "a lower bound of what intervals can save");
        exact += u64::from(lower == i128::from(plain - optimum));
        below += u64::from(lower < i128::from(plain - optimum));
        all += 1;
    }
    assert!(exact * 2 > all && below > 0, "often exact, not always: {exact} of {all}");
}

/// The whole history is one interval: by looking at all of it.
#[test]
fn full_duration_is_that_of_histories_that_may_diverge() {
    for seed in 0..cases(1500, 20_000) {
        let mut rng = Rng::new(seed ^ 9);
        let n = 2 + rng.below(10);
        let mut refs = random_refs(&mut rng, 3, 64, n);
        refs.iter_mut().filter(|r| r.addr % 16 != u64::from(r.thread) * 4).for_each(|r| r.op = Op::Write);
        let found = counts(&refs, 4, 3);
        let mut blocks: HashMap<u64, Vec<Merged>> = HashMap::new();
        refs.iter().for_each(|r| blocks.entry(r.addr / 16).or_default().push(*r));
        let (mut saved, mut number) = (0, 0);
        for part in blocks.values().filter(|b| may_diverge(b)) {
            let users: BTreeSet<u32> = part.iter().map(|r| r.thread).collect();
            saved += coherent(part, BTreeSet::new()).0 - (users.len() as u64 - 1);
            number += 1;
        }
        assert_eq!((found.full_duration_saved, found.full_duration_blocks), (saved, number), "seed {seed}");
    }
}
