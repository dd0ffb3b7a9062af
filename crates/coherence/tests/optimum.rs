//! The optimum against every set of holders, and the protocols against the optimum.
mod common;

use common::{PROTOCOLS, check, choice, history, prices, references, run, step, turns};
use homenode_base::{Cost, TotalCost};
use homenode_coherence::optimum::Optimum;
use homenode_coherence::oracle::brute_force;
use homenode_coherence::protocols::Timing;
use homenode_machine::Coherence;
use homenode_placement::{AccessKind, Step};
use proptest::collection::vec;
use proptest::prelude::*;

/// Prices of all proportions: nothing, cheap and dear copies, packets dearer than reads.
fn any_prices() -> impl Strategy<Value = Coherence> {
    (0..9i64, 0..30i64, 0..30i64, 0..20i64, 0..3i64, 0..60i64).prop_map(|(local, far, write, trip, word, fault)| {
        Coherence {
            local: Cost(local),
            remote_read: Cost(local + far),
            remote_write: Cost(write),
            round_trip: Cost(trip),
            word: Cost(word),
            // A copy costs no less than a reference to it.
            fault: Cost(fault.max(local)),
        }
    })
}

/// Accesses of weights up to 5, by up to four processors.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let writes = prop::sample::select(&[0u8, 2, 5, 8][..]);
    (writes, vec((0..4u16, 0..10u8, 1..6u32), 0..14)).prop_map(|(writes, all)| {
        let kind = |what: u8| if what < writes { AccessKind::Write } else { AccessKind::Read };
        (1..).zip(all).map(|(t, (p, what, weight))| step(p, kind(what), weight, t)).collect()
    })
}

#[test]
fn equals_the_best_of_all_sets_of_holders() {
    check(
        3000,
        1,
        &(any_prices(), prop::sample::select(&[4u64, 16, 64][..]), steps()),
        |(prices, page_bytes, steps)| {
            let found = Optimum::new(&prices, page_bytes).page(&steps);
            assert_eq!(found, brute_force(&prices, page_bytes, 4, &steps), "{prices:?}: {steps:?}");
            let mut in_turns = Optimum::new(&prices, page_bytes);
            in_turns.turns(&turns(&steps, Timing::Order, || false).0);
            assert_eq!(in_turns.take(&[0]), found, "{prices:?}: {steps:?}");
            // Cut anywhere, one at a time, the second page of two.
            let mut odd = false;
            let cut = || {
                odd = !odd;
                odd
            };
            for mut turn in turns(&steps, Timing::Order, cut).0 {
                turn.page = 1;
                in_turns.turns(&[turn]);
            }
            assert_eq!(in_turns.take(&[1]), found, "{prices:?}: {steps:?}");
        },
    );
}

#[test]
fn sums_that_leave_64_bits_are_exact() {
    const DEAR: i64 = 10_000_000_000_000_000;
    check(300, 3, &(any_prices(), steps()), |(p, steps)| {
        let dear = |cost: Cost| Cost(cost.0 * DEAR);
        let prices = Coherence {
            local: dear(p.local),
            remote_read: dear(p.remote_read),
            remote_write: dear(p.remote_write),
            round_trip: dear(p.round_trip),
            word: dear(p.word),
            fault: dear(p.fault),
        };
        let expected = TotalCost(Optimum::new(&p, 16).page(&steps).0 * i128::from(DEAR));
        let mut optimum = Optimum::new(&prices, 16);
        turns(&steps, Timing::Order, || false).0.iter().for_each(|turn| optimum.turns(&[*turn]));
        assert_eq!((optimum.take(&[0]), optimum.page(&steps)), (expected, expected), "{p:?}: {steps:?}");
    });
}

#[test]
fn one_solver_takes_one_page_after_another() {
    check(300, 2, &(steps(), steps()), |(first, second)| {
        let fresh = |steps: &[Step]| Optimum::new(&prices(), 64).page(steps);
        let mut solver = Optimum::new(&prices(), 64);
        assert_eq!((solver.page(&first), solver.page(&second)), (fresh(&first), fresh(&second)));
    });
}

#[test]
fn no_protocol_costs_less() {
    let cases = (any_prices(), prop::sample::select(&[4u64, 64, 256][..]), references(9, 3, 120));
    check(400, 3, &cases, |(prices, page_bytes, refs)| {
        let mut solver = Optimum::new(&prices, page_bytes);
        let least: TotalCost = (0..3).map(|page| solver.page(&history(&refs, page))).sum();
        for text in PROTOCOLS {
            let cost = run(&choice(text), page_bytes, &refs).cost(&prices, page_bytes);
            assert!(cost >= least, "{text} costs {cost:?}, the optimum {least:?}");
        }
    });
}

/// Every history of four references by three processors, at the prices of table 1.
#[test]
fn every_short_history() {
    let ways: Vec<Step> =
        (0..3).flat_map(|p| [AccessKind::Read, AccessKind::Write].map(|kind| step(p, kind, 1, 1))).collect();
    let cheap = Coherence { fault: Cost(0), round_trip: Cost(20), ..prices() };
    for prices in [prices(), cheap] {
        let mut solver = Optimum::new(&prices, 16);
        for number in 0..ways.len().pow(4) {
            let digit = |i: u32| ways[number / ways.len().pow(i) % ways.len()];
            let steps: Vec<Step> = (0..4).map(digit).collect();
            let found = solver.page(&steps);
            assert_eq!(found, brute_force(&prices, 16, 3, &steps), "{steps:?}");
        }
    }
}

#[test]
fn a_page_read_by_many_is_copied_and_one_written_in_turns_is_not() {
    let read: Vec<Step> = (0..8).map(|p| step(p, AccessKind::Read, 1000, 1)).collect();
    let copy = 90 + 4 * 1024 + 500;
    assert_eq!(Optimum::new(&prices(), 4096).page(&read), TotalCost(8 * (copy + 999 * 5)));
    let turns: Vec<Step> = (0..100).map(|t| step(t % 8, AccessKind::Write, 1, t.into())).collect();
    assert_eq!(Optimum::new(&prices(), 4096).page(&turns), TotalCost(100 * 10));
}
