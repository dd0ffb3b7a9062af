//! Seeded random machines and traces.
#![allow(dead_code, reason = "each test binary uses a part")]
pub(crate) mod slow;
pub(crate) mod strategies;

use homenode_base::{Cost, NodeId, Rng, VirtualTime};
use homenode_machine::{AccessClass, CopyCost, Costs, GlobalMemory, Machine, Matrix, Sections, Shape, Unit};
use homenode_placement::events::{POLICIES, Paths};
use homenode_placement::{Access, AccessKind, EventCounts};
use std::sync::Arc;

/// Number of random cases: 50,000, or 5 million in the slow tier (`HOMENODE_SLOW=1`), divided by `share`.
pub(crate) fn cases(share: u64) -> u64 {
    let slow = std::env::var("HOMENODE_SLOW").is_ok_and(|v| v == "1");
    (if slow { 5_000_000 } else { 50_000 }) / share
}

/// Nothing counted yet, on this machine.
pub(crate) fn counts(m: &Machine, block_bytes: u64) -> EventCounts {
    EventCounts::new(&POLICIES, Arc::new(Paths::new(&POLICIES, &[m], block_bytes)))
}

/// `near`, `global` and `far` for every class, R and G in a block of one byte.
pub(crate) fn machine(nodes: usize, near: i64, far: i64, copy: i64, global: Option<(i64, i64)>) -> Machine {
    let matrix = Matrix::uniform(nodes, Cost(near), Cost(far));
    Machine {
        name: "test".into(),
        title: "test".into(),
        sources: Vec::new(),
        unit: Unit::Quantum("quantum".into()),
        shape: Shape { cores: vec![1; nodes], word_bytes: 1, page_bytes: 1 },
        cost: Costs {
            read: matrix.clone(),
            write: matrix.clone(),
            write_back: matrix,
            remote_access: true,
            copy: CopyCost::linear(Cost(copy), Cost(0)),
            global: global
                .map(|(g, copy)| GlobalMemory { access: Cost(g), copy: CopyCost::linear(Cost(copy), Cost(0)) }),
        },
        sections: Sections::default(),
    }
}

/// A machine with one remote cost a class; all orders of R, r, G and g occur, r infinite too.
pub(crate) fn random_machine(rng: &mut Rng, nodes: usize) -> Machine {
    let scale = 1 + rng.below(30);
    let global = rng.below(2) == 0;
    let (g, g_copy) = (1 + rng.below(8) as i64, rng.below(scale) as i64);
    let mut m = machine(nodes, 1, 1, rng.below(scale) as i64, global.then_some((g, g_copy)));
    let slack = 1 + rng.below(12);
    for matrix in [&mut m.cost.read, &mut m.cost.write, &mut m.cost.write_back] {
        let near = rng.below(g as u64 + 1) as i64;
        let far = g + rng.below(slack) as i64;
        *matrix = Matrix::uniform(nodes, Cost(near), Cost(far));
    }
    m.cost.remote_access = rng.below(6) > 0;
    m
}

/// A machine with random distances; the diagonal is the least of its row.
pub(crate) fn random_matrix_machine(rng: &mut Rng, nodes: usize) -> Machine {
    let mut m = random_machine(rng, nodes);
    for matrix in [&mut m.cost.read, &mut m.cost.write, &mut m.cost.write_back] {
        *matrix = random_matrix(rng, nodes);
    }
    m
}

/// Random cells, the diagonal at most the others of its row.
pub(crate) fn random_matrix(rng: &mut Rng, nodes: usize) -> Matrix {
    let row = |i: usize, rng: &mut Rng| -> Vec<Cost> {
        let near = rng.below(4) as i64;
        (0..nodes).map(|j| Cost(if i == j { near } else { near + rng.below(12) as i64 })).collect()
    };
    let rows: Vec<Vec<Cost>> = (0..nodes).map(|i| row(i, rng)).collect();
    Matrix::from_rows(&rows).expect("square")
}

/// Accesses with all classes, weights from 0, anything from all reads to all writes, and nodes that change at each
/// access or stay for long.
pub(crate) fn random_trace(rng: &mut Rng, nodes: usize, len: usize) -> Vec<Access> {
    let writes_of_16 = [0, 1, 2, 3, 6, 10][rng.below(6) as usize];
    let odd_of_16 = [0, 0, 4][rng.below(3) as usize];
    let sticks_of_16 = [0, 0, 8, 14][rng.below(4) as usize];
    let mut node = NodeId(0);
    (0..len)
        .map(|t| {
            if rng.below(16) >= sticks_of_16 {
                node = NodeId(rng.below(nodes as u64) as u16);
            }
            let odd = rng.below(16) < odd_of_16;
            let weight = if odd { rng.below(4) as u32 } else { 1 };
            let (kind, class) = match (rng.below(16) < writes_of_16, odd, rng.below(3)) {
                (false, true, 0) => (AccessKind::Read, AccessClass::Free),
                (false, ..) => (AccessKind::Read, AccessClass::Read),
                (true, true, 0) => (AccessKind::Write, AccessClass::Free),
                (true, true, 1) => (AccessKind::Write, AccessClass::WriteBack),
                (true, ..) => (AccessKind::Write, AccessClass::Write),
            };
            Access { node, kind, class, weight, t: VirtualTime(t as u64) }
        })
        .collect()
}

/// Reads `r0 w1 w2`: one access each, weight 1.
pub(crate) fn parse(text: &str) -> Vec<Access> {
    let access = |(t, word): (usize, &str)| {
        let (kind, class) = match &word[..1] {
            "r" => (AccessKind::Read, AccessClass::Read),
            _ => (AccessKind::Write, AccessClass::Write),
        };
        let node = NodeId(word[1..].parse().expect("a node"));
        Access { node, kind, class, weight: 1, t: VirtualTime(t as u64) }
    };
    text.split_whitespace().enumerate().map(access).collect()
}
