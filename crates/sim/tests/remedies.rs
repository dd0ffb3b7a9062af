//! Each remedy, predicted and carried out: small random programs whose data lie one way or the other. What the transform
//! predicts from the trace of the one is what the trace of the other costs, to the last unit, where caches hold all data
//! (elsewhere it would matter which set a line falls into).
use homenode_analysis::{Part, Transform};
use homenode_base::{NodeId, Rng, TotalCost};
use homenode_machine::{Machine, models};
use homenode_sim::{Setup, ThreadBinding, WhatIf};
use homenode_trace::{Merged, Op};

const THREADS: u32 = 4;
const OLD: u64 = 0x10_0000_0000;
const NEW: u64 = 0x20_0000_0000;
const LINE: u64 = 64;
const PAGE: u64 = 4096;
const CASES: u64 = 16;

/// One step of a program: who does what to which element (and byte of it).
#[derive(Clone, Copy, Debug)]
struct Step {
    thread: u32,
    element: u64,
    within: u64,
    op: Op,
}

/// A program: elements of some bytes, all written by some thread first and then used at random.
#[derive(Clone, Debug)]
struct Program {
    elements: u64,
    bytes: u64,
    owners: Vec<u32>,
    steps: Vec<Step>,
}

fn program(rng: &mut Rng, elements: u64, owner: impl Fn(&mut Rng, u64) -> u32) -> Program {
    let bytes = 8 * (1 + rng.below(5));
    let owners: Vec<u32> = (0..elements).map(|e| owner(rng, e)).collect();
    let words = bytes / 8;
    let step = |rng: &mut Rng| {
        let element = rng.below(elements);
        let thread = if rng.chance(1, 12) { rng.below(THREADS.into()) as u32 } else { owners[element as usize] };
        let op = [Op::Read, Op::Write, Op::Write, Op::Atomic][rng.below(4) as usize];
        Step { thread, element, within: 8 * rng.below(words), op }
    };
    let steps = (0..3_000).map(|_| step(rng)).collect();
    Program { elements, bytes, owners, steps }
}

/// Elements with random owners.
fn mixed(rng: &mut Rng) -> Program {
    let elements = 16 + rng.below(400);
    program(rng, elements, |rng, _| rng.below(THREADS.into()) as u32)
}

impl Program {
    fn trace(&self, at: impl Fn(&Step) -> u64) -> Vec<Merged> {
        self.steps.iter().map(|s| reference(s.thread, at(s), s.op)).collect()
    }
    fn old(&self, s: &Step) -> u64 {
        OLD + s.element * self.bytes + s.within
    }
}

fn reference(thread: u32, addr: u64, op: Op) -> Merged {
    Merged { addr, size: 8, weight: 1, thread, op, ..Merged::default() }
}

fn machines() -> [Machine; 2] {
    ["two-socket", "butterfly"].map(|name| models::find(name).unwrap())
}

/// Two threads a node, one where nodes have one processor.
fn binding(machine: &Machine, thread: u32) -> ThreadBinding {
    if machine.shape.cores[0] == 1 {
        return ThreadBinding { cpu: thread as u16, node: NodeId(thread as u16), space: 0 };
    }
    let before: u16 = machine.shape.cores[..thread as usize / 2].iter().sum();
    ThreadBinding { cpu: before + (thread % 2) as u16, node: NodeId((thread / 2) as u16), space: 0 }
}

fn cost(machine: &Machine, refs: &[Merged], transforms: &[Transform]) -> TotalCost {
    let bindings: Vec<ThreadBinding> = (0..THREADS).map(|t| binding(machine, t)).collect();
    let setup = Setup::exact(machine, &bindings, PAGE);
    let mut run = WhatIf::new(setup, transforms).unwrap();
    refs.chunks(777).for_each(|c| run.refs(c));
    run.finish().unwrap().total()
}

/// Predicted and carried out cost the same, and on most programs something else than nothing done.
fn compare(name: &str, case: impl Fn(&mut Rng) -> (Vec<Merged>, Transform, Vec<Merged>)) {
    compare_on(name, |rng, _| case(rng));
}

fn compare_on(name: &str, mut case: impl FnMut(&mut Rng, &Machine) -> (Vec<Merged>, Transform, Vec<Merged>)) {
    let mut rng = Rng::new(name.len() as u64 * 1_000 + u64::from(name.as_bytes()[0]));
    let mut matters = 0;
    for n in 0..CASES {
        for machine in machines() {
            let (before, transform, after) = case(&mut rng, &machine);
            let predicted = cost(&machine, &before, std::slice::from_ref(&transform));
            let realised = cost(&machine, &after, &[]);
            assert_eq!(predicted, realised, "{name} on {}, case {n}: {transform:?}", machine.name);
            matters += u64::from(predicted != cost(&machine, &before, &[]));
        }
    }
    assert!(matters * 2 >= CASES, "{name} changes too little: {matters} of {}", 2 * CASES);
}

#[test]
fn padding() {
    compare("padding", |rng| {
        let p = mixed(rng);
        let to_bytes = p.bytes.next_multiple_of(LINE);
        let transform = Transform::PadElements { arrays: vec![(OLD, p.elements)], element_bytes: p.bytes, to_bytes };
        (p.trace(|s| p.old(s)), transform, p.trace(|s| NEW + s.element * to_bytes + s.within))
    });
}

#[test]
fn dealt_elements_in_blocks() {
    compare("dealing", |rng| {
        let round: Vec<u32> = (0..2 + rng.below(6)).map(|_| rng.below(THREADS.into()) as u32).collect();
        // Whole rounds.
        let elements = round.len() as u64 * (4 + rng.below(60));
        let p = program(rng, elements, |_, e| round[(e % round.len() as u64) as usize]);
        // Who owns element e, and how many of its owner come before it.
        let owner = |e: u64| round[(e % round.len() as u64) as usize];
        let place = |element: u64| {
            let mut at = NEW;
            let mut all: Vec<u32> = round.clone();
            all.sort_unstable();
            all.dedup();
            for o in all {
                let mine: Vec<u64> = (0..p.elements).filter(|e| owner(*e) == o).collect();
                if let Some(i) = mine.iter().position(|e| *e == element) {
                    return at + i as u64 * p.bytes;
                }
                at += (mine.len() as u64 * p.bytes).next_multiple_of(LINE);
            }
            unreachable!("every element has an owner")
        };
        let places: Vec<u64> = (0..p.elements).map(place).collect();
        let arrays = vec![((OLD, p.elements), round.clone())];
        let transform = Transform::DealBlocks { arrays, element_bytes: p.bytes, line_bytes: LINE };
        (p.trace(|s| p.old(s)), transform, p.trace(|s| places[s.element as usize] + s.within))
    });
}

#[test]
fn parts_in_groups() {
    compare("regrouping", |rng| {
        let p = mixed(rng);
        let part = |(e, owner): (u64, &u32)| Part { addr: OLD + e * p.bytes, bytes: p.bytes, group: *owner };
        let parts: Vec<Part> = (0..).zip(&p.owners).map(part).collect();
        let mut places = vec![0; p.elements as usize];
        let mut at = NEW;
        for o in 0..THREADS {
            for e in (0..p.elements as usize).filter(|e| p.owners[*e] == o) {
                places[e] = at;
                at += p.bytes;
            }
            at = at.next_multiple_of(LINE);
        }
        let transform = Transform::Regroup { parts, line_bytes: LINE };
        (p.trace(|s| p.old(s)), transform, p.trace(|s| places[s.element as usize] + s.within))
    });
}

#[test]
fn a_copy_for_each_processor() {
    compare_on("private", |rng, machine| {
        let p = mixed(rng);
        let bytes = p.elements * p.bytes;
        // An array of copies, one for each processor.
        let copy = |t: u32| u64::from(binding(machine, t).cpu) * bytes.next_multiple_of(LINE);
        let own = |s: &Step| NEW + copy(s.thread) + (p.old(s) - OLD);
        let mut after = p.trace(own);
        let mut lines: Vec<u64> = after.iter().map(|r| r.addr / LINE).collect();
        lines.sort_unstable();
        lines.dedup();
        after.extend(lines.into_iter().map(|l| reference(0, l * LINE, Op::Read)));
        (p.trace(|s| p.old(s)), Transform::CopyPerProcessor { ranges: vec![(OLD, bytes)] }, after)
    });
}

/// Pages with owners: all words are initialised by thread 0 or by the owners side by side, then used by the owners.
fn pages(rng: &mut Rng) -> (Vec<u32>, Vec<Merged>) {
    let owners: Vec<u32> = (0..4 + rng.below(12)).map(|_| rng.below(THREADS.into()) as u32).collect();
    let step = |rng: &mut Rng| {
        let page = rng.below(owners.len() as u64);
        let op = if rng.chance(1, 2) { Op::Read } else { Op::Write };
        reference(owners[page as usize], OLD + page * PAGE + 8 * rng.below(PAGE / 8), op)
    };
    let used = (0..2_000).map(|_| step(rng)).collect();
    (owners, used)
}

/// One write for each line, thread by thread in turn.
fn initialised(owners: &[u32], at: impl Fn(u64) -> u64) -> Vec<Merged> {
    let lines = |t: u32| {
        let mine = (0..owners.len() as u64 * PAGE / LINE).filter(move |l| owners[(l * LINE / PAGE) as usize] == t);
        mine.map(|l| reference(t, at(OLD + l * LINE), Op::Write)).collect::<Vec<_>>()
    };
    // In order of each thread's first line.
    let mut all: Vec<Vec<Merged>> = (0..THREADS).map(lines).collect();
    all.sort_by_key(|l| l.first().map_or(u64::MAX, |r| r.addr));
    let longest = all.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest).flat_map(|i| all.iter().filter_map(move |l| l.get(i).copied())).collect()
}

fn by_main(owners: &[u32]) -> Vec<Merged> {
    (0..owners.len() as u64 * PAGE / LINE).map(|l| reference(0, OLD + l * LINE, Op::Write)).collect()
}

#[test]
fn parallel_initialisation() {
    compare("initialising", |rng| {
        let (owners, used) = pages(rng);
        let blocks = (OLD / PAGE..).zip(owners.iter().copied()).collect();
        let before = [by_main(&owners), used.clone()].concat();
        let after = [initialised(&owners, |a| a), used].concat();
        (before, Transform::InitialiseInParallel { blocks }, after)
    });
}

#[test]
fn parts_that_are_kept() {
    compare("keeping", |rng| {
        let (owners, mut used) = pages(rng);
        // In the second half somebody else has them.
        let others: Vec<u32> = owners.iter().map(|_| rng.below(THREADS.into()) as u32).collect();
        let page = |r: &Merged| ((r.addr - OLD) / PAGE) as usize;
        let mut before = used.clone();
        before[1_000..].iter_mut().for_each(|r| r.thread = others[page(r)]);
        let keepers = if rng.chance(1, 2) { owners } else { others };
        used.iter_mut().for_each(|r| r.thread = keepers[page(r)]);
        let blocks = (OLD / PAGE..).zip(keepers.iter().copied()).collect();
        (before, Transform::KeepParts { blocks }, used)
    });
}

#[test]
fn one_block_for_each_thread() {
    compare("one block", |rng| {
        let lines = 128 + rng.below(256);
        let owners: Vec<u32> = (0..lines).map(|_| rng.below(THREADS.into()) as u32).collect();
        let steps: Vec<(u64, u64, Op)> = (0..2_000)
            .map(|_| (rng.below(lines), 8 * rng.below(8), if rng.chance(1, 2) { Op::Read } else { Op::Write }))
            .collect();
        let mut places = vec![0; lines as usize];
        let mut at = NEW;
        for t in 0..THREADS {
            for l in (0..lines as usize).filter(|l| owners[*l] == t) {
                places[l] = at;
                at += LINE;
            }
            at = at.next_multiple_of(PAGE);
        }
        // Each line is initialised by whoever owns it.
        let trace = |at: &dyn Fn(u64) -> u64| -> Vec<Merged> {
            let used = steps.iter().map(|&(l, within, op)| reference(owners[l as usize], at(l) + within, op));
            used.collect()
        };
        let units = (OLD / LINE..).zip(owners.iter().copied()).collect();
        let transform = Transform::OneBlockPerThread { units, unit_bytes: LINE };
        (trace(&|l| OLD + l * LINE), transform, trace(&|l| places[l as usize]))
    });
}
