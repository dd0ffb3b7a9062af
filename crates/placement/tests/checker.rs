//! The checker against placements that were tampered with.
mod common;
use common::strategies::{check, uniform};
use common::{cases, machine, parse};
use homenode_base::{NodeId, TotalCost};
use homenode_machine::{Location, Machine};
use homenode_placement::checker::{Illegal, recost};
use homenode_placement::optimum::Replication;
use homenode_placement::{Access, AccessKind, LocationSet, Placement, Start};
use proptest::prelude::*;
use proptest::sample::Index;
use std::cell::Cell;

fn node(n: usize) -> Location {
    Location::Node(NodeId(n as u16))
}

/// A legal placement of a random trace on a random machine, and what it costs.
fn sound() -> impl Strategy<Value = (Machine, Vec<Access>, Placement, TotalCost)> {
    uniform(2..6, 2..32).prop_map(|(m, trace)| {
        let (solved, placement) = Replication::new(&m, 1, Start::FreeSet).place(&trace);
        (m, trace, placement, solved.cost)
    })
}

#[test]
fn illegal_placements_are_rejected_where_they_are_illegal() {
    check(cases(10), 0xbad, &(sound(), any::<Index>()), |((m, trace, good, _), at)| {
        let at = at.index(trace.len());
        let judge = |p: &Placement| recost(&m, 1, &trace, p);

        let mut p = good.clone();
        p.sets[at] = LocationSet::default();
        assert_eq!(judge(&p), Err(Illegal::Nowhere { at }));

        let mut p = good.clone();
        p.sets[at].insert(node(m.nodes()));
        assert_eq!(judge(&p), Err(Illegal::NoSuchLocation { at, location: node(m.nodes()) }));

        let mut p = good.clone();
        p.sets.remove(at);
        assert!(matches!(judge(&p), Err(Illegal::Length { .. })));

        let absent = (0..m.nodes()).map(node).find(|l| !good.sets[at].contains(*l));
        if let Some(absent) = absent {
            let mut p = good.clone();
            p.served = p.sets.iter().map(|s| s.iter().next().expect("not empty")).collect();
            assert!(judge(&p).is_ok());
            p.served[at] = absent;
            assert_eq!(judge(&p), Err(Illegal::ServedElsewhere { at, location: absent }));

            let mut p = good.clone();
            p.sets[at].insert(absent);
            let copies = p.sets[at].len();
            if trace[at].kind == AccessKind::Write {
                assert_eq!(judge(&p), Err(Illegal::CopiesAtWrite { at, copies }));
            }
        }
        if m.cost.global.is_none() {
            let mut p = good.clone();
            p.sets[at] = LocationSet::single(Location::Global);
            assert_eq!(judge(&p), Err(Illegal::NoSuchLocation { at, location: Location::Global }));
        }
    });
}

/// Whatever legal change is made to a cheapest placement, the checker never finds a cheaper one, and a change that
/// must cost something is found to cost just that.
#[test]
fn legal_changes_are_recosted_to_what_they_cost() {
    let [dearer, exact] = [const { Cell::new(0) }; 2];
    check(cases(10), 0xc0de, &(sound(), any::<Index>(), any::<Index>()), |((m, trace, good, optimum), at, to)| {
        let at = at.index(trace.len());
        let mut p = good.clone();
        p.sets[at] = LocationSet::single(node(to.index(m.nodes())));
        let changed = recost(&m, 1, &trace, &p).expect("one location is always legal").total();
        assert!(changed >= optimum, "{p:?}");
        dearer.set(dearer.get() + u64::from(changed > optimum));

        // A copy at a read that nobody uses costs one copy, no more and no less.
        let idle = |k: &usize| {
            *k != trace[at].node.index()
                && (at.saturating_sub(1)..=at + 1).all(|t| good.sets.get(t).is_none_or(|s| !s.contains(node(*k))))
        };
        let one_remote = m.cost.global.is_none() && trace[at].kind == AccessKind::Read && at > 0;
        if let Some(k) = (0..m.nodes()).find(idle).filter(|_| one_remote) {
            let mut p = good.clone();
            p.sets[at].insert(node(k));
            let cost = m.copy_cost(1, node(0), node(1));
            // The first copy beside a lone one can also serve as the place that the reader reads from, at no less.
            assert_eq!(recost(&m, 1, &trace, &p).expect("legal").total(), optimum + cost.into(), "{p:?}");
            exact.set(exact.get() + 1);
        }
    });
    let (dearer, exact) = (dearer.get(), exact.get());
    assert!(dearer > cases(10) / 4 && exact > cases(10) / 50, "both must occur: {dearer}, {exact}");
}

/// Every term of the cost definition once, by hand: near 1, far 5, global 2, R 20, G 12.
#[test]
fn costs_are_those_of_the_definition() {
    let m = machine(3, 1, 5, 20, Some((2, 12)));
    let trace = parse("r0 r1 r2 w2 w0 r0");
    let set = |nodes: &[usize], global: bool| {
        let mut s: LocationSet = nodes.iter().map(|n| node(*n)).collect();
        s.global = global;
        s
    };
    let sets = vec![
        set(&[0], false),
        set(&[0, 1], false),
        set(&[0, 1], true),
        set(&[2], false),
        set(&[], true),
        set(&[0], true),
    ];
    let mut p = Placement { sets, ..Placement::default() };
    let t = recost(&m, 1, &trace, &p).expect("legal");
    assert_eq!((t.local.0, t.remote.0, t.global.0), (1 + 1 + 1 + 1, 0, 2 + 2));
    assert_eq!((t.movement.0, t.moves, t.copies), (20 + 12 + 12 + 12 + 12, 2, 3), "R, G in, G out, G in, G beside");
    p.start = Some(node(1));
    let t = recost(&m, 1, &trace, &p).expect("legal");
    assert_eq!((t.movement.0, t.moves), (20 + 20 + 12 + 12 + 12 + 12, 3), "the first transition is charged");
}
