use super::*;
use crate::names::{Names, ObjectName, SiteName};
use homenode_trace::Op;

fn piece(line: usize) -> Piece {
    Piece { index: line, unit: line as u64, words: 0xFF, detailed: false }
}

const R: Reference = Reference { thread: 1, cpu: 1, site: 1, object: 0, op: Op::Write, lock: false, turn: 0 };

struct Nameless;
impl Names for Nameless {
    fn object(&self, _: u32) -> ObjectName {
        ObjectName::default()
    }
    fn extent(&self, _: u32, _: u64) -> Option<(u64, u64)> {
        None
    }
    fn site(&self, _: u32) -> SiteName {
        SiteName::default()
    }
}

#[test]
fn lines_that_travel_often_stay_and_nothing_is_lost_from_the_sums() {
    let mut detail = Detail::within((1000, 1_000_000));
    let (mut transfers, mut watched) = (0, std::collections::BTreeSet::new());
    let hot = |line: usize| line.is_multiple_of(977);
    for round in 0..3000u32 {
        for line in (0..20_000).step_by(if round < 2 { 1 } else { 977 }) {
            if round < 2 || hot(line) {
                let r = Reference { cpu: round % 2, ..R };
                let p = piece(line);
                detail.reference(&p, &r);
                if detail.transfer(&p, &r, Cost(3)) {
                    watched.insert(line);
                }
                transfers += 1;
            }
            if detail.is_full() {
                detail.prune().into_iter().for_each(|i| assert!(watched.remove(&i)));
            }
        }
    }
    assert!(watched.len() <= 1001, "{}", watched.len());
    assert!((0..20_000).filter(|l| hot(*l)).all(|l| watched.contains(&l)), "what travels often is watched");
    let (lines, sums) = Detail::finish([detail]);
    assert!(sums.pruned && lines.len() == watched.len());
    let b = sums.breakdown(&Nameless, &|_| String::new());
    let classes = [&b.falsely_shared, &b.truly_shared, &b.locks, &b.unwatched];
    assert_eq!(classes.iter().map(|c| c.transfers).sum::<u64>(), transfers);
    assert_eq!(classes.iter().map(|c| c.cost.0).sum::<i128>(), 3 * i128::from(transfers));
    assert!(b.unwatched.transfers > 0);
}

#[test]
fn what_is_watched_of_many_equal_lines_is_spread_over_all_of_them() {
    let mut detail = Detail::within((1000, 1_000_000));
    for line in 0..64_000 {
        detail.transfer(&piece(line), &R, Cost(1));
        if detail.is_full() {
            detail.prune();
        }
    }
    let (lines, _) = Detail::finish([detail]);
    for part in 0..4u64 {
        let here = lines.iter().filter(|l| l.unit / 16_000 == part).count();
        assert!(here * 8 > lines.len(), "{here} of {} lines in part {part}", lines.len());
    }
}
