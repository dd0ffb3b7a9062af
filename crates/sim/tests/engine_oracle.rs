//! The engine against slow obvious code: all accesses of a block collected one by one, each policy run over them alone.
mod common;
use common::{cached, plain, slow};
use homenode_analysis::Transform;
use homenode_base::{Cost, NodeId, Rng, VirtualTime};
use homenode_machine::{AccessClass, Costs, GlobalMemory, Location, Machine};
use homenode_machine::{CopyCost, Matrix};
use homenode_placement::optimum::{PhaseStatic, Replication, Solo, Solver};
use homenode_placement::policies::{ALL, Choice};
use homenode_placement::{Access, AccessKind, Outcome, Sink, Solved, Start, Tally};
use homenode_sim::cache::{CacheEventKind as Kind, CacheFilter};
use homenode_sim::{Engine, Priced, ReplayOptions, Setup, ThreadBinding, WhatIf};
use homenode_trace::{Merged, Op};
use std::collections::BTreeMap;

fn bindings(machine: &Machine, threads: usize) -> Vec<ThreadBinding> {
    let cpus: Vec<u16> =
        machine.shape.cores.iter().enumerate().flat_map(|(n, c)| std::iter::repeat_n(n as u16, *c as usize)).collect();
    let binding =
        |t: usize| ThreadBinding { cpu: (t % cpus.len()) as u16, node: NodeId(cpus[t % cpus.len()]), space: 0 };
    (0..threads).map(binding).collect()
}

/// References with runs, sharing, wide ones, spins, and addresses at both ends of the address space.
fn random_trace(rng: &mut Rng, threads: u64, refs: usize, span: u64) -> Vec<Merged> {
    let (mut thread, mut base) = (0, 0);
    let mut out = Vec::new();
    for _ in 0..refs {
        if rng.chance(1, 4) {
            thread = rng.below(threads) as u32;
        }
        if rng.chance(1, 3) {
            base = rng.below(span).wrapping_sub(span / 4);
        }
        let addr = base.wrapping_add(rng.below(3) * 8);
        let size = if rng.chance(1, 20) { rng.below(300) as u32 } else { 1 << rng.below(4) };
        let op = [Op::Read, Op::Read, Op::Write, Op::Read, Op::Atomic, Op::Spin, Op::Write][rng.below(7) as usize];
        out.push(Merged { addr, size, site: 0, weight: 1, thread, op, ..Merged::default() });
    }
    out
}

/// All accesses of each block in order, none folded, none left out.
fn collect(
    machine: &Machine,
    bindings: &[ThreadBinding],
    refs: &[Merged],
    block_bytes: u64,
) -> BTreeMap<u64, Vec<Access>> {
    let mut blocks: BTreeMap<u64, Vec<Access>> = BTreeMap::new();
    let mut filter = CacheFilter::new(machine).unwrap();
    let unit = machine.sections.caches.as_ref().map_or(machine.shape.word_bytes, |c| c.line_bytes);
    let mut numbers = Vec::new();
    for (t, r) in (1..).zip(refs.iter().filter(|r| r.op != Op::Spin)) {
        let binding = bindings[r.thread as usize];
        let mut last = None;
        for i in 0..u64::from(r.size.max(1)) {
            let addr = r.addr.wrapping_add(i);
            let (piece, block) = (addr / u64::from(unit), addr / block_bytes);
            if last.replace(piece) == Some(piece) {
                continue;
            }
            let mut put = |block: u64, node: u16, kind, class| {
                let access = Access { node: NodeId(node), kind, class, weight: 1, t: VirtualTime(t) };
                blocks.entry(block).or_default().push(access);
            };
            let (read, write) = (AccessKind::Read, AccessKind::Write);
            let Some(filter) = &mut filter else {
                match r.op.writes() {
                    true => put(block, binding.node.0, write, AccessClass::Write),
                    false => put(block, binding.node.0, read, AccessClass::Read),
                }
                continue;
            };
            let tag = numbers.iter().position(|n| *n == block).unwrap_or_else(|| {
                numbers.push(block);
                numbers.len() - 1
            });
            let mut events = Vec::new();
            filter.access(binding.cpu.into(), piece, tag as u32, r.op.writes(), &mut |e| events.push(e));
            for e in events {
                let block = numbers[e.block as usize];
                match e.kind {
                    Kind::ReadMiss => put(block, e.node, read, AccessClass::Read),
                    Kind::WriteMiss => put(block, e.node, write, AccessClass::Write),
                    Kind::WriteBack => put(block, e.node, write, AccessClass::WriteBack),
                    Kind::ReadHit => put(block, e.node, read, AccessClass::Free),
                    Kind::WriteHit => put(block, e.node, write, AccessClass::Free),
                    Kind::TransferNear | Kind::TransferFar => {}
                }
            }
        }
    }
    blocks
}

/// One policy over one block's accesses.
fn alone(
    choice: &Choice,
    machine: &Machine,
    block: u64,
    bytes: u64,
    trace: &[Access],
    home: Option<Location>,
) -> Tally {
    if let Some(phase) = choice.phase() {
        let solver = PhaseStatic::new(machine, bytes, phase);
        let mut state = solver.begin();
        trace.iter().for_each(|a| solver.push(&mut state, a));
        return solver.finish(&state);
    }
    let mut engine = choice.engine(machine, bytes).unwrap();
    let slot = engine.open(block, home);
    let mut charger = Charger { machine, bytes, tally: Tally::default() };
    for access in trace {
        let at = engine.step(slot, access, &mut charger);
        let cost = machine.access(access.class, access.node, at).times(u64::from(access.weight));
        charger.tally.served(access.node, at, cost);
    }
    charger.tally
}

/// Charges at once, in money, what the engine counts.
struct Charger<'a> {
    machine: &'a Machine,
    bytes: u64,
    tally: Tally,
}

impl Sink for Charger<'_> {
    fn place(&mut self, _: Location) -> Outcome {
        Outcome::Done
    }
    fn replicate(&mut self, from: Location, to: Location) -> Outcome {
        self.tally.movement += self.machine.copy_cost(self.bytes, from, to);
        self.tally.copies += 1;
        Outcome::Done
    }
    fn migrate(&mut self, from: Location, to: Location) -> Outcome {
        self.tally.movement += self.machine.copy_cost(self.bytes, from, to);
        self.tally.moves += 1;
        Outcome::Done
    }
    fn drop_copy(&mut self, _: Location) -> Outcome {
        Outcome::Done
    }
}

fn places(machine: &Machine) -> Vec<Location> {
    let nodes = (0..machine.nodes() as u16).map(|n| Location::Node(NodeId(n)));
    nodes.chain(machine.cost.global.map(|_| Location::Global)).collect()
}

/// What the machine can carry out, by default and with times and counts that short traces use up.
fn choices(machine: &Machine) -> Vec<Choice> {
    let others = [
        "ace(0)",
        "ace(1)",
        "affinity(37,1,9)",
        "delay(3,2)",
        "phase-static(90)",
        "platinum(40,100)",
        "platinum(300,170,0,1,1)",
    ];
    let defaults = ALL.iter().map(|s| s.choose(&[]).unwrap());
    let all = defaults.chain(others.iter().map(|c| Choice::parse(c).unwrap()));
    all.filter(|c| c.engine(machine, 4096).is_ok()).collect()
}

fn price(setup: Setup<'_>, refs: &[Merged]) -> Priced {
    let mut engine = Engine::new(setup, &choices(setup.machine), Some(Start::FreeSet)).unwrap();
    refs.chunks(77).for_each(|c| engine.refs(c));
    engine.finish().unwrap()
}

/// Optimal costs; how often an optimum moves may differ between equals.
fn costs(priced: &Priced) -> [i128; 3] {
    let bounds = priced.bounds.unwrap();
    [bounds.best_static, bounds.without_replication, bounds.with_replication].map(|s| s.cost.0)
}

/// Machines with and without caches, uniform and not, with global memory and without.
fn machines() -> Vec<Machine> {
    let plain3 = plain(&[2, 1, 1]);
    let distance = |near: i64, far: i64| {
        let row = |i: i64| (0..3).map(|j| Cost(near + far * (i - j).abs())).collect::<Vec<_>>();
        Matrix::from_rows(&[row(0), row(1), row(2)]).unwrap()
    };
    let matrix = Machine {
        cost: Costs { read: distance(10, 7), write: distance(12, 9), ..plain3.cost.clone() },
        ..plain3.clone()
    };
    let copy = CopyCost::linear(Cost(150), Cost(1));
    let global = Machine {
        cost: Costs { global: Some(GlobalMemory { access: Cost(20), copy }), ..plain3.cost.clone() },
        ..plain3.clone()
    };
    let cached2 = cached(&[2, 2], (2, 2), (4, 4));
    let mut cached3 = cached(&[2, 0, 2], (1, 2), (3, 3));
    (cached3.cost.read, cached3.cost.write) = (distance(80, 30), distance(81, 33));
    vec![plain3, matrix, global, cached2, cached3]
}

#[test]
fn equals_each_policy_run_alone_on_each_block() {
    let mut rng = Rng::new(5);
    for round in 0..if slow() { 2_000 } else { 40 } {
        for machine in machines() {
            let (threads, block_bytes) = (1 + rng.below(6), [64, 256, 4096][rng.below(3) as usize]);
            let bindings = bindings(&machine, threads as usize);
            let refs = random_trace(&mut rng, threads, 1500, 2000);
            let blocks = collect(&machine, &bindings, &refs, block_bytes);
            let priced = price(Setup::exact(&machine, &bindings, block_bytes), &refs);
            assert_eq!(priced.blocks.len(), blocks.len());
            let mut best = BTreeMap::new();
            for (block, trace) in &blocks {
                let fixed = |home: Location| -> i128 {
                    trace.iter().map(|a| i128::from(machine.access(a.class, a.node, home).0)).sum()
                };
                best.insert(*block, places(&machine).into_iter().min_by_key(|h| fixed(*h)).unwrap());
            }
            for (choice, got) in choices(&machine).iter().zip(&priced.policies) {
                let mut want = Tally::default();
                for (block, trace) in &blocks {
                    want.add(&alone(choice, &machine, *block, block_bytes, trace, best.get(block).copied()));
                }
                assert_eq!(*got, want, "round {round} {} {choice}", machine.name);
            }
            let (mut solo, mut replicated) = (Solved::default(), Solved::default());
            for trace in blocks.values() {
                solo.add(&Solo::new(&machine, block_bytes).solve(trace));
                replicated.add(&Replication::new(&machine, block_bytes, Start::FreeSet).solve(trace));
            }
            let bounds = priced.bounds.unwrap();
            assert_eq!(bounds.without_replication.cost, solo.cost, "{}", machine.name);
            assert_eq!(bounds.with_replication.cost, replicated.cost, "{}", machine.name);
            assert_eq!(bounds.best_static.cost, priced.best_static.total());
            let homes: BTreeMap<u64, Location> = priced.blocks.iter().copied().zip(priced.homes).collect();
            assert_eq!(homes, best, "best static homes");
        }
    }
}

#[test]
fn leaving_out_repeated_hits_changes_nothing() {
    let mut rng = Rng::new(6);
    for _ in 0..if slow() { 4_000 } else { 80 } {
        for machine in machines().into_iter().filter(|m| m.sections.caches.is_some()) {
            let bindings = bindings(&machine, 5);
            let refs = random_trace(&mut rng, 5, 1500, 1500);
            let run = |options| {
                price(Setup { machine: &machine, bindings: &bindings, block_bytes: 256, options, waits: &[] }, &refs)
            };
            let fast = run(ReplayOptions::default());
            let all = run(ReplayOptions { report_all_hits: true, ..Default::default() });
            assert_eq!(fast.policies, all.policies);
            assert_eq!(costs(&fast), costs(&all));
            assert_eq!((fast.best_static, &fast.homes), (all.best_static, &all.homes));
        }
    }
}

#[test]
fn folding_changes_nothing() {
    let mut rng = Rng::new(7);
    for machine in machines() {
        let bindings = bindings(&machine, 5);
        let refs = random_trace(&mut rng, 5, 4000, 1500);
        let run = |options| {
            price(Setup { machine: &machine, bindings: &bindings, block_bytes: 256, options, waits: &[] }, &refs)
        };
        let fast = run(ReplayOptions::default());
        let single = run(ReplayOptions { unfolded: true, ..Default::default() });
        assert_eq!(fast.policies, single.policies);
        assert_eq!(fast.bounds, single.bounds);
        assert_eq!(fast.best_static, single.best_static);
    }
}

#[test]
fn best_static_is_the_policy_run_in_a_second_pass() {
    let mut rng = Rng::new(8);
    for machine in machines() {
        let bindings = bindings(&machine, 4);
        let refs = random_trace(&mut rng, 4, 3000, 3000);
        let setup = Setup::exact(&machine, &bindings, 256);
        let first = price(setup, &refs);
        let homes = first.blocks.iter().copied().zip(first.homes.iter().copied()).collect();
        let mut second = WhatIf::new(setup, &[Transform::Rehome { homes }]).unwrap();
        second.refs(&refs);
        let second = second.finish().unwrap();
        assert_eq!(second.tally, first.best_static);
        assert_eq!(second.totals.transfer_cost, first.totals.transfer_cost);
        let mut unchanged = WhatIf::new(setup, &[]).unwrap();
        unchanged.refs(&refs);
        assert_eq!(unchanged.finish().unwrap().tally, first.policies[0], "no change is first touch");
    }
}

#[test]
fn hostile_values_neither_panic_nor_disappear() {
    for machine in machines() {
        let bindings = bindings(&machine, 2);
        let ends = [0, 1, u64::MAX, u64::MAX - 1, 1 << 47, 1 << 63, (1 << 47) - 1];
        let mut refs = Vec::new();
        for (i, addr) in ends.into_iter().enumerate() {
            for size in [0, 1, 7, 64, 65, 100_000] {
                let op = Op::ALL[(i + size as usize) % 4];
                refs.push(Merged {
                    addr,
                    size,
                    site: u32::MAX,
                    weight: 1,
                    thread: i as u32 % 3,
                    op,
                    ..Merged::default()
                });
            }
        }
        let setup = Setup::exact(&machine, &bindings, 4096);
        let priced = price(setup, &refs);
        assert_eq!(priced.totals.refs + priced.strangers, refs.len() as u64);
        assert!(priced.strangers > 0, "thread 2 has no binding");
    }
}

#[test]
fn no_threads_and_a_thousand_threads() {
    for machine in machines() {
        let none = Setup::exact(&machine, &[], 4096);
        let priced = price(none, &[]);
        assert_eq!((priced.totals.refs, priced.blocks.len(), priced.total(0).0), (0, 0, 0));
        let bindings = bindings(&machine, 1000);
        let many = Setup { bindings: &bindings, ..none };
        let refs: Vec<Merged> = (0..5000)
            .map(|i| Merged {
                addr: u64::from(i % 1000) * 64,
                size: 8,
                site: 0,
                weight: 1,
                thread: i % 1000,
                op: Op::Write,
                ..Merged::default()
            })
            .collect();
        let priced = price(many, &refs);
        assert_eq!((priced.totals.refs, priced.refs_of.iter().sum::<u64>()), (5000, 5000));
    }
}

#[test]
fn unusable_blocks_and_bindings_are_errors() {
    let machine = cached(&[2, 2], (2, 2), (4, 4));
    let bindings = bindings(&machine, 2);
    let setup = Setup::exact(&machine, &bindings, 4096);
    for block_bytes in [0, 3, 32, 4097, 1 << 60] {
        assert!(Engine::new(Setup { block_bytes, ..setup }, &choices(&machine), None).is_err(), "{block_bytes}");
    }
    let nowhere = [ThreadBinding { cpu: 4, node: NodeId(1), space: 0 }];
    assert!(Engine::new(Setup { bindings: &nowhere, ..setup }, &choices(&machine), None).is_err());
    assert!(Engine::new(setup, &choices(&machine), None).is_ok());
}

#[test]
fn processes_with_address_spaces_of_their_own_share_nothing() {
    let machine = cached(&[1, 1], (2, 2), (4, 4));
    let binding = |i: u16, space| ThreadBinding { cpu: i, node: NodeId(i), space };
    let refs: Vec<Merged> = (0..1000u32)
        .map(|i| Merged { addr: 64, size: 8, site: 0, weight: 1, thread: i % 2, op: Op::Write, ..Merged::default() })
        .collect();
    for (space, transfers) in [(0, 999), (1, 0), (70_000, 0)] {
        let bindings = [binding(0, 0), binding(1, space)];
        let setup = Setup::exact(&machine, &bindings, 4096);
        let priced = price(setup, &refs);
        assert_eq!((priced.totals.transfers, priced.blocks.len()), (transfers, if space == 0 { 1 } else { 2 }));
    }
}
