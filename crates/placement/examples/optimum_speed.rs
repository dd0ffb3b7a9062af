//! Nanoseconds per access of each solver and policy, on one core: `cargo run --release -p homenode-placement --example optimum_speed`.
//!
//! A seeded trace over 4,096 blocks in which each node mostly uses its own; figures are for comparing solvers, not
//! machines.
use homenode_base::{NodeId, Rng, VirtualTime};
use homenode_machine::{AccessClass, CopyCost, GlobalMemory, Machine, Matrix, models};
use homenode_placement::events::{POLICIES, Paths};
use homenode_placement::optimum::{Bounds, Replication, ReplicationLinear, Solo, SoloLinear, Solver};
use homenode_placement::policies;
use homenode_placement::{Access, AccessKind, EventCounts, Start, Step};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

const BLOCKS: u64 = 4096;
const ACCESSES: usize = 1_000_000;

fn trace(nodes: u64, writes_of_16: u64) -> Vec<Step> {
    let mut rng = Rng::new(1);
    let step = |t: usize| {
        let block = rng.below(BLOCKS);
        let node = if rng.below(8) == 0 { rng.below(nodes) } else { block % nodes };
        let (kind, class) = match rng.below(16) < writes_of_16 {
            true => (AccessKind::Write, AccessClass::Write),
            false => (AccessKind::Read, AccessClass::Read),
        };
        let access = Access { node: NodeId(node as u16), kind, class, weight: 1, t: VirtualTime(t as u64) };
        Step { slot: block as u32, access }
    };
    (0..ACCESSES).map(step).collect()
}

/// Processor time of this thread so far where Linux tells it, which other programs disturb less; else time that passed.
fn clock_ns(begin: Instant) -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let on_cpu = stat.split_whitespace().next().and_then(|ns| ns.parse().ok());
    on_cpu.unwrap_or_else(|| begin.elapsed().as_nanos() as u64)
}

fn timed(name: &str, nodes: usize, writes: u64, work: impl FnOnce()) {
    let begin = Instant::now();
    let start = clock_ns(begin);
    work();
    let ns = (clock_ns(begin) - start) as f64 / ACCESSES as f64;
    println!("{name:<44} p = {nodes:<3} {:>3} % writes {ns:8.1} ns/access", writes * 100 / 16);
}

fn run<S: Solver>(name: &str, solver: Option<S>, nodes: usize, writes: u64, steps: &[Step]) {
    let Some(solver) = solver else { return };
    let mut states = vec![solver.begin(); BLOCKS as usize];
    timed(name, nodes, writes, || {
        for s in steps {
            solver.push(&mut states[s.slot as usize], &s.access);
        }
        black_box(states.iter().map(|s| solver.finish(s).cost).sum::<homenode_base::TotalCost>());
    });
}

fn machine(nodes: usize) -> Machine {
    let mut m = models::find("butterfly").expect("in the registry");
    m.shape.cores = vec![1; nodes];
    m.cost.read = Matrix::uniform(nodes, homenode_base::Cost(1), homenode_base::Cost(15));
    (m.cost.write, m.cost.write_back) = (m.cost.read.clone(), m.cost.read.clone());
    m
}

fn main() {
    for nodes in [2, 8] {
        let plain = machine(nodes);
        let mut global = plain.clone();
        global.cost.global = Some(GlobalMemory {
            access: homenode_base::Cost(4),
            copy: CopyCost::linear(homenode_base::Cost(200), homenode_base::Cost(2)),
        });
        let mut dear_global = global.clone();
        dear_global.cost.global = global
            .cost
            .global
            .map(|g| GlobalMemory { copy: CopyCost { per_word: g.copy.per_word * 5, ..g.copy }, ..g });
        for writes in [1, 8] {
            let steps = trace(nodes as u64, writes);
            run("no replication, O(1)", SoloLinear::new(&plain, 4096), nodes, writes, &steps);
            run("no replication, O(p)", Some(Solo::new(&plain, 4096)), nodes, writes, &steps);
            run(
                "no replication, matrix of moves, O(p^2)",
                Solo::with_moves(&plain, &plain.cost.read),
                nodes,
                writes,
                &steps,
            );
            let set = Start::FreeSet;
            run("replication, O(1)", ReplicationLinear::new(&plain, 4096, set), nodes, writes, &steps);
            run("replication, O(p) a write", Some(Replication::new(&plain, 4096, set)), nodes, writes, &steps);
            run(
                "replication, global memory, R >= G",
                Some(Replication::new(&global, 4096, set)),
                nodes,
                writes,
                &steps,
            );
            run(
                "replication, global memory, R < G",
                Some(Replication::new(&dear_global, 4096, set)),
                nodes,
                writes,
                &steps,
            );
            let bounds = Bounds::new(&plain, 4096, set);
            let mut blocks = vec![bounds.begin(); BLOCKS as usize];
            timed("all bounds", nodes, writes, || {
                steps.iter().for_each(|s| bounds.push(&mut blocks[s.slot as usize], &s.access))
            });
            black_box(blocks.iter().map(|b| bounds.finish(b).with_replication.cost).sum::<homenode_base::TotalCost>());
            for choice in policies::reported(&plain, 4096) {
                let mut engine = choice.engine(&plain, 4096).expect("runs on this machine");
                (0..BLOCKS).for_each(|b| _ = engine.open(b, None));
                let mut counts = EventCounts::new(&POLICIES, Arc::new(Paths::new(&POLICIES, &[&plain], 4096)));
                timed(&format!("policy {choice}"), nodes, writes, || engine.run(&steps, &mut counts));
                black_box(counts.priced(&plain, 4096));
            }
        }
    }
}
