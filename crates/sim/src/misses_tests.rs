//! Classes known by construction.
use super::*;
use AccessClass as C;

/// Classes of misses at these lines by one code location, each of which misses.
fn classes(waits: Waits, op: Op, lines: impl IntoIterator<Item = u64>) -> Vec<AccessClass> {
    let waits = [Waits::Unknown, waits];
    let mut all = MissClasses::new(&waits, 1, 6, None);
    let class = |line| {
        let missing = all.reference(0, 1, line, op);
        all.served(0, missing, CacheEventKind::ReadMiss);
        missing.class
    };
    lines.into_iter().map(class).collect()
}

#[test]
fn equal_steps_are_a_stream_from_the_fourth_line_on() {
    use Waits::Dependent;
    assert_eq!(classes(Dependent, Op::Read, 10..15), [C::Read, C::Read, C::Read, C::ReadStreamed, C::ReadStreamed]);
    let backwards = classes(Dependent, Op::Read, [90, 80, 70, 60, 50]);
    assert_eq!(backwards[3..], [C::ReadStreamed; 2], "ten lines are less than half a page");
    let far = classes(Dependent, Op::Read, (0..8).map(|i| 33 * i));
    assert_eq!(far, [C::Read; 8], "more than half a page");
    let broken = classes(Dependent, Op::Read, [1, 2, 3, 4, 9, 10, 11, 12, 13]);
    assert_eq!(broken[3..], [C::ReadStreamed, C::Read, C::Read, C::Read, C::ReadStreamed, C::ReadStreamed]);
}

#[test]
fn loads_overlap_if_they_do_not_depend_on_each_other_and_are_near() {
    let random = [7, 900, 31, 555, 2];
    assert_eq!(classes(Waits::Dependent, Op::Read, random), [C::Read; 5]);
    assert_eq!(classes(Waits::Unknown, Op::Read, random), [C::Read; 5]);
    let independent = classes(Waits::Independent, Op::Read, random);
    assert_eq!(independent, [C::Read, C::ReadOverlapped, C::ReadOverlapped, C::ReadOverlapped, C::ReadOverlapped]);
    let waits = [Waits::Unknown, Waits::Independent];
    let mut all = MissClasses::new(&waits, 1, 6, None);
    let first = all.reference(0, 1, 5, Op::Read);
    all.served(0, first, CacheEventKind::TransferFar);
    (0..WINDOW).for_each(|_| _ = all.reference(0, 1, 5, Op::Read));
    assert_eq!(all.reference(0, 1, 70, Op::Read).class, C::Read, "alone in its window");
}

#[test]
fn stores_wait_for_nobody_and_read_modify_writes_do() {
    let random = [7, 900, 31];
    assert_eq!(classes(Waits::Unknown, Op::Write, random), [C::WriteOverlapped; 3]);
    assert_eq!(classes(Waits::Independent, Op::Atomic, random), [C::Write; 3]);
    assert_eq!(classes(Waits::Unknown, Op::Write, 0..5)[3..], [C::WriteStreamed; 2]);
}

#[test]
fn what_nobody_knows_is_counted_apart() {
    let waits = [Waits::Unknown, Waits::Dependent];
    let mut all = MissClasses::new(&waits, 2, 6, None);
    for (thread, site, line) in [(0, 0, 4), (0, 1, 400), (1, 7, 30), (1, 7, 4000)] {
        let missing = all.reference(thread, site, line, Op::Read);
        all.served(thread, missing, CacheEventKind::ReadMiss);
    }
    assert_eq!(all.totals, MissTotals { waited: 1, unknown: 3, overlapped: 0, streamed: 0 });
}

#[test]
fn threads_have_streams_of_their_own() {
    let mut all = MissClasses::new(&[], 2, 6, None);
    let mut class = |thread, line| all.reference(thread, 3, line, Op::Read).class;
    let turns = (0..6).flat_map(|i| [(0, i), (1, 100 - i)]);
    let found: Vec<AccessClass> = turns.map(|(thread, line)| class(thread, line)).collect();
    assert_eq!(found[6..], [C::ReadStreamed; 6]);
}

#[test]
fn hits_have_classes_and_prices_of_their_own() {
    let costs = HitCosts { waited: Cost(100), overlapped: Cost(10), streamed: Cost(1) };
    let waits = [Waits::Unknown, Waits::Independent, Waits::Dependent];
    let cost = |site, op, lines: [u64; 5]| {
        let mut all = MissClasses::new(&waits, 1, 6, Some(costs));
        let found = lines.map(|line| {
            let missing = all.reference(0, site, line, op);
            all.hit(0, missing).0
        });
        assert_eq!(
            (all.hits().expect("priced").cost.0, all.totals),
            (found.iter().sum::<i64>().into(), MissTotals::default())
        );
        found
    };
    let random = [7, 900, 31, 555, 2];
    assert_eq!(cost(1, Op::Read, random), [100, 10, 10, 10, 10], "the first is alone");
    assert_eq!(cost(2, Op::Read, random), [100; 5]);
    assert_eq!(cost(0, Op::Read, random), [100; 5], "nobody knows");
    assert_eq!(cost(0, Op::Write, random), [10; 5]);
    assert_eq!(cost(2, Op::Read, [1, 2, 3, 4, 5]), [100, 100, 100, 1, 1]);
    let mut free = MissClasses::new(&waits, 1, 6, None);
    let missing = free.reference(0, 2, 7, Op::Read);
    assert_eq!((free.hit(0, missing), free.hits()), (Cost::ZERO, None));
}

/// Classes of the misses of chains of so many references, each begun by one that hits: those of one reorder window, and so many further chains.
fn of_chains(length: u64, chains: u64) -> Vec<AccessClass> {
    let waits = [Waits::Unknown, Waits::Begins(3), Waits::Anew(3)];
    let mut all = MissClasses::new(&waits, 1, 6, None);
    let mut found = Vec::new();
    for chain in 0..chains {
        _ = all.reference(0, 1, 5, Op::Read);
        for link in 0..length {
            let missing = all.reference(0, 2, 1000 + (chain * 7919 + link * 104_729) % 65_536, Op::Read);
            all.served(0, missing, CacheEventKind::ReadMiss);
            found.push(missing.class);
        }
    }
    found
}

#[test]
fn of_short_chains_one_in_a_window_is_waited_for() {
    let found = of_chains(1, 200);
    let waited: Vec<usize> = (0..found.len()).filter(|&i| found[i] == C::Read).collect();
    assert_eq!(waited, [0, 51, 102, 153], "two references a chain, {WINDOW} a window");
    let pairs = of_chains(2, 40);
    let both = [C::Read, C::Read, C::ReadOverlapped, C::ReadOverlapped, C::ReadOverlapped, C::ReadOverlapped];
    assert_eq!(pairs[..6], both, "as many as the longest has");
    let long = of_chains(150, 4);
    let overlapped = long.iter().filter(|c| **c == C::ReadOverlapped).count();
    assert!(overlapped * 2 < long.len(), "{overlapped} of {}: beside the end of the one before", long.len());
    assert!(long[..150].iter().all(|c| *c == C::Read), "a chain that is alone");
    assert_eq!(classes(Waits::Anew(0), Op::Read, [7, 900, 31, 555, 2]), [C::Read; 5], "no round was seen to begin");
}

#[test]
fn hits_of_short_chains_overlap_too() {
    let costs = HitCosts { waited: Cost(100), overlapped: Cost(10), streamed: Cost(1) };
    let waits = [Waits::Begins(0), Waits::Anew(0)];
    let mut all = MissClasses::new(&waits, 1, 6, Some(costs));
    let mut cost = |begins: bool, line| {
        if begins {
            _ = all.reference(0, 0, 3, Op::Read);
        }
        let missing = all.reference(0, 1, line, Op::Read);
        all.hit(0, missing).0
    };
    assert_eq!([cost(true, 70), cost(false, 900), cost(true, 31), cost(false, 555)], [100, 100, 10, 10]);
}
