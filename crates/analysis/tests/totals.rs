//! Sums, bounds on memory, and tables that do not depend on chance.
mod common;

use common::{PAGE, Program, machine};
use homenode_analysis::{Analysis, Charge, Setup, UNKNOWN_OBJECT, UNKNOWN_SITE};
use homenode_base::{Cost, NodeId, Rng, TotalCost};
use homenode_machine::{AccessClass, Location};
use homenode_trace::{Merged, Op};
use std::collections::BTreeMap;

fn random_program(seed: u64, threads: u32, refs: u64) -> Program {
    let mut rng = Rng::new(seed);
    let mut p = Program::default();
    let names = ["a", "b", "c", "d", "e"];
    let mut at = 0x10_0000;
    for name in names {
        let bytes = 1 + rng.below(3 * PAGE);
        p.object(name, "x.c:1", at, bytes);
        at += bytes + rng.below(200);
    }
    let places = [("x.c:1", "f"), ("x.c:2", "f"), ("x.c:2", "g"), ("x.c:2", "f")];
    p.sites = places.to_vec();
    for _ in 0..refs {
        let addr = 0x10_0000 - 100 + rng.below(at - 0x10_0000 + 200);
        let op = Op::ALL[rng.below(4) as usize];
        let size = if rng.chance(1, 50) { rng.below(3 * PAGE) } else { 1 << rng.below(5) } as u32;
        p.go(rng.below(threads.into()) as u32, op, addr, size, rng.below(4) as u32);
    }
    p
}

#[test]
fn every_table_adds_up_to_the_total() {
    let cases = if common::slow() { 2_000 } else { 100 };
    for seed in 0..cases {
        let threads = 1 + (seed % 9) as u32;
        let p = random_program(seed, threads, 600);
        for (nodes, caches) in [(1, true), (2, false), (3, true)] {
            // `analyse` compares the objects' sum with what was charged.
            let a = p.analyse(&machine(nodes, caches), threads);
            let sum = |costs: &mut dyn Iterator<Item = TotalCost>| costs.sum::<TotalCost>();
            assert_eq!(sum(&mut a.lines.iter().map(|l| l.cost)), a.total, "lines, seed {seed}");
            assert_eq!(sum(&mut a.patterns.iter().map(|l| l.cost)), a.total, "patterns, seed {seed}");
            let remote = sum(&mut a.objects.iter().map(|o| o.remote_cost));
            assert_eq!(sum(&mut a.lines.iter().map(|l| l.remote_cost)), remote, "remote, seed {seed}");
            let refs = p.refs.iter().filter(|r| r.op != Op::Spin).count() as u64;
            assert_eq!(a.objects.iter().map(|o| o.refs).sum::<u64>(), refs);
            assert_eq!(a.lines.iter().map(|l| l.refs).sum::<u64>(), refs);
            let heat: u64 = a.heat.rows.iter().flat_map(|r| r.cells.iter().flatten()).sum();
            assert_eq!(heat, refs, "the heat map loses nothing");
            assert!(a.best_static <= a.total);
            assert!(a.lines.is_sorted_by_key(|l| std::cmp::Reverse(l.cost)));
            assert!(a.objects.is_sorted_by_key(|o| std::cmp::Reverse(o.cost)));
        }
    }
}

/// Best static by trying every home of every page, on a machine without caches.
#[test]
fn best_static_equals_trying_every_home() {
    for seed in 0..50 {
        let p = random_program(seed, 6, 500);
        let m = machine(3, false);
        let mut pages: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for r in p.refs.iter().filter(|r| r.op != Op::Spin) {
            let last = r.addr + u64::from(r.size.max(1)) - 1;
            for line in r.addr / 64..=last / 64 {
                pages.entry(line * 64 / PAGE).or_insert(vec![0; 3])[r.thread as usize / 2] += 1;
            }
        }
        let best =
            |n: &Vec<u64>| (0..3).map(|h| (0..3).map(|i| n[i] * if i == h { 100 } else { 180 }).sum::<u64>()).min();
        let expected: u64 = pages.values().filter_map(best).sum();
        assert_eq!(p.analyse(&m, 6).best_static, TotalCost(expected.into()), "seed {seed}");
    }
}

#[test]
fn charges_without_site_object_or_reference_are_kept() {
    let m = machine(2, true);
    let nodes = [NodeId(0), NodeId(1)];
    let mut a = Analysis::new(Setup {
        machine: &m,
        block_bytes: PAGE,
        unit_bytes: 64,
        nodes: &nodes,
        cpus: &[],
        sampled: None,
        colours: 1,
    });
    let charge = Charge {
        addr: 0x5000,
        object: UNKNOWN_OBJECT,
        site: UNKNOWN_SITE,
        node: NodeId(1),
        class: AccessClass::WriteBack,
        weight: 2,
        home: Location::Node(NodeId(0)),
        cost: Cost(360),
    };
    a.charge(&charge);
    a.reference(&Merged { addr: 0x5000, size: 8, site: 0, weight: 1, thread: 0, op: Op::Read, ..Merged::default() }, 0);
    let mut p = Program::default();
    p.object("x", "x.c:1", 0x5000, 8);
    p.site("x.c:2", "f");
    let a = a.finish(&p);
    assert_eq!((a.total, a.best_static), (TotalCost(360), TotalCost(200)));
    assert_eq!((a.lines[0].place.as_str(), a.objects[0].name.as_str()), ("unknown", "unknown memory"));
    assert_eq!(a.objects[1].first_touch, [(0, 1)], "the first reference is the first touch, not the charge before it");
}

#[test]
fn a_long_reference_touches_every_block_it_reaches() {
    let mut p = Program::default();
    p.object("x", "x.c:1", 0x5000, 3 * PAGE);
    p.site("x.c:2", "f");
    let (m, nodes) = (machine(2, true), [NodeId(0), NodeId(1)]);
    let mut a = Analysis::new(Setup {
        machine: &m,
        block_bytes: PAGE,
        unit_bytes: 64,
        nodes: &nodes,
        cpus: &[],
        sampled: None,
        colours: 1,
    });
    a.reference(
        &Merged {
            addr: 0x5ff8,
            size: PAGE as u32 + 16,
            site: 0,
            weight: 1,
            thread: 1,
            op: Op::Write,
            ..Merged::default()
        },
        0,
    );
    a.reference(
        &Merged {
            addr: 0x5000,
            size: 3 * PAGE as u32,
            site: 0,
            weight: 1,
            thread: 0,
            op: Op::Read,
            ..Merged::default()
        },
        0,
    );
    let a = a.finish(&p);
    assert_eq!(a.objects[0].first_touch, [(1, 3)]);
    assert_eq!((a.objects[0].refs, a.patterns[0].bytes), (2, 3 * PAGE));
}

#[test]
fn pages_of_several_objects_are_reported() {
    let mut p = Program::default();
    p.site("x.c:2", "f");
    for (i, name) in ["a", "b", "c"].into_iter().enumerate() {
        let at = p.object(name, "x.c:1", 0x10_0000 + i as u64 * 2048, 2048);
        (0..32).for_each(|k| p.go(i as u32, Op::Write, at + k * 64, 8, 0));
    }
    let a = p.analyse(&machine(2, false), 3);
    assert_eq!(a.warnings, ["1 block is shared by several objects: it has one home for all of them."]);
}

#[test]
fn memory_does_not_grow_with_references_and_stays_below_104_bytes_a_line() {
    let m = machine(2, true);
    let nodes = [NodeId(0), NodeId(0), NodeId(1), NodeId(1)];
    let mut a = Analysis::new(Setup {
        machine: &m,
        block_bytes: PAGE,
        unit_bytes: 64,
        nodes: &nodes,
        cpus: &[],
        sampled: None,
        colours: 1,
    });
    let lines = 400_000u64;
    let mut touch = |thread, op, i: u64| {
        a.reference(
            &Merged { addr: i * 64, size: 8, site: (i % 50) as u32, weight: 1, thread, op, ..Merged::default() },
            (i / 100_000) as u32,
        );
    };
    (0..lines).for_each(|i| touch(0, Op::Write, i));
    (0..lines).for_each(|i| touch((i * 4 / lines) as u32, Op::Write, i));
    (0..lines).for_each(|i| touch(0, Op::Read, i));
    let before = a.memory_bytes();
    let fixed = 10 << 20; // Heat map and small tables.
    assert!(before < lines as usize * 104 + fixed, "{} bytes a line", before / lines as usize);
    let mut rng = Rng::new(1);
    for _ in 0..3_000_000 {
        // From now on one line in eight is shared by all.
        let i = rng.below(lines);
        let thread = if i.is_multiple_of(8) { rng.below(4) } else { i * 4 / lines } as u32;
        a.reference(
            &Merged {
                addr: i * 64,
                size: 8,
                site: (i % 50) as u32,
                weight: 1,
                thread,
                op: Op::Write,
                ..Merged::default()
            },
            (i / 100_000) as u32,
        );
    }
    assert!(a.memory_bytes() < lines as usize * 104 + fixed, "{} bytes a line", a.memory_bytes() / lines as usize);
}

#[test]
fn a_thousand_threads_and_wide_thread_numbers() {
    let mut p = Program::default();
    p.object("x", "x.c:1", 0x10_0000, PAGE);
    p.site("x.c:2", "f");
    for round in 0..3 {
        (0..1000u32).for_each(|t| p.go(t, Op::Atomic, 0x10_0000 + u64::from(t % 512) * 8, 8, 0));
        p.go(round, Op::Write, 0x10_0000, 64, 0);
    }
    let a = p.analyse(&machine(2, true), 1000);
    assert_eq!(a.objects[0].users.len(), 1000);
    assert!(a.objects[0].users.is_sorted());
    let m = machine(2, true);
    let mut far = Analysis::new(Setup {
        machine: &m,
        block_bytes: PAGE,
        unit_bytes: 64,
        nodes: &[],
        cpus: &[],
        sampled: None,
        colours: 1,
    });
    for thread in [0, 70_000, 2, 70_001, 3, 70_000, 1] {
        far.reference(
            &Merged { addr: 0x10_0000, size: 8, site: 0, weight: 1, thread, op: Op::Atomic, ..Merged::default() },
            0,
        );
    }
    assert_eq!(far.finish(&p).objects[0].users, [0, 1, 2, 3, 70_000, 70_001]);
}
