//! The streaming classifier against one that keeps every reference.
mod common;

use homenode_analysis::Pattern;
use homenode_analysis::patterns::{Patterns, Touch};
use homenode_base::Rng;
use homenode_trace::Op;
use std::collections::{BTreeMap, BTreeSet};

const R: Op = Op::Read;
const W: Op = Op::Write;
const A: Op = Op::Atomic;

/// The definition, on one unit's whole history of (thread, operation, words).
fn by_definition(history: &[(u32, Op, BTreeSet<u64>)]) -> Pattern {
    let turns: Vec<&[(u32, Op, BTreeSet<u64>)]> = history.chunk_by(|a, b| a.0 == b.0).collect();
    if turns.len() <= 3 {
        return Pattern::Private;
    }
    let core = &turns[1..turns.len() - 1];
    let (mut users, mut writers, mut written) =
        (BTreeMap::<u64, BTreeSet<u32>>::new(), BTreeSet::new(), BTreeSet::new());
    for (thread, op, words) in core.iter().copied().flatten() {
        for w in words {
            users.entry(*w).or_default().insert(*thread);
        }
        if op.writes() {
            writers.insert(*thread);
            written.extend(words.iter().copied());
        }
    }
    let read_first = |turn: &&[(u32, Op, BTreeSet<u64>)]| !turn.iter().any(|r| r.1.writes()) || turn[0].1 != Op::Write;
    match writers.len() {
        0 => Pattern::ReadShared,
        _ if written.iter().all(|w| users[w].len() == 1) => Pattern::FalselyShared,
        1 => Pattern::ProducerConsumer,
        _ if core.iter().all(read_first) => Pattern::Migratory,
        _ => Pattern::WriteShared,
    }
}

fn oracle(refs: &[Touch], unit_bytes: u64) -> Vec<(u64, Pattern, u64)> {
    let word_bytes = (unit_bytes / 64).max(1);
    let mut units: BTreeMap<u64, Vec<(u32, Op, BTreeSet<u64>)>> = BTreeMap::new();
    for r in refs {
        let bytes = (0..u64::from(r.size.max(1))).map_while(|k| r.addr.checked_add(k));
        let mut by_unit: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        bytes.for_each(|b| _ = by_unit.entry(b / unit_bytes).or_default().insert(b / word_bytes));
        by_unit.into_iter().for_each(|(unit, words)| units.entry(unit).or_default().push((r.thread, r.op, words)));
    }
    let bytes =
        |h: &[(u32, Op, BTreeSet<u64>)]| h.iter().flat_map(|r| &r.2).collect::<BTreeSet<_>>().len() as u64 * word_bytes;
    units.into_iter().map(|(unit, h)| (unit, by_definition(&h), bytes(&h))).collect()
}

fn streaming(refs: &[Touch], unit_bytes: u64) -> Vec<(u64, Pattern, u64)> {
    let mut patterns = Patterns::new(unit_bytes);
    refs.iter().for_each(|r| patterns.touch(r, |_| {}));
    patterns.classes().map(|c| (c.unit, c.pattern, c.bytes)).collect()
}

/// References that reach every pattern: each line has a habit, which references break now and then.
fn random_trace(rng: &mut Rng, threads: &[u32], lines: u64, refs: u64) -> Vec<Touch> {
    let habits: Vec<u64> = (0..lines).map(|_| rng.below(7)).collect();
    let disorder = rng.below(12);
    let mut trace = Vec::new();
    while (trace.len() as u64) < refs {
        let line = rng.below(lines);
        let who = rng.below(threads.len() as u64);
        let thread = threads[who as usize];
        let (addr, word) = (line * 64, who % 16 * 4);
        let mut go = |at: u64, size: u32, op| trace.push(Touch { addr: addr + at, size, thread, op, object: 0 });
        if rng.below(100) < disorder {
            go(rng.below(64), 1 + rng.below(100) as u32, [R, W, A][rng.below(3) as usize]);
            continue;
        }
        match habits[line as usize] {
            0 => go(rng.below(64), 8, R),
            1 => go(word, 4, [R, W, A][rng.below(3) as usize]),
            2 => go(0, 8, if who == 0 { W } else { R }),
            3 => {
                go(8, 8, R);
                go(8, 4, W);
            }
            4 => go(rng.below(16) * 4, 4, [R, W][rng.below(2) as usize]),
            5 => (0..1 + rng.below(20)).for_each(|_| go(16, 16, W)),
            _ => go(0, 4, A),
        }
    }
    trace
}

#[test]
fn streaming_classifier_equals_the_definition() {
    let cases = if common::slow() { 40_000 } else { 1_500 };
    let mut seen: BTreeMap<Pattern, u64> = BTreeMap::new();
    for seed in 0..cases {
        let mut rng = Rng::new(seed);
        let count = 1 + rng.below(if seed % 10 == 0 { 200 } else { 6 }) as u32;
        // Now and then threads whose numbers need wide codes, some of them late in the trace.
        let far = if seed % 7 == 0 { 65_530 } else { 0 };
        let threads: Vec<u32> = (0..count).map(|t| t + far).collect();
        let unit = [16, 64, 64, 64, 128, 4096][rng.below(6) as usize];
        let (lines, refs) = (1 + rng.below(12), rng.below(400));
        let trace = random_trace(&mut rng, &threads, lines, refs);
        let expected = oracle(&trace, unit);
        assert_eq!(streaming(&trace, unit), expected, "seed {seed}, unit {unit}");
        expected.iter().for_each(|c| *seen.entry(c.1).or_default() += 1);
    }
    assert!(Pattern::ALL.iter().all(|p| seen.get(p).is_some_and(|n| *n > 20)), "every pattern is exercised: {seen:?}");
}

/// Classifies one line from `(thread, operation, offset, bytes)`.
fn line(refs: &[(u32, Op, u64, u32)]) -> Pattern {
    let touches: Vec<Touch> =
        refs.iter().map(|&(thread, op, at, size)| Touch { addr: 0x1000 + at, size, thread, op, object: 0 }).collect();
    let (fast, slow) = (streaming(&touches, 64), oracle(&touches, 64));
    assert_eq!(fast, slow);
    assert_eq!(fast.len(), 1);
    fast[0].1
}

#[test]
fn one_thread_or_a_hand_over_is_private() {
    assert_eq!(line(&[(3, W, 0, 8), (3, R, 8, 8)]), Pattern::Private);
    assert_eq!(line(&[(0, W, 0, 64), (1, R, 0, 8), (1, W, 0, 8)]), Pattern::Private);
    // Filled by one, worked on by another, checked by the first.
    assert_eq!(line(&[(0, W, 0, 64), (1, R, 0, 8), (1, W, 0, 8), (0, R, 0, 64)]), Pattern::Private);
}

#[test]
fn a_table_filled_once_is_read_shared() {
    assert_eq!(line(&[(0, W, 0, 64), (1, R, 0, 8), (2, R, 0, 8), (1, R, 8, 8)]), Pattern::ReadShared);
    // A last turn that clears it does not change what it was.
    assert_eq!(line(&[(0, W, 0, 64), (1, R, 0, 8), (2, R, 0, 8), (0, W, 0, 64)]), Pattern::ReadShared);
}

#[test]
fn initialisation_and_final_sum_do_not_hide_false_sharing() {
    let counters = [(1, A, 4, 4), (2, A, 8, 4), (1, A, 4, 4), (0, A, 0, 4), (2, A, 8, 4)];
    let all: Vec<_> = [(0, W, 0, 64)].into_iter().chain(counters).chain([(0, R, 0, 64)]).collect();
    assert_eq!(line(&all), Pattern::FalselyShared);
    // One writer beside a reader of other words is false sharing too.
    assert_eq!(line(&[(0, W, 0, 64), (1, W, 0, 4), (2, R, 8, 4), (1, W, 0, 4), (2, R, 8, 4)]), Pattern::FalselyShared);
}

#[test]
fn producer_consumer_migratory_and_write_shared() {
    let mailbox = [(1, W, 0, 8), (2, R, 0, 8), (1, W, 0, 8), (2, R, 0, 8), (3, R, 0, 8), (1, W, 0, 8)];
    assert_eq!(line(&mailbox), Pattern::ProducerConsumer);
    let guarded = |t| [(t, R, 0, 8), (t, W, 8, 8)];
    let migratory: Vec<_> = [0, 1, 2, 0, 1, 2].into_iter().flat_map(guarded).chain([(0, R, 8, 8)]).collect();
    assert_eq!(line(&migratory), Pattern::Migratory);
    let atomics: Vec<_> = [0, 1, 2, 0, 1, 2].into_iter().map(|t| (t, A, 0, 8)).collect();
    assert_eq!(line(&atomics), Pattern::Migratory);
    let blind: Vec<_> = [0, 1, 2, 0, 1, 2].into_iter().map(|t| (t, W, 0, 8)).collect();
    assert_eq!(line(&blind), Pattern::WriteShared);
}

#[test]
fn a_serially_filled_and_then_partitioned_array_is_private() {
    let mut refs: Vec<Touch> = Vec::new();
    let mut go = |thread, op, i: u64| refs.push(Touch { addr: i * 8, size: 8, thread, op, object: 0 });
    (0..4096).for_each(|i| go(0, W, i));
    for _ in 0..10 {
        for i in 0..1024 {
            for t in 0..4 {
                go(t, R, u64::from(t) * 1024 + i);
                go(t, W, u64::from(t) * 1024 + i);
            }
        }
    }
    (0..4096).for_each(|i| go(0, R, i));
    let classes = streaming(&refs, 64);
    assert_eq!(classes.len(), 512);
    assert!(classes.iter().all(|c| c.1 == Pattern::Private && c.2 == 64), "{classes:?}");
}

#[test]
fn addresses_at_both_ends_do_not_wrap() {
    let touch = |addr, size| Touch { addr, size, thread: 0, op: W, object: 0 };
    let classes = streaming(&[touch(0, 4), touch(u64::MAX, 16), touch(u64::MAX - 3, 0)], 64);
    assert_eq!(classes, [(0, Pattern::Private, 4), (u64::MAX / 64, Pattern::Private, 2)]);
}
