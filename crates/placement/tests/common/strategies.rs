//! Machines and traces as strategies: what fails is made smaller before it is shown.
use super::machine;
use homenode_base::{Cost, NodeId, VirtualTime};
use homenode_machine::{AccessClass, Machine, Matrix};
use homenode_placement::{Access, AccessKind};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

/// Runs a test on so many cases, the same ones each time, and shows the smallest that fails.
pub(crate) fn check<S: Strategy>(cases: u64, seed: u64, cases_of: &S, test: impl Fn(S::Value)) {
    let cases = u32::try_from(cases).expect("a number of cases");
    let config = Config { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(seed), ..Config::default() };
    let run = TestRunner::new(config).run(cases_of, |case| {
        test(case);
        Ok(())
    });
    run.unwrap_or_else(|e| panic!("{e}"));
}

/// A machine with one remote cost a class, and accesses of its nodes; all orders of R, r, G and g occur, r infinite too.
pub(crate) fn uniform(
    nodes: std::ops::Range<usize>,
    len: std::ops::Range<usize>,
) -> impl Strategy<Value = (Machine, Vec<Access>)> {
    let cells = [(0..9_i64, 0..12_i64), (0..9, 0..12), (0..9, 0..12)];
    let machines = (nodes, 1..9_i64, 0..30_i64, proptest::option::of(0..30_i64), 1..13_i64, cells, 0..6_u8);
    (machines, accesses(len)).prop_map(|((nodes, g, copy, g_copy, slack, cells, way), accesses)| {
        let mut m = machine(nodes, 1, 1, copy, g_copy.map(|copy| (g, copy)));
        let [read, write, back] =
            cells.map(|(near, far)| Matrix::uniform(nodes, Cost(near % (g + 1)), Cost(g + far % slack)));
        (m.cost.read, m.cost.write, m.cost.write_back, m.cost.remote_access) = (read, write, back, way < 5);
        (m, on(nodes, accesses))
    })
}

/// A machine with any distances, the diagonal the least of its row, accesses of its nodes, and costs of moves of the same
/// kind.
pub(crate) fn distances(
    nodes: std::ops::Range<usize>,
    len: std::ops::Range<usize>,
) -> impl Strategy<Value = (Machine, Vec<Access>, Matrix)> {
    let cells = || (vec(0..4_i64, 5), vec(0..12_i64, 25));
    let global = proptest::option::of((1..9_i64, 0..30_i64));
    let machines = (nodes, 0..30_i64, global, [cells(), cells(), cells(), cells()], 0..6_u8);
    (machines, accesses(len)).prop_map(|((nodes, copy, global, cells, way), accesses)| {
        let mut m = machine(nodes, 1, 1, copy, global);
        let [read, write, back, moves] = cells.map(|(near, beyond)| matrix(nodes, &near, &beyond));
        (m.cost.read, m.cost.write, m.cost.write_back, m.cost.remote_access) = (read, write, back, way < 5);
        (m, on(nodes, accesses), moves)
    })
}

fn matrix(nodes: usize, near: &[i64], beyond: &[i64]) -> Matrix {
    let cell = |i: usize, j: usize| Cost(near[i] + if i == j { 0 } else { beyond[5 * i + j] });
    let rows: Vec<Vec<Cost>> = (0..nodes).map(|i| (0..nodes).map(|j| cell(i, j)).collect()).collect();
    Matrix::from_rows(&rows).expect("square")
}

/// Accesses with all classes, weights from 0, anything from all reads to all writes, and nodes that change at each access
/// or stay for long; the nodes are numbers yet to be brought down to those that there are.
pub(crate) fn accesses(len: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Access>> {
    let shape = (
        proptest::sample::select(&[0_u8, 1, 2, 3, 6, 10][..]),
        proptest::sample::select(&[0_u8, 0, 4][..]),
        proptest::sample::select(&[0_u8, 0, 8, 14][..]),
    );
    let steps = vec((0..16_u8, 0..16_u8, 0..16_u8, 0..60_u16, 0..4_u32, 0..3_u8), len);
    (shape, steps).prop_map(|((writes_of_16, odd_of_16, sticks_of_16), steps)| {
        let mut node = NodeId(0);
        let access = |(t, (sticks, odd, writes, next, weight, class))| {
            if sticks >= sticks_of_16 {
                node = NodeId(next);
            }
            let odd = odd < odd_of_16;
            let (kind, class) = match (writes < writes_of_16, odd, class) {
                (false, true, 0) => (AccessKind::Read, AccessClass::Free),
                (false, ..) => (AccessKind::Read, AccessClass::Read),
                (true, true, 0) => (AccessKind::Write, AccessClass::Free),
                (true, true, 1) => (AccessKind::Write, AccessClass::WriteBack),
                (true, ..) => (AccessKind::Write, AccessClass::Write),
            };
            Access { node, kind, class, weight: if odd { weight } else { 1 }, t: VirtualTime(t) }
        };
        (0..).zip(steps).map(access).collect()
    })
}

fn on(nodes: usize, mut accesses: Vec<Access>) -> Vec<Access> {
    accesses.iter_mut().for_each(|a| a.node = NodeId(a.node.0 % nodes as u16));
    accesses
}
