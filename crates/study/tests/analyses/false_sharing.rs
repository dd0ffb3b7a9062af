//! Moves, bounds, closed forms, and how each definition of false sharing fails.
use crate::common::{bindings, cases, csv, merged, question, random_refs};
use homenode_base::Rng;
use homenode_machine::models;
use homenode_machine::models::family::{self, Parameters};
use homenode_placement::Start;
use homenode_study::analyses::{
    Component, Intervals, McprParts, MoveCost, Moves, SyntheticTrace, data_ratio, ratio_proves,
};
use homenode_study::{Question, Want, plain};
use homenode_trace::Merged;

/// o and b of the closed forms: DSM, in words.
const COST: MoveCost = MoveCost { overhead: 275, per_word: 2 };

fn known(name: &str) -> SyntheticTrace {
    *SyntheticTrace::ALL.iter().find(|k| k.name() == name).expect("one of the three")
}

/// The twelve rows of the recomputed closed forms: moves by simulation, S and Gamma exactly.
#[test]
fn closed_forms_on_the_three_synthetic_traces_are_exact() {
    let rows = csv("check_eq_7_13");
    assert_eq!(rows.len(), 12);
    for row in rows {
        let int = |i: usize| row[i].parse::<f64>().unwrap() as i128;
        let (p, s, n) = (int(1) as u32, int(2) as u64, int(3) as u64);
        assert_eq!((int(4), int(5)), (COST.overhead.into(), COST.per_word.into()));
        let trace = known(&row[0]);
        let bindings = bindings(p);
        for start in [Start::FreeSet, Start::FreeSingle] {
            // Fourteen words lie in a block of sixteen as they do in one of fourteen.
            let mut moves = Moves::new(&[s.next_power_of_two(), 1], 4, start, &bindings).unwrap();
            moves.refs(&merged(&trace.program(p, s, n)).refs());
            assert_eq!(moves.words(), n);
            let counts = moves.counts();
            assert_eq!((counts[0].1, counts[1].1), (int(6) as u64, int(7) as u64), "{row:?}");
            let (block_moves, word_moves, fragmentation) = trace.moves(s, COST.per_word, n);
            assert_eq!((counts[0].1, counts[1].1, fragmentation), (block_moves, word_moves, int(8)));
        }
        let simulated = Component { cost: COST, block_words: s, block_moves: int(6) as u64, word_moves: int(7) as u64 };
        let split = simulated.split(int(8));
        assert_eq!((split.false_sharing, split.grouping), (int(9) * split.scale, int(10) * split.scale), "{row:?}");
        let thesis = Component { cost: COST, block_words: s, block_moves: int(11) as u64, word_moves: int(12) as u64 };
        let fragmentation =
            if trace == SyntheticTrace::Fragmentation { i128::from(n) * 2 * (i128::from(s) - 1) } else { 0 };
        let split = thesis.split(fragmentation);
        assert_eq!(split.false_sharing, int(13) * split.scale, "S of the source: {row:?}");
        assert_eq!(split.grouping, int(14) * split.scale, "Gamma of the source: {row:?}");
    }
}

/// What each definition says where the truth is known, for p = 4, s = 8, n = 1600. False sharing by cost component is 0,
/// 465309 and 0.
#[test]
fn each_definition_fails_where_it_is_known_to() {
    let bindings = bindings(4);
    let values = |trace: SyntheticTrace| {
        let log = merged(&trace.program(4, 8, 1600));
        let (block_moves, word_moves, fragmentation) = trace.moves(8, COST.per_word, 1600);
        let c = Component { cost: COST, block_words: 8, block_moves, word_moves };
        let mut intervals = Intervals::new(8, 4, (1, 1), Start::FreeSingle, &bindings).unwrap();
        intervals.refs(&log.refs());
        let intervals = intervals.finish();
        let split = c.split(fragmentation);
        let truth = split.false_sharing / split.scale;
        let by_interval = intervals.lower(COST.of_words(8), COST.of_words(8));
        (truth, c.one_word_difference(), by_interval, intervals.full_duration_saved, c.lower(), c.upper())
    };
    // Upper bound: all fragmentation counts. Intervals: no reads, so one interval in which everybody has a copy.
    assert_eq!(
        values(SyntheticTrace::Fragmentation),
        (0, 22_386, (1599 - 3 - 3) * 291, 1596, 0, 1599.0 * 291.0 * 7.0 / 8.0)
    );
    // One-word difference, cost component and its bounds agree; intervals still pay for copies and merging.
    assert_eq!(
        values(SyntheticTrace::FalseSharing),
        (465_309, 465_309, (1599 - 3 - 3) * 291, 1596, 465_309, 465_309.0)
    );
    // One-word difference is negative, since grouping helps; intervals say that there is false sharing.
    assert_eq!(values(SyntheticTrace::LostGrouping), (0, 199 * 291 - 1592 * 277, (199 - 3 - 3) * 291, 196, 0, 0.0));
}

/// Full duration is 0 as soon as one word is read once by somebody else, however much is falsely shared.
#[test]
fn full_duration_is_lost_with_one_read() {
    let mut refs = merged(&SyntheticTrace::FalseSharing.program(4, 8, 1600)).refs();
    let read = Merged { op: homenode_trace::Op::Read, thread: (refs[799].thread + 1) % 4, ..refs[799] };
    refs.insert(801, read);
    let bindings = bindings(4);
    let mut intervals = Intervals::new(8, 4, (1, 1), Start::FreeSingle, &bindings).unwrap();
    intervals.refs(&refs);
    let found = intervals.finish();
    assert_eq!((found.full_duration_saved, found.full_duration_blocks), (0, 0));
    assert!(found.lower(291, 291) > 400_000, "two intervals still show nearly all of it: {found:?}");
    assert_eq!(found.intervals, 2);
}

/// 0 <= lower <= upper, from one word (where both are 0) to blocks beyond the whole trace.
#[test]
fn bounds_are_in_order_on_random_traces() {
    for seed in 0..cases(3000, 20_000) {
        let mut rng = Rng::new(seed);
        let p = 2 + rng.below(6) as u32;
        let words = 1 + rng.below(40);
        let mut refs = random_refs(&mut rng, p, words, 60);
        refs.iter_mut().for_each(|r| r.size = [4, 4, 4, 8, 1][rng.below(5) as usize]);
        let start = if rng.chance(1, 2) { Start::FreeSet } else { Start::FreeSingle };
        let bindings = bindings(p);
        let mut moves = Moves::new(&[1, 2, 4, 8, 16, 64], 4, start, &bindings).unwrap();
        moves.refs(&refs);
        let counts = moves.counts();
        for &(block_words, block_moves) in &counts {
            let cost = MoveCost { overhead: rng.below(500) as i64, per_word: 1 + rng.below(5) as i64 };
            let c = Component { cost, block_words, block_moves, word_moves: counts[0].1 };
            let lower = c.lower() * i128::from(block_words);
            assert!(0 <= lower && lower <= c.upper_scaled(), "seed {seed}: {c:?}");
            if block_words == 1 {
                assert_eq!((c.upper_scaled(), c.one_word_difference()), (0, 0), "one word cannot be falsely shared");
            }
            // 7.2 and 7.5 are identities, whatever is taken for fragmentation.
            let split = c.split(rng.below(1000).into());
            let all = split.grouping + split.fragmentation + split.false_sharing;
            assert_eq!(all, c.one_word_difference() * split.scale);
            assert_eq!(split.overhead + split.data, split.false_sharing);
        }
    }
}

fn dsm(bindings: &[homenode_sim::ThreadBinding], blocks: &[u64]) -> Question {
    let processors = bindings.len() as u16;
    let machine = family::DSM.build(&Parameters { processors, ..Parameters::default() }).unwrap();
    question(machine, bindings, blocks)
}

/// Counting moves and the exact optimum of the plain engine are the same thing where remote references do not exist.
#[test]
fn moves_are_those_of_the_optimum_without_remote_references() {
    for seed in 0..cases(60, 2000) {
        let mut rng = Rng::new(seed ^ 77);
        let p = 2 + rng.below(4) as u32;
        let words = 1 + rng.below(80);
        let refs = random_refs(&mut rng, p, words, 300);
        let bindings = bindings(p);
        for start in [Start::FreeSet, Start::FreeSingle] {
            let mut q = Question { start, ..dsm(&bindings, &[4, 16, 64, 4096]) };
            q.with_replication = Want::Parts;
            let answer = plain::answer(&q, &refs).unwrap();
            let mut moves = Moves::new(&[1, 4, 16, 1024], 4, start, &bindings).unwrap();
            moves.refs(&refs);
            assert_eq!(moves.words(), answer.accesses);
            for (row, (words, counted)) in answer.rows.iter().zip(moves.counts()) {
                let optimum = row.optimum.unwrap();
                assert_eq!(row.block_bytes, 4 * words);
                assert_eq!(counted, optimum.moves + optimum.copies, "seed {seed} {start:?} {words}");
                let cost = MoveCost::of_machine(&q.machines[0]).unwrap();
                let parts = McprParts::of(&optimum, answer.accesses, 1, cost, words).unwrap();
                assert!((parts.mcpr() - row.cost.as_f64() / 300.0).abs() < 1e-9);
                assert_eq!((parts.near, parts.remote), (1.0, 0.0));
                let data = counted as f64 * 2.0 * words as f64 / 300.0;
                assert!(
                    (parts.data - data).abs() < 1e-9 && (parts.overhead - counted as f64 * 275.0 / 300.0).abs() < 1e-9
                );
            }
        }
    }
}

/// With remote references, what they cost beyond local ones is a part of its own and the parts still make the whole.
#[test]
fn parts_of_the_mean_cost_add_up_with_remote_references() {
    let refs = random_refs(&mut Rng::new(5), 4, 3000, 4000);
    let bindings = bindings(4);
    let machine = family::NUMA.build(&Parameters { processors: 4, ..Parameters::default() }).unwrap();
    let mut q = question(machine, &bindings, &[512, 4096]);
    q.with_replication = Want::Parts;
    let answer = plain::answer(&q, &refs).unwrap();
    let cost = MoveCost::of_machine(&q.machines[0]).unwrap();
    assert_eq!((cost.overhead, cost.per_word), (275, 2));
    for row in &answer.rows {
        let parts = McprParts::of(row.optimum.as_ref().unwrap(), 4000, 1, cost, row.block_bytes / 4).unwrap();
        assert!((parts.mcpr() - row.cost.as_f64() / 4000.0).abs() < 1e-9);
        assert!(parts.remote > 1.0, "{parts:?}");
        let wrong = MoveCost { overhead: 276, ..cost };
        let moves = row.optimum.unwrap().moves + row.optimum.unwrap().copies;
        let other = McprParts::of(row.optimum.as_ref().unwrap(), 4000, 1, wrong, row.block_bytes / 4);
        assert_eq!(other.is_none(), moves > 0, "costs of another machine are noticed");
    }
}

/// Section 7.2, p-qsort on CC from 8 KiB to 1 KiB: data falls 8.7 times, more than the 8 that fragmentation allows.
#[test]
fn ratio_test_is_that_of_the_thesis() {
    let (large, small) = ((8192, 293_000), (1024, 270_000));
    assert!((data_ratio(large, small).unwrap() - 8.7).abs() < 0.05);
    assert!(ratio_proves(large, small) && !ratio_proves(small, large));
    assert!(!ratio_proves((8192, 270_000), (1024, 270_000)), "fragmentation alone can do that");
    assert_eq!(data_ratio(large, (1024, 0)), None);
    let bindings = bindings(4);
    for (trace, proven) in [
        (SyntheticTrace::Fragmentation, false),
        (SyntheticTrace::FalseSharing, true),
        (SyntheticTrace::LostGrouping, false),
    ] {
        let mut moves = Moves::new(&[8, 1], 4, Start::FreeSingle, &bindings).unwrap();
        moves.refs(&merged(&trace.program(4, 8, 1600)).refs());
        let counts = moves.counts();
        assert_eq!(ratio_proves(counts[0], counts[1]), proven, "{}", trace.name());
    }
}

#[test]
fn move_costs_are_taken_only_from_machines_that_the_equations_hold_for() {
    let of = |name: &str| MoveCost::of_machine(&models::find(name).unwrap());
    assert_eq!(of("cc"), Some(MoveCost { overhead: 152, per_word: 2 }));
    assert_eq!(of("butterfly"), Some(MoveCost { overhead: 200, per_word: 3 }));
    assert_eq!((of("ace"), of("two-socket"), of("opteron8")), (None, None, None));
}

#[test]
fn blocks_that_are_no_powers_of_two_are_refused() {
    for (block_words, word_bytes) in [(0, 4), (14, 4), (16, 3), (1 << 40, 4)] {
        let moves = Moves::new(&[block_words], word_bytes, Start::FreeSet, &[]).expect_err("refused");
        let intervals = Intervals::new(block_words, word_bytes, (1, 1), Start::FreeSet, &[]).expect_err("refused");
        assert_eq!(moves.to_string(), intervals.to_string());
        assert!(moves.to_string().contains("powers of two"), "{moves}");
    }
}
