//! Every solver against brute force, and every placement it returns against the checker.
mod common;
use common::strategies::{accesses, check, distances, uniform};
use common::{cases, machine, parse, random_trace};
use homenode_base::{Cost, NodeId, Rng, TotalCost};
use homenode_machine::{AccessClass, Machine};
use homenode_placement::checker::recost;
use homenode_placement::optimum::{BestStatic, Replication, ReplicationLinear, Solo, SoloLinear, Solver};
use homenode_placement::oracle::{Sets, least_cost, least_cost_literally, least_cost_with_moves};
use homenode_placement::{Access, AccessKind, Placement, Solved, Start};
use proptest::prelude::*;
use std::cell::Cell;

const STARTS: [Start; 2] = [Start::FreeSet, Start::FreeSingle];

fn cost(n: i64) -> TotalCost {
    Cost(n).into()
}

/// The placement is legal and costs, moves and copies what was claimed.
fn check_placement(m: &Machine, trace: &[Access], claimed: Solved, placement: &Placement, what: &str) {
    let tally =
        recost(m, 1, trace, placement).unwrap_or_else(|e| panic!("{what}: {e}\n{m:?}\n{trace:?}\n{placement:?}"));
    let found = Solved { cost: tally.total(), movement: tally.movement, moves: tally.moves, copies: tally.copies };
    assert_eq!(found, claimed, "{what}\n{m:?}\n{trace:?}\n{placement:?}");
}

fn check_solo(m: &Machine, trace: &[Access]) {
    let expected = least_cost(m, 1, trace, Start::FreeSet, Sets::Single);
    let (solved, placement) = Solo::new(m, 1).place(trace);
    assert_eq!(solved.cost, expected, "without replication\n{m:?}\n{trace:?}");
    check_placement(m, trace, solved, &placement, "without replication");
    let linear = SoloLinear::new(m, 1).expect("one remote cost").solve(trace);
    assert_eq!(linear.cost, expected, "without replication, linear\n{m:?}\n{trace:?}");
}

fn check_replication(m: &Machine, trace: &[Access], start: Start) {
    let expected = least_cost(m, 1, trace, start, Sets::Replicated);
    let solver = Replication::new(m, 1, start);
    assert!(solver.is_exact());
    let streamed = solver.solve(trace);
    assert_eq!(streamed.cost, expected, "{start:?}\n{m:?}\n{trace:?}");
    let (solved, placement) = solver.place(trace);
    assert_eq!(solved, streamed, "slice and stream, {start:?}\n{m:?}\n{trace:?}");
    check_placement(m, trace, solved, &placement, "with replication");
    if let Some(linear) = ReplicationLinear::new(m, 1, start) {
        assert_eq!(linear.solve(trace).cost, expected, "linear, {start:?}\n{m:?}\n{trace:?}");
    }
}

#[test]
fn optimum_is_that_of_brute_force_on_random_traces() {
    check(cases(5) * 4, 0x0b10c, &(uniform(2..6, 1..21), any::<bool>()), |((m, trace), single)| {
        check_solo(&m, &trace);
        check_replication(&m, &trace, STARTS[usize::from(single)]);
    });
}

/// Machines with R < G and long runs of reads, where global memory must come and go and the stream folds what it keeps.
#[test]
fn windows_without_global_memory_are_those_of_brute_force() {
    let machines = (3..6_usize, 1..9_i64, 0..12_i64, 1..7_i64, 0..20_i64);
    let kept = proptest::collection::vec(0..4_u8, 16);
    check(cases(10), 0x317d, &(machines, accesses(16..17), kept), |((nodes, g, copy, more, far), mut trace, kept)| {
        let m = machine(nodes, 1, 1 + g + far, copy, Some((1 + g, copy + more)));
        for (a, kept) in trace.iter_mut().zip(kept) {
            a.node = NodeId(a.node.0 % nodes as u16);
            if kept > 0 {
                (a.kind, a.class) = (AccessKind::Read, AccessClass::Read);
            }
        }
        STARTS.iter().for_each(|s| check_replication(&m, &trace, *s));
    });
}

#[test]
fn brute_force_is_that_of_literal_enumeration() {
    check(cases(100).min(5_000), 0xe9, &uniform(1..3, 1..5), |(m, trace)| {
        for start in STARTS {
            let literal = least_cost_literally(&m, 1, &trace, start);
            assert_eq!(least_cost(&m, 1, &trace, start, Sets::Replicated), literal, "{start:?}");
        }
    });
}

#[test]
fn lower_bound_bounds_and_is_exact_where_it_says_so() {
    let [exact, inexact] = [const { Cell::new(0) }; 2];
    check(cases(10), 0x10b0, &(distances(2..5, 1..13), any::<bool>()), |((m, trace, _), single)| {
        let start = STARTS[usize::from(single)];
        let solver = Replication::new(&m, 1, start);
        let (bound, optimum) = (solver.solve(&trace).cost, least_cost(&m, 1, &trace, start, Sets::Replicated));
        assert!(bound <= optimum, "{bound:?} > {optimum:?}");
        assert_eq!(solver.is_exact(), m.unmet_conditions().is_empty());
        if solver.is_exact() {
            exact.set(exact.get() + 1);
            assert_eq!(bound, optimum);
        } else {
            inexact.set(inexact.get() + 1);
        }
    });
    assert!(exact.get() > 100 && inexact.get() > 100, "both kinds must occur: {exact:?}, {inexact:?}");
}

#[test]
fn no_replication_on_matrix_machines_is_that_of_brute_force() {
    check(cases(10), 0x3a7, &distances(2..6, 1..21), |(mut m, trace, moves)| {
        let (solved, placement) = Solo::new(&m, 1).place(&trace);
        assert_eq!(solved.cost, least_cost(&m, 1, &trace, Start::FreeSet, Sets::Single));
        check_placement(&m, &trace, solved, &placement, "matrix");
        m.cost.global = None;
        let solo = Solo::with_moves(&m, &moves).expect("right size, no global memory");
        assert_eq!(solo.solve(&trace).cost, least_cost_with_moves(&m, &moves, &trace));
    });
}

#[test]
fn best_static_is_the_cheapest_constant_placement() {
    check(cases(10), 0x57a7, &distances(1..6, 1..21), |(m, trace, _)| {
        let solver = BestStatic::new(&m);
        let mut used = solver.begin();
        trace.iter().for_each(|a| solver.push(&mut used, a));
        let (home, solved) = solver.finish(&used);
        let constant = |l| {
            let sets = vec![std::iter::once(l).collect(); trace.len()];
            recost(&m, 1, &trace, &Placement { sets, ..Placement::default() }).map(|t| t.total())
        };
        assert_eq!(constant(home), Ok(solved.cost));
        let nodes = (0..m.nodes() as u16).map(|n| homenode_machine::Location::Node(NodeId(n)));
        let best = nodes.chain([homenode_machine::Location::Global]).filter_map(|l| constant(l).ok()).min();
        assert_eq!(best, Some(solved.cost));
    });
}

/// Traces on which the printed algorithms go wrong, with their true optima.
#[test]
fn counterexamples_to_the_printed_algorithms() {
    let free_set = |m: &Machine, text: &str| Replication::new(m, 1, Start::FreeSet).solve(&parse(text)).cost;
    let single = |m: &Machine, text: &str| Replication::new(m, 1, Start::FreeSingle).solve(&parse(text)).cost;
    let m = machine(3, 1, 8, 17, None);
    assert_eq!(free_set(&m, "w0 w0 w1 r1 r1 r1 w2 w2 w2"), cost(40));
    assert_eq!(free_set(&m, "w0 w1 r1 r1 r1 w2 w2 w2"), cost(32));
    assert_eq!(single(&m, "r0 w1 r1 r1 r1 r2 r2 w2"), cost(32));
    assert_eq!(single(&machine(3, 1, 5, 3, None), "r0 w1 r0 w2"), cost(11));
    let four = machine(4, 1, 23, 8, Some((4, 9)));
    assert_eq!(single(&four, "r3 r0 r0 r1 r0 r2 r2 r2"), cost(31), "R < G: global memory must leave the set");
    let figure_4_1 = machine(2, 1, 7, 10, Some((5, 1)));
    for trace in ["w1 w1 w0", "r1 r1 r0"] {
        assert_eq!(
            Solo::new(&figure_4_1, 1).solve(&parse(trace)).cost,
            cost(8),
            "R > 2G: own source for moves into global"
        );
    }
    for m in [m, four, figure_4_1] {
        for text in ["w0 w0 w1 r1 r1 r1 w0 w0 w0", "r0 w1 r0 w1", "r1 r0 r0 r1 r0 r1 r1 r1", "w1 w1 w0"] {
            STARTS.iter().for_each(|s| check_replication(&m, &parse(text), *s));
            check_solo(&m, &parse(text));
        }
    }
}

/// R < G: two traces that need the two rarer timelines of global memory.
#[test]
fn global_memory_leaves_for_two_reads_and_comes_back() {
    let m = machine(6, 1, 15, 6, Some((4, 7)));
    let trace = parse("w1 r3 r5 r0 r1 r2 r1 r1 r2 r2");
    assert_eq!(
        Replication::new(&m, 1, Start::FreeSet).solve(&trace).cost,
        cost(32),
        "33 if a start at a node excludes it"
    );
    STARTS.iter().for_each(|s| check_replication(&m, &trace, *s));

    // From global memory to global memory: node 0 gets its copy at G = 12, nodes 1 to 3 theirs at R = 6 while global
    // memory is absent, and node 4 is served by it after its return: 8 writes and 1 read at 1, 12 + 3 x 6 + 12.
    let writes = "w1 w2 w3 w4 ";
    let reads: String = [(0, 13), (1, 12), (2, 12), (3, 12), (4, 1)].map(|(q, n)| format!("r{q} ").repeat(n)).concat();
    let (m, trace) = (machine(5, 1, 40, 6, Some((2, 12))), parse(&format!("{writes}{reads}{writes}")));
    let solved = Replication::new(&m, 1, Start::FreeSet).solve(&trace);
    assert_eq!(solved.cost, cost(trace.len() as i64 + 8 + 1 + 12 + 18 + 12));
    STARTS.iter().for_each(|s| check_replication(&m, &trace, *s));
}

#[test]
fn empty_traces_cost_nothing() {
    let m = machine(3, 1, 8, 17, Some((2, 20)));
    for start in STARTS {
        let solver = Replication::new(&m, 1, start);
        assert_eq!(solver.place(&[]).0, Solved::default());
        assert!(solver.place(&[]).1.sets.is_empty());
    }
    assert_eq!(Solo::new(&m, 1).place(&[]).0, Solved::default());
    assert_eq!(SoloLinear::new(&m, 1).expect("one remote cost").solve(&[]), Solved::default());
}

/// Corollary 1 of Bolosky 1993 (section 4.1.5): scaling r - 1, g - 1, R and G by s scales what a trace costs beyond its
/// length by s.
#[test]
fn excess_scales_with_the_parameters() {
    let mut rng = Rng::new(0xc0);
    for _ in 0..200 {
        let (nodes, s) = (2 + rng.below(6) as usize, 1 + rng.below(1000) as i64);
        let trace = random_trace(&mut rng, nodes, 200);
        let length: i64 = trace.iter().map(|a| if a.class as u8 == 3 { 0 } else { i64::from(a.weight) }).sum();
        let excess = |s: i64| {
            let m = machine(nodes, 1, 1 + 5 * s, 40 * s, Some((1 + 2 * s, 30 * s)));
            Replication::new(&m, 1, Start::FreeSet).solve(&trace).cost - cost(length)
        };
        assert_eq!(excess(s).0, excess(1).0 * i128::from(s));
    }
}

/// Offsets and values are brought back to zero on the way without changing the result.
#[test]
fn long_traces_and_large_costs_stay_exact() {
    let (small, scale) = (machine(3, 0, 5, 17, None), 1 << 40);
    let large = machine(3, 0, 5 * scale, 17 * scale, None);
    let mut rng = Rng::new(0x1a);
    let trace: Vec<Access> = random_trace(&mut rng, 3, 1_000_000);
    for start in STARTS {
        let (a, b) =
            (Replication::new(&small, 1, start).solve(&trace), Replication::new(&large, 1, start).solve(&trace));
        assert_eq!((a.cost.0 * i128::from(scale), a.moves, a.copies), (b.cost.0, b.moves, b.copies));
        assert!(b.cost.0 > 1 << 58, "the point of the test: {b:?}");
        let linear = ReplicationLinear::new(&large, 1, start).expect("one remote cost").solve(&trace);
        assert_eq!(linear.cost, b.cost);
    }
    let solo =
        |m: &Machine| (Solo::new(m, 1).solve(&trace), SoloLinear::new(m, 1).expect("one remote cost").solve(&trace));
    let ((a, b), (c, d)) = (solo(&small), solo(&large));
    assert_eq!([a.cost.0, b.cost.0].map(|c| c * i128::from(scale)), [c.cost.0, d.cost.0]);
    assert_eq!(a.cost, b.cost);
}
