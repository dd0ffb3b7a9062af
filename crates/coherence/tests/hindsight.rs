//! All counters in one pass against one engine each.
mod common;

use common::{check, choice, history, prices, references, step};
use homenode_base::TotalCost;
use homenode_coherence::hindsight::{AllCounters, Delayed, Hindsight, LANES, STARTS};
use homenode_coherence::{Effect, Effects};
use homenode_placement::{AccessKind, Step};
use proptest::collection::vec;
use proptest::prelude::*;

const PROTOCOLS: [(Delayed, &str); 2] = [(Delayed::Update, "upt-del"), (Delayed::Invalidate, "inv-del")];

fn same(steps: &[Step]) {
    for (protocol, name) in PROTOCOLS {
        let mut counters = AllCounters::new(protocol);
        // The second time shows that nothing is left of the first page.
        for found in [counters.page(steps), counters.page(steps)] {
            for (start, found) in STARTS.into_iter().zip(found) {
                let mut expected = Effects::default();
                choice(&format!("{name}({start})")).engine(64).page(steps, &mut expected);
                [Effect::Invalidation, Effect::Multicast].iter().for_each(|e| expected.0[*e as usize] = 0);
                assert_eq!(found, expected, "{name}({start}): {steps:?}");
            }
        }
    }
}

#[test]
fn random_pages() {
    check(200, 1, &references(70, 1, 80), |refs| same(&history(&refs, 0)));
    let kinds = prop::sample::select(&[AccessKind::Read, AccessKind::Read, AccessKind::Write][..]);
    let weights = prop::sample::select(&[1u32, 1, 2, 3, 7, 64, 100_000][..]);
    check(300, 2, &vec((0..4u16, kinds, weights), 1..60), |all| {
        let steps = (1..).zip(all).map(|(t, (p, kind, weight))| step(p, kind, weight, t));
        same(&steps.collect::<Vec<_>>());
    });
}

#[test]
fn counters_are_powers_of_two_and_never() {
    assert_eq!((STARTS[0], STARTS[16], STARTS[LANES - 1]), (1, 65_536, u32::MAX));
    assert!(STARTS.is_sorted());
}

/// A page that one processor reads often, and one that is read once and written: each wants another counter.
#[test]
fn the_best_of_each_page_is_at_least_as_good_as_the_best_of_all() {
    let often = [step(0, AccessKind::Read, 100_000, 1)];
    let seldom: Vec<Step> = (0..2000)
        .map(|t| step(t % 2, if t % 2 == 0 { AccessKind::Read } else { AccessKind::Write }, 1, t.into()))
        .collect();
    let (mut counters, mut sum) = (AllCounters::new(Delayed::Invalidate), Hindsight::default());
    for page in [&often[..], &seldom] {
        sum.add(&counters.page(page), &prices(), 4096);
    }
    let fetch = 90 + 4 * 1024 + 1000;
    assert_eq!(sum.by_page, TotalCost(fetch + 99_999 * 5 + 1000 * 100 + 1000 * 10));
    let best = sum.each.iter().min().expect("some");
    assert!(*best > sum.by_page && sum.each[0] > *best, "{sum:?}");
}
