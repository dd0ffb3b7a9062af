//! PLATINUM's policy, shared virtual memory and the bases, written out over plain sets, one access at a time, and compared
//! with the engines on random traces (Bolosky 1993, sections 1.3.2, 5.1 and 6.1).
mod common;
use common::slow::{Places, at, charge, compare, engine_tally, references};
use common::{cases, counts, machine, random_machine};
use homenode_base::{NodeId, Rng, TotalCost};
use homenode_machine::{Location, Machine};
use homenode_placement::optimum::{PhaseStatic, Replication, Solo, Solver};
use homenode_placement::policies::Choice;
use homenode_placement::{Access, AccessKind, Meter, Start, Step};

/// `platinum(t1, t2, place, twice, backoff)`.
#[derive(Clone, Copy, Debug)]
struct Times {
    t1: u64,
    t2: u64,
    in_global: bool,
    twice: bool,
    backoff: bool,
}

/// What the kernel knows of a page. Time goes by one unit after the other.
struct Page {
    rules: Times,
    copies: Places,
    last_writer: u16,
    /// All invalidations since the last thaw: when and by whom.
    invalidations: Vec<(u64, u16)>,
    frozen: bool,
    /// Daemon wake-ups until the page thaws.
    wakeups_left: u64,
    freezes: u32,
    clock: u64,
}

impl Page {
    fn new(rules: Times) -> Page {
        let (copies, invalidations) = (Places::new(), Vec::new());
        Page { rules, copies, last_writer: 0, invalidations, frozen: false, wakeups_left: 0, freezes: 0, clock: 0 }
    }
    /// The daemon that thaws pages wakes up at every multiple of t2.
    fn let_time_pass(&mut self, now: u64) {
        while self.clock < now {
            self.clock += 1;
            if self.rules.t2 == 0 || !self.clock.is_multiple_of(self.rules.t2) || !self.frozen {
                continue;
            }
            self.wakeups_left -= 1;
            if self.wakeups_left == 0 {
                self.frozen = false;
                self.invalidations.clear();
            }
        }
    }
    fn too_hot(&self, q: u16) -> bool {
        let recent = |(when, _): &&(u64, u16)| self.clock - when < self.rules.t1;
        let needed = if self.rules.twice { 2 } else { 1 };
        let newest: Vec<_> = self.invalidations.iter().rev().take(needed).collect();
        newest.len() == needed && newest[0].1 != q && newest.iter().copied().filter(recent).count() == needed
    }
    fn freeze(&mut self) {
        self.frozen = true;
        self.wakeups_left = if self.rules.backoff { 1 << self.freezes } else { 1 };
        self.freezes += 1;
        if self.rules.in_global {
            self.copies = Places::from([Location::Global]);
        } else {
            assert_eq!(
                self.copies,
                Places::from([at(self.last_writer)]),
                "only the invalidator's copy is left so soon"
            );
        }
    }
    fn reference(&mut self, q: u16, write: bool) {
        let mapped = self.copies.contains(&at(q));
        if self.copies.is_empty() {
            self.copies.insert(at(q));
            self.last_writer = q;
        } else if self.frozen {
        } else if !mapped && self.too_hot(q) {
            self.freeze();
        } else if write {
            // By the only holder it changes nothing; a copy in global memory beside it is no other node's.
            let nodes = self.copies.iter().filter(|c| **c != Location::Global).count();
            if !mapped || nodes > 1 {
                self.invalidations.push((self.clock, q));
            }
            self.copies = Places::from([at(q)]);
            self.last_writer = q;
        } else {
            self.copies.insert(at(q));
        }
    }
}

fn slow(m: &Machine, rules: Times, trace: &[Access]) -> TotalCost {
    let mut page = Page::new(rules);
    let mut cost = TotalCost::ZERO;
    for a in trace {
        let old = page.copies.clone();
        page.let_time_pass(a.t.0);
        page.reference(a.node.0, a.kind == AccessKind::Write);
        let mine = page.copies.contains(&at(a.node.0));
        let served = if mine { at(a.node.0) } else { *page.copies.first().expect("somewhere") };
        cost += charge(m, &old, &page.copies, a, served);
    }
    cost
}

#[test]
fn platinum_is_its_table_on_random_traces() {
    let mut rng = Rng::new(0x91a7);
    let mut frozen_in_global = 0;
    for _ in 0..cases(4) {
        let nodes = 1 + rng.below(5) as usize;
        let m = random_machine(&mut rng, nodes);
        let in_global = m.cost.global.is_some() && (rng.below(2) == 0 || !m.cost.remote_access);
        if !in_global && !m.cost.remote_access && nodes > 1 {
            continue;
        }
        frozen_in_global += u32::from(in_global);
        let (t1, t2) = ([0, 1, 2, 4, 9, 30, 1000][rng.below(7) as usize], [0, 1, 3, 8, 25, 90][rng.below(6) as usize]);
        let rules = Times { t1, t2, in_global, twice: rng.below(3) == 0, backoff: rng.below(3) == 0 };
        let flags = [in_global, rules.twice, rules.backoff].map(u32::from);
        let text = format!("platinum({t1},{t2},{},{},{})", flags[0], flags[1], flags[2]);
        let choice = Choice::parse(&text).expect("allowed");
        let trace = references(&mut rng, nodes, 80);
        compare(&choice, &m, &trace, slow(&m, rules, &trace));
    }
    assert!(frozen_in_global > 100, "{frozen_in_global}");
}

/// Replicate on read, migrate on write: the copies, and R for each one made.
fn shared_virtual_memory(m: &Machine, trace: &[Access]) -> TotalCost {
    let (mut copies, mut cost) = (Places::new(), TotalCost::ZERO);
    for a in trace {
        let (old, here) = (copies.clone(), at(a.node.0));
        if a.kind == AccessKind::Write {
            copies.clear();
        }
        copies.insert(here);
        cost += charge(m, &old, &copies, a, here);
    }
    cost
}

#[test]
fn dsm_is_shared_virtual_memory_and_what_others_become_at_their_limits() {
    let mut rng = Rng::new(0xd5);
    for _ in 0..cases(10) {
        let nodes = 1 + rng.below(5) as usize;
        let mut m = random_machine(&mut rng, nodes);
        let trace = references(&mut rng, nodes, 60);
        let dsm = Choice::parse("dsm").expect("a policy");
        let cost = shared_virtual_memory(&m, &trace);
        compare(&dsm, &m, &trace, cost);
        m.cost.remote_access = true;
        assert_eq!(engine_tally(&Choice::parse("platinum(0,0)").expect("a policy"), &m, &trace).total(), cost);
        (m.cost.global, m.cost.remote_access) = (None, false);
        assert_eq!(engine_tally(&Choice::parse("ace").expect("a policy"), &m, &trace).total(), cost);
        let free_start = Replication::new(&m, 1, Start::FreeSingle).solve(&trace).cost;
        assert!(free_start <= cost, "no placement without remote references is dearer than the optimum");
        if trace[0].kind == AccessKind::Write {
            assert_eq!(
                Replication::new(&m, 1, Start::FreeSet).solve(&trace).cost,
                cost,
                "and dsm is the optimum there"
            );
        }
    }
}

#[test]
fn bases_cost_what_their_homes_say() {
    let mut rng = Rng::new(0xba5e);
    for _ in 0..cases(100) {
        let nodes = 1 + rng.below(6) as usize;
        let m = machine(nodes, 1, 15, 90, Some((2, 12)));
        let trace = references(&mut rng, nodes, 40);
        let global = engine_tally(&Choice::parse("global").expect("a policy"), &m, &trace);
        assert_eq!((global.total(), global.global), (TotalCost(80), TotalCost(80)));
        for seed in 0..3 {
            let random = Choice::parse(&format!("random({seed})")).expect("a policy");
            let mut engine = random.engine(&m, 1).expect("runs there");
            let homes = (0..2_u64).map(|_| {
                let slot = engine.open(7, None);
                let mut counts = counts(&m, 1);
                let mut step = |access| engine.step(slot, access, &mut Meter { counts: &mut counts });
                let served: Vec<Location> = trace.iter().map(&mut step).collect();
                assert!(served.iter().all(|at| *at == served[0]));
                served[0]
            });
            let homes: Vec<Location> = homes.collect();
            assert_eq!(homes[0], homes[1], "the home follows from block and seed");
        }
    }
    let no_global = machine(2, 1, 15, 90, None);
    let error = Choice::parse("global").expect("a policy").engine(&no_global, 1).err().expect("no global memory");
    assert!(error.to_string().contains("needs global memory"), "{error}");
}

/// 1/p + (p - 1) r / p, which for the eight processors of the Butterfly is 13.25.
#[test]
fn random_homes_cost_the_expected_mean_and_differ_by_seed() {
    let m = machine(8, 1, 15, 90, None);
    let trace = |node| Access { node: NodeId(node), ..references(&mut Rng::new(1), 1, 1)[0] };
    let (mut total, mut differ) = (0, 0);
    for seed in 0..4 {
        let random = Choice::parse(&format!("random({seed})")).expect("a policy");
        let mut engine = random.engine(&m, 1).expect("runs there");
        let mut other = Choice::parse("random(77)").expect("a policy").engine(&m, 1).expect("runs there");
        for block in 0..2000 {
            let access = trace((block % 8) as u16);
            let [tally, elsewhere] = [&mut engine, &mut other].map(|engine| {
                let (slot, mut counts) = (engine.open(block, None), counts(&m, 1));
                engine.run(&[Step { slot, access }], &mut counts);
                counts.priced(&m, 1)
            });
            total += tally.total().0;
            differ += u32::from(elsewhere != tally);
        }
    }
    let mean = total as f64 / 8000.0;
    assert!((mean - 13.25).abs() < 0.2, "{mean}");
    assert!(differ > 1000, "{differ}");
}

/// All ways of choosing a home for each phase, each run by the policy itself.
fn best_of_all_homes(choice: &Choice, m: &Machine, trace: &[Access], phases: usize) -> TotalCost {
    let homes: Vec<Location> = (0..m.nodes() as u16).map(at).chain(m.cost.global.map(|_| Location::Global)).collect();
    let steps: Vec<Step> = trace.iter().map(|access| Step { slot: 0, access: *access }).collect();
    let price = |number: usize| {
        let digit = |i: usize| homes[number / homes.len().pow(i as u32) % homes.len()];
        let mut engine = choice.engine(m, 1).expect("runs there");
        engine.open_phased(3, &(0..phases).map(digit).collect::<Vec<_>>());
        let mut counts = counts(m, 1);
        engine.run(&steps, &mut counts);
        counts.priced(m, 1).total()
    };
    (0..homes.len().pow(phases as u32)).map(price).min().expect("some homes")
}

#[test]
fn phase_static_is_the_best_of_all_homes_by_phase() {
    let mut rng = Rng::new(0x9a5e);
    for _ in 0..cases(100) {
        let nodes = 1 + rng.below(3) as usize;
        let mut m = random_machine(&mut rng, nodes);
        m.cost.remote_access = true;
        let trace = references(&mut rng, nodes, 30);
        let window = 1 + trace.last().expect("accesses").t.0 / (1 + rng.below(4));
        let choice = Choice::parse(&format!("phase-static({window})")).expect("a policy");
        assert_eq!(choice.phase(), Some(window));
        let solver = PhaseStatic::new(&m, 1, window);
        let mut state = solver.begin();
        trace.iter().for_each(|a| solver.push(&mut state, a));
        let found = solver.finish(&state);
        let phases = 1 + (trace.last().expect("accesses").t.0 / window) as usize;
        assert_eq!(found.total(), best_of_all_homes(&choice, &m, &trace, phases), "{choice} on {m:?}\n{trace:?}");
    }
}

/// One phase is the best static placement, a phase per unit of time the optimum without replication.
#[test]
fn phase_static_lies_between_its_limits() {
    let mut rng = Rng::new(0x9a5f);
    for _ in 0..cases(50) {
        let nodes = 1 + rng.below(5) as usize;
        let m = random_machine(&mut rng, nodes);
        let mut trace = references(&mut rng, nodes, 50);
        trace.iter_mut().zip(0..).for_each(|(a, t)| a.t.0 = t);
        let cost = |window| {
            let solver = PhaseStatic::new(&m, 1, window);
            let mut state = solver.begin();
            trace.iter().for_each(|a| solver.push(&mut state, a));
            solver.finish(&state).total()
        };
        let statics = homenode_placement::optimum::BestStatic::new(&m);
        let mut used = statics.begin();
        trace.iter().for_each(|a| statics.push(&mut used, a));
        assert_eq!(cost(1000), statics.finish(&used).1.cost);
        assert_eq!(cost(1), Solo::new(&m, 1).solve(&trace).cost);
        assert!(cost(1) <= cost(5) && cost(5) <= cost(10) && cost(10) <= cost(1000), "finer phases cost no more");
    }
}
