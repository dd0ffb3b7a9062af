//! Traces made to break folding and the vector kernels, against the plain engine.
mod common;

use common::{Single, model, question, random_single, reference, same, single};
use homenode_base::Rng;
use homenode_machine::Machine;
use homenode_placement::Start;
use homenode_study::{Question, Want};
use homenode_trace::{Counting, Merged, Op, SampleUnit};

const ADDR: u64 = 0x7000_0000;

/// Machines that bring values back after few steps (K near 2^26), that need 64 bits, and ordinary ones.
fn machines(rng: &mut Rng, nodes: u16) -> Vec<Machine> {
    let base = Single { nodes, near: 1, far: Some((4, 4)), copy: 100, per_word: 2, global: None };
    let copies = [0, 1, (1 << 26) / (i64::from(nodes) + 2) - 20_000, 1 << 27, 1 << 38];
    let mut all: Vec<Machine> = copies.map(|copy| single(Single { copy, per_word: 0, ..base })).into();
    all.push(single(Single { far: None, ..base }));
    all.push(single(Single { far: None, copy: 900_000, ..base }));
    all.push(single(Single { far: Some((0, 0)), ..base }));
    all.push(single(Single { far: Some((1000, 7)), copy: 900_000, ..base }));
    all.push(single(Single { far: Some((5, 500_000)), ..base }));
    all.push(single(Single { global: Some((2, 100)), ..base }));
    all.push(single(Single { global: Some((1, 360_000)), copy: 700_000, ..base }));
    all.push(single(Single { global: Some((3, 700)), ..base }));
    // More machines than a vector has lanes.
    all.extend((0..24).map(|_| random_single(rng, nodes)));
    all
}

fn costs(rng: &mut Rng, nodes: u16, blocks: &[u64]) -> Question {
    let machines = machines(rng, nodes);
    let mut q = question(rng, machines, blocks.to_vec(), &vec![0; usize::from(nodes)]);
    q.policies.clear();
    (q.best_static, q.without_replication, q.with_replication) = (Want::Cost, Want::Cost, Want::Cost);
    q
}

fn both_starts(rng: &mut Rng, q: &mut Question, refs: &[Merged], label: &str) {
    for start in [Start::FreeSet, Start::FreeSingle] {
        q.start = start;
        same(rng, q, refs, &format!("{label}, {start:?}"));
    }
}

/// One word, by a script of operations.
fn script(n: u64, each: impl Fn(u64) -> (u32, Op, u64)) -> Vec<Merged> {
    let one = |i| {
        let (thread, op, addr) = each(i);
        reference(thread, op, addr)
    };
    (0..n).map(one).collect()
}

#[test]
fn shapes_that_folding_could_get_wrong() {
    let mut rng = Rng::new(1);
    let blocks = [4, 8, 64, 4096, 65536, 2 << 20];
    let (read, write) = (Op::Read, Op::Write);
    let shapes: Vec<(&str, Vec<Merged>)> = vec![
        ("ping-pong", script(900, |i| ((i % 2) as u32, write, ADDR))),
        ("ping-pong of reads", script(900, |i| ((i % 4) as u32, if i % 101 == 100 { write } else { read }, ADDR))),
        ("one word, one node", script(900, |i| (0, if i % 3 == 0 { write } else { read }, ADDR))),
        (
            "writer and readers",
            script(900, |i| ((i % 4) as u32, if i % 4 == 0 { write } else { read }, ADDR + i % 7 * 4)),
        ),
        (
            "owner's runs",
            script(900, |i| ((i / 50 % 4) as u32, if i % 3 == 0 { write } else { read }, ADDR + i % 16 * 4)),
        ),
        (
            "reads, then one write",
            script(900, |i| ((i % 3) as u32, if i == 899 { write } else { read }, ADDR + i % 5 * 4)),
        ),
        ("false sharing", script(900, |i| ((i % 4) as u32, write, ADDR + i % 4 * 4))),
        ("near the end of memory", script(900, |i| ((i % 4) as u32, write, u64::MAX - i % 9))),
        ("no references", Vec::new()),
    ];
    for (label, refs) in shapes {
        let mut q = costs(&mut rng, 4, &blocks);
        both_starts(&mut rng, &mut q, &refs, label);
    }
}

#[test]
fn values_are_brought_back_without_loss() {
    for case in 0..4 {
        let mut rng = Rng::new(50 + case);
        let mut q = costs(&mut rng, 4, &[4, 32, 4096]);
        let mut refs: Vec<Merged> = Vec::new();
        for _ in 0..2500 {
            let op = if rng.chance(1, 2) { Op::Write } else { Op::Read };
            let thread = if rng.chance(1, 2) { 0 } else { rng.below(4) as u32 };
            refs.push(reference(thread, op, ADDR + rng.below(3) * 4));
        }
        both_starts(&mut rng, &mut q, &refs, &format!("case {case}"));
        // The same with counts beyond 32 bits.
        q.options.sampled = Some(Counting { unit: SampleUnit::Reference, sees_writes: true });
        refs.iter_mut().for_each(|r| r.weight = [1, 17, 1 << 20, u32::MAX][rng.below(4) as usize]);
        both_starts(&mut rng, &mut q, &refs, &format!("case {case}, weights"));
    }
}

/// A machine with costs as large as they may be.
fn largest(rng: &mut Rng, nodes: u16) -> Machine {
    const MOST: i64 = 1_000_000_000_000;
    let near = rng.below(3) as i64;
    let large = |rng: &mut Rng| [MOST, MOST - 1, MOST / 2, 1 << 35, 1 << 31, 3][rng.below(6) as usize];
    let (far, copy) = ((large(rng) - near, large(rng) - near), large(rng));
    let global = rng.chance(1, 3).then(|| (near, copy / 2 + 1 + rng.below((MOST / 2) as u64) as i64));
    let far = (global.is_some() || rng.chance(7, 8)).then_some(far);
    single(Single { nodes, near, far, copy, per_word: [0, 1_000_000][rng.below(2) as usize], global })
}

/// Costs as large as machines may have them and weights as large as they get: exact, though all of it passes 64 bits.
#[test]
fn sums_of_the_largest_costs_are_exact() {
    let mut beyond = 0;
    for case in 0..6 {
        let mut rng = Rng::new(70 + case);
        let nodes = 2 + rng.below(63) as u16;
        let machines: Vec<Machine> = (0..20).map(|_| largest(&mut rng, nodes)).collect();
        let mut q = question(&mut rng, machines, vec![4, 64, 2 << 20], &vec![0; usize::from(nodes)]);
        q.policies.clear();
        (q.best_static, q.without_replication, q.with_replication) = (Want::Cost, Want::Cost, Want::Cost);
        q.options.sampled = Some(Counting { unit: SampleUnit::Reference, sees_writes: true });
        let one = |_| {
            let op = if rng.chance(1, 2) { Op::Write } else { Op::Read };
            let weight = [1, 3, 1 << 31, u32::MAX][rng.below(4) as usize];
            Merged { weight, ..reference(rng.below(nodes.into()) as u32, op, ADDR + rng.below(24) * 4) }
        };
        let refs: Vec<Merged> = (0..1500).map(one).collect();
        both_starts(&mut rng, &mut q, &refs, &format!("case {case}"));
        let found = homenode_study::plain::answer(&q, &refs).expect("it can be answered");
        beyond += found.rows.iter().filter(|r| r.cost.0 > i64::MAX.into()).count();
    }
    assert!(beyond > 20, "sums beyond 64 bits: {beyond}");
}

#[test]
fn from_one_node_to_sixty_four() {
    for nodes in [1, 2, 3, 9, 17, 64] {
        let mut rng = Rng::new(nodes.into());
        let mut q = costs(&mut rng, nodes, &[8, 256, 16384]);
        let mut refs: Vec<Merged> = Vec::new();
        for _ in 0..2500 {
            let op = [Op::Read, Op::Read, Op::Read, Op::Write, Op::Atomic][rng.below(5) as usize];
            refs.push(reference(rng.below(nodes.into()) as u32, op, ADDR + rng.below(2000)));
        }
        both_starts(&mut rng, &mut q, &refs, &format!("{nodes} nodes"));
    }
}

#[test]
fn machines_with_different_bindings_share_a_partition() {
    let mut rng = Rng::new(9);
    let machines = vec![model("ace"), model("ace"), model("butterfly"), model("opteron4")];
    let mut q = question(&mut rng, machines, vec![8, 512, 8192], &[0, 3, 0, 0, 1]);
    q.bindings[1].reverse();
    let spaces: Vec<u32> = q.bindings[0].iter().map(|s| s.space).collect();
    q.bindings[1].iter_mut().zip(spaces).for_each(|(binding, space)| binding.space = space);
    let refs =
        script(2000, |i| ((i * i % 5) as u32, if i % 3 == 0 { Op::Write } else { Op::Read }, ADDR + i * 37 % 900));
    same(&mut rng, &q, &refs, "bindings");
}
