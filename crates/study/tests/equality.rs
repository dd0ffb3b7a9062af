//! The folded engine against the plain one: every policy, every bound, every block size, many machines, bit for bit.
mod common;

use common::{model, question, random_single, reference, same};
use homenode_base::{Cost, Rng};
use homenode_machine::{CopyCost, Machine, Matrix};
use homenode_placement::policies::By;
use homenode_study::{Row, Want, plain};
use homenode_trace::{Counting, DataSource, Merged, Op, SampleUnit};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngSeed, TestRunner};

const ALL_BLOCKS: std::ops::Range<u32> = 2..22;

fn blocks(rng: &mut Rng, how_many: u64) -> Vec<u64> {
    let mut all: Vec<u64> = ALL_BLOCKS.map(|b| 1 << b).collect();
    while all.len() as u64 > how_many {
        all.remove(rng.below(all.len() as u64) as usize);
    }
    all
}

fn cases(default: u64) -> u64 {
    if std::env::var_os("HOMENODE_SLOW").is_some() { default * 40 } else { default }
}

fn op(what: u8, writes: u8) -> Op {
    match what {
        0..4 => Op::Spin,
        4..8 => Op::Atomic,
        n if n < 8 + writes => Op::Write,
        _ => Op::Read,
    }
}

/// References of many shapes: hot words, neighbours, long distances, borders, wrapping, long and odd sizes, strangers.
fn traces(threads: u32, n: usize) -> impl Strategy<Value = Vec<Merged>> {
    let writes = select(&[0_u8, 3, 30, 60][..]);
    let spread = select(&[4_u64, 64, 5000, 1 << 17, 1 << 23][..]);
    let base = select(&[0x1000_u64, 0x5555_5555_0000, u64::MAX - 3000, 1 << 46][..]);
    let thread = prop_oneof![199 => 0..threads, 1 => Just(threads + 3)];
    let times = prop_oneof![3 => Just(1_u64), 1 => 0..12_u64];
    let size = select(&[1_u32, 2, 4, 4, 4, 8, 8, 16, 0, 100][..]);
    let run = (thread, any::<u64>(), times, 0..100_u8, size, 0..2_u64);
    // For so many runs the thread stays the same.
    let turn = select(&[1_usize, 1, 30][..]);
    // A run has one or two references on average.
    (writes, spread, base, turn, vec(run, n / 2..n)).prop_map(|(writes, spread, base, turn, runs)| {
        let mut refs = Vec::new();
        let threads: Vec<u32> = runs.iter().step_by(turn).map(|run| run.0).collect();
        for (i, (_, at, times, what, size, step)) in runs.into_iter().enumerate() {
            let thread = threads[i / turn];
            let (op, at) = (op(what, writes), base.wrapping_add(at % spread));
            refs.extend((0..times).map(|i| Merged { size, ..reference(thread, op, at.wrapping_add(i * step * 4)) }));
        }
        refs
    })
}

/// One of them, for tests that do not look at references alone.
fn trace(rng: &mut Rng, threads: u32, n: usize) -> Vec<Merged> {
    let config = Config { rng_seed: RngSeed::Fixed(rng.next_u64()), ..Config::default() };
    traces(threads, n).new_tree(&mut TestRunner::new(config)).expect("nothing is refused").current()
}

fn machines(rng: &mut Rng) -> Vec<Machine> {
    let mut all: Vec<Machine> = ["ace", "butterfly", "opteron4"].into_iter().map(model).collect();
    let nodes = 1 + rng.below(9) as u16;
    all.extend((0..4).map(|_| random_single(rng, nodes)));
    let nodes = 1 + rng.below(64) as u16;
    all.push(random_single(rng, nodes));
    all
}

#[test]
fn random_traces() {
    let cases = u32::try_from(cases(3)).expect("a number of cases");
    let config = Config { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(1000), ..Config::default() };
    // Questions are made of the seed and stay as they are while references are left out of a trace that fails.
    let run = TestRunner::new(config).run(&(any::<u64>().no_shrink(), traces(12, 1500)), |(seed, mut refs)| {
        let mut rng = Rng::new(seed);
        let threads = 1 + rng.below(12) as u32;
        refs.iter_mut().filter(|r| r.thread < 12).for_each(|r| r.thread %= threads);
        let spaces: Vec<u32> = (0..threads).map(|_| rng.below(2) as u32 * 7).collect();
        let machines = machines(&mut rng);
        let blocks = blocks(&mut rng, 6);
        let mut q = question(&mut rng, machines, blocks, &spaces);
        q.options.charge_spins = rng.chance(1, 2);
        q.start = [homenode_placement::Start::FreeSet, homenode_placement::Start::FreeSingle][rng.below(2) as usize];
        same(&mut rng, &q, &refs, "all");
        (q.best_static, q.without_replication, q.with_replication) = (Want::Cost, Want::Cost, Want::Cost);
        same(&mut rng, &q, &refs, "costs");
        q.policies.clear();
        same(&mut rng, &q, &refs, "costs alone");
        Ok(())
    });
    run.unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn caches() {
    for case in 0..cases(2) {
        let mut rng = Rng::new(2000 + case);
        let mut small = model("two-socket");
        let caches = small.sections.caches.as_mut().expect("a machine with caches");
        let line = u64::from(caches.line_bytes);
        (caches.private.ways, caches.private.bytes) = (2, 8 * line);
        (caches.shared.ways, caches.shared.bytes) = (4, 32 * line);
        let machines =
            vec![model("two-socket"), small.clone(), model("ace"), Machine { name: "alike".into(), ..small }];
        let blocks = blocks(&mut rng, 8);
        let mut q = question(&mut rng, machines, blocks, &[0; 6]);
        q.options.charge_spins = rng.chance(1, 2);
        let refs = trace(&mut rng, 6, 3000);
        same(&mut rng, &q, &refs, &format!("case {case}"));
    }
}

/// Machines of one shape with other distances: what policies do on them is counted in one run.
#[test]
fn distances() {
    for case in 0..cases(3) {
        let mut rng = Rng::new(5000 + case);
        let (near, caches) = (1 + rng.below(4) as i64, case % 3 == 2);
        let base = model(["opteron4", "ace", "two-socket"][case as usize % 3]);
        let n = base.nodes();
        let far = |rng: &mut Rng| if rng.chance(1, 2) { 40 } else { rng.below(300) as i64 };
        let row = |rng: &mut Rng, i| (0..n).map(|j| Cost(near + if i == j { 0 } else { far(rng) })).collect();
        let matrix = |rng: &mut Rng| Matrix::from_rows(&(0..n).map(|i| row(rng, i)).collect::<Vec<_>>());
        let mut machines = vec![base.clone(), base.clone(), base.clone(), base];
        for (i, m) in machines[1..].iter_mut().enumerate() {
            m.name = format!("{}-{i}", m.name);
            m.cost.read = matrix(&mut rng).expect("square");
            m.cost.write = if rng.chance(1, 2) { m.cost.read.clone() } else { matrix(&mut rng).expect("square") };
            m.cost.copy = CopyCost::linear(Cost(rng.below(5000) as i64), Cost(rng.below(3) as i64));
            m.cost.remote_access = i > 0 || rng.chance(1, 2);
        }
        let blocks = blocks(&mut rng, if caches { 4 } else { 6 });
        let mut q = question(&mut rng, machines, blocks, &[0; 5]);
        // Seated alike, or no two machines would see the same accesses.
        q.bindings = vec![q.bindings[0].clone(); q.machines.len()];
        let refs = trace(&mut rng, 5, 1500);
        same(&mut rng, &q, &refs, &format!("case {case}"));
    }
}

#[test]
fn samples() {
    for case in 0..cases(3) {
        let mut rng = Rng::new(3000 + case);
        let mut machines = machines(&mut rng);
        machines.push(model("two-socket"));
        let blocks = blocks(&mut rng, 6);
        let mut q = question(&mut rng, machines, blocks, &[0, 0, 5, 0]);
        let unit = [SampleUnit::Reference, SampleUnit::Miss, SampleUnit::Window][case as usize % 3];
        q.options.sampled = Some(Counting { unit, sees_writes: true });
        let mut refs = trace(&mut rng, 4, 1500);
        for r in &mut refs {
            r.weight = [1, 100, 1 << 20, u32::MAX][rng.below(4) as usize];
            r.source = DataSource::ALL[rng.below(9) as usize];
        }
        same(&mut rng, &q, &refs, &format!("case {case}"));
    }
}

/// What [`By`] promises: a policy that does not look at costs does the same on machines that differ in nothing else, and
/// one that does not look at times does the same whenever things happen.
#[test]
fn policies_do_not_look_at_more_than_they_say() {
    for case in 0..cases(3) {
        let mut rng = Rng::new(4000 + case);
        let base = ["ace", "butterfly"].map(model)[case as usize % 2].clone();
        let mut other = base.clone();
        let n = other.nodes();
        other.cost.read = Matrix::uniform(n, Cost(3), Cost(1 + 3 + rng.below(900) as i64));
        other.cost.write = Matrix::uniform(n, Cost(2), Cost(1 + 2 + rng.below(900) as i64));
        other.cost.copy = CopyCost::linear(Cost(rng.below(100_000) as i64), Cost(rng.below(5) as i64));
        if let Some(g) = &mut other.cost.global {
            g.copy = CopyCost::linear(Cost(rng.below(100_000) as i64), Cost(1));
        }
        let mut q = question(&mut rng, vec![base, other], vec![64, 1024], &[0; 5]);
        q.bindings[1] = q.bindings[0].clone();
        let refs = trace(&mut rng, 5, 2000);
        let found = plain::answer(&q, &refs).expect("it can be answered");
        let moved = |machine: u32, row: &Row| {
            let like =
                found.rows.iter().find(|r| (r.machine, r.block_bytes, r.what) == (machine, row.block_bytes, row.what));
            like.and_then(|r| r.parts).map(|t| (t.moves, t.copies))
        };
        for row in found.rows.iter().filter(|r| r.machine == 0) {
            let Some(p) = row.what.as_policy() else { continue };
            let choice = &q.policies[p as usize];
            if !choice.spec.decides_by.contains(&By::Cost) && !choice.spec.needs_homes {
                assert_eq!(moved(0, row), moved(1, row), "case {case}, {choice}");
            }
        }
        // Reads elsewhere shift all times.
        let mut later = vec![reference(0, Op::Read, 1 << 40); 777];
        later.extend(&refs);
        let shifted = plain::answer(&q, &later).expect("it can be answered");
        for (row, then) in found.rows.iter().zip(&shifted.rows) {
            let Some(p) = row.what.as_policy() else { continue };
            let choice = &q.policies[p as usize];
            if !choice.spec.decides_by.contains(&By::Time) && !choice.spec.needs_homes {
                let moves = |r: &Row| r.parts.map(|t| (t.moves, t.copies));
                assert_eq!(moves(row), moves(then), "case {case}, {choice}");
            }
        }
    }
}
