//! What every policy of the registry must do, whatever it decides.
mod common;
use common::slow::choices;
use common::{counts, machine, parse, random_trace};
use homenode_base::{NodeId, Rng, TotalCost};
use homenode_machine::{Location, Machine};
use homenode_placement::checker::recost;
use homenode_placement::events::{COPY, MOVE};
use homenode_placement::optimum::{BestStatic, Replication, Solver};
use homenode_placement::policies::Choice;
use homenode_placement::{Access, AccessKind, LocationSet, Meter, Outcome, Placement, Sink, Start, Step};

/// The block as it really is. Every action must make sense; some fail if `rng` is given.
struct World<'m> {
    machine: &'m Machine,
    set: LocationSet,
    may_place: bool,
    rng: Option<Rng>,
}

impl World<'_> {
    fn outcome(&mut self) -> Outcome {
        match self.rng.as_mut().map_or(9, |r| r.below(8)) {
            0 | 1 => Outcome::Failed,
            2 | 3 => Outcome::Partial,
            _ => Outcome::Done,
        }
    }
    fn exists(&self, at: Location) {
        match at {
            Location::Node(n) => assert!(n.index() < self.machine.nodes(), "{at:?}"),
            Location::Global => assert!(self.machine.cost.global.is_some(), "no global memory"),
        }
    }
}

impl Sink for World<'_> {
    fn place(&mut self, at: Location) -> Outcome {
        self.exists(at);
        assert!(self.may_place && !self.set.contains(at), "placed twice");
        let outcome = self.outcome();
        if outcome == Outcome::Done {
            self.set.insert(at);
        }
        outcome
    }
    fn replicate(&mut self, from: Location, to: Location) -> Outcome {
        self.exists(to);
        assert!(self.set.contains(from) && !self.set.contains(to), "{from:?} to {to:?} in {:?}", self.set);
        let outcome = self.outcome();
        if outcome == Outcome::Done {
            self.set.insert(to);
        }
        outcome
    }
    fn migrate(&mut self, from: Location, to: Location) -> Outcome {
        self.exists(to);
        assert!(self.set == LocationSet::single(from) && from != to, "{from:?} to {to:?} in {:?}", self.set);
        let outcome = self.outcome();
        if outcome == Outcome::Done {
            self.set = LocationSet::single(to);
        }
        outcome
    }
    fn drop_copy(&mut self, at: Location) -> Outcome {
        assert!(self.set.contains(at) && self.set.len() > 1, "dropped {at:?} of {:?}", self.set);
        let outcome = self.outcome();
        if outcome == Outcome::Done {
            self.set.remove(at);
        }
        outcome
    }
}

/// Machines of every size that storage treats differently, with and without global memory and remote references.
fn machines() -> Vec<Machine> {
    let mut all = Vec::new();
    for nodes in [1, 2, 8, 64, 65, 300] {
        for global in [None, Some((2, 12))] {
            for remote in [true, false] {
                let mut m = machine(nodes, 1, 5, 20, global);
                m.cost.remote_access = remote;
                all.push(m);
            }
        }
    }
    all
}

/// Whether a move may go by a dearer way than the sets show.
fn takes_detours(choice: &Choice) -> bool {
    let path = choice.spec.params.iter().position(|p| p.name == "path");
    path.is_some_and(|path| choice.values[path] == 1)
}

/// One access for each that an access stands for.
fn unfold(trace: &[Access]) -> Vec<Access> {
    let copies = |a: &Access| std::iter::repeat_n(Access { weight: a.weight.min(1), ..*a }, a.weight.max(1) as usize);
    trace.iter().flat_map(copies).collect()
}

fn best_home(m: &Machine, trace: &[Access]) -> Location {
    let solver = BestStatic::new(m);
    let mut used = solver.begin();
    trace.iter().for_each(|a| solver.push(&mut used, a));
    solver.finish(&used).0
}

/// Runs one block; returns what the sets were and what served each access.
fn replay(choice: &Choice, m: &Machine, trace: &[Access], rng: Option<Rng>) -> Option<Placement> {
    let mut engine = choice.engine(m, 1).ok()?;
    let failing = rng.is_some();
    let mut world = World { machine: m, set: LocationSet::default(), may_place: true, rng };
    let slot = engine.open(7, choice.spec.needs_homes.then(|| best_home(m, trace)));
    let mut placement = Placement::default();
    for a in trace {
        world.may_place = world.set.is_empty();
        let at = engine.step(slot, a, &mut world);
        assert!(world.set.contains(at) || (failing && world.set.is_empty()), "{choice}: {at:?} of {:?}", world.set);
        placement.sets.push(world.set.clone());
        placement.served.push(at);
    }
    Some(placement)
}

#[test]
fn decisions_are_legal_placements_that_cost_what_the_engine_charges() {
    let mut rng = Rng::new(0x901);
    let mut replayed = 0;
    for m in machines() {
        for choice in choices() {
            for _ in 0..20 {
                let folded = random_trace(&mut rng, m.nodes(), 60);
                let trace = unfold(&folded);
                let Some(placement) = replay(&choice, &m, &trace, None) else { continue };
                let tally = recost(&m, 1, &trace, &placement).unwrap_or_else(|e| panic!("{choice}: {e}\n{trace:?}"));
                let mut engine = choice.engine(&m, 1).expect("it was made before");
                engine.open(7, choice.spec.needs_homes.then(|| best_home(&m, &trace)));
                let steps: Vec<Step> = folded.iter().map(|a| Step { slot: 0, access: *a }).collect();
                let mut counts = counts(&m, 1);
                engine.run(&steps, &mut counts);
                let charged = counts.priced(&m, 1);
                let detour = charged.movement - tally.movement;
                assert_eq!(charged.total() - detour, tally.total(), "{choice} on {m:?}\n{trace:?}");
                assert!(detour == TotalCost::ZERO || takes_detours(&choice), "{choice} on {m:?}\n{trace:?}");
                assert!(tally.total() >= Replication::new(&m, 1, Start::FreeSet).solve(&trace).cost, "{choice}");
                assert!(tally.total() < homenode_base::Cost::INFINITE.into(), "{choice} on {m:?} cannot be");
                replayed += 1;
            }
        }
    }
    assert!(replayed > 24 * 20 * 4, "most policies run on most machines: {replayed}");
}

#[test]
fn locations_stay_real_when_actions_fail() {
    let mut rng = Rng::new(0xfa11);
    for m in machines() {
        for choice in choices() {
            for _ in 0..20 {
                let trace = random_trace(&mut rng, m.nodes(), 60);
                replay(&choice, &m, &trace, Some(Rng::new(rng.next_u64())));
            }
        }
    }
}

#[test]
fn engines_are_deterministic_and_all_ways_of_running_agree() {
    let mut rng = Rng::new(0xde7);
    for m in machines() {
        let trace = random_trace(&mut rng, m.nodes(), 2000);
        let steps: Vec<Step> = trace.iter().map(|a| Step { slot: rng.below(5) as u32, access: *a }).collect();
        let nothing = counts(&m, 64);
        for choice in choices() {
            let engine = || {
                let mut e = choice.engine(&m, 64).ok()?;
                (0..5).for_each(|b| assert_eq!(e.open(b * 3, None), b as u32));
                Some(e)
            };
            let Some(mut first) = engine() else { continue };
            let [mut whole, mut pieces, mut single, mut asked] = std::array::from_fn(|_| nothing.clone());
            first.run(&steps, &mut whole);
            let mut second = engine().expect("as before");
            steps.chunks(7).for_each(|chunk| second.run(chunk, &mut pieces));
            let mut third = engine().expect("as before");
            for step in &steps {
                let probed = third.probe(step.slot, &[step.access], &mut Meter { counts: &mut asked });
                let at = third.step(step.slot, &step.access, &mut Meter { counts: &mut single });
                assert_eq!(probed, Some(at), "{choice}");
            }
            let tally = whole.priced(&m, 64);
            assert_eq!((tally, first.blocks()), (pieces.priced(&m, 64), 5), "{choice}");
            let moved = [COPY, MOVE].map(|kind| whole.total(kind));
            assert_eq!((moved, [tally.copies, tally.moves]), ([COPY, MOVE].map(|kind| single.total(kind)), moved));
        }
    }
}

#[test]
fn names_parse_and_errors_say_what_is_allowed() {
    for choice in choices() {
        let again = Choice::parse(&choice.to_string()).expect("as displayed");
        assert_eq!((&again.spec.name, &again.values), (&choice.spec.name, &choice.values));
        assert!(!choice.spec.summary.is_empty() && choice.spec.params.iter().all(|p| !p.summary.is_empty()));
    }
    assert_eq!(Choice::parse(" ace ").expect("defaults").values, [4, 0, 0, 0]);
    assert_eq!(Choice::parse("ace( 7 )").expect("spaces").values, [7, 0, 0, 0]);
    let shown = |text| Choice::parse(text).expect(text).to_string();
    assert_eq!(
        ["ace", "ace(4,0,0)", "ace(4,0,1,0)", "random"].map(shown),
        ["ace(4)", "ace(4)", "ace(4,0,1)", "random(1)"]
    );
    let wrong = [
        ("nope", "first-touch"),
        ("ace(", "ace(4)"),
        ("ace(x)", "ace(4)"),
        ("ace(1,0,0,0,0)", "4 parameter"),
        ("ace(1,2)", "freeze is 2, allowed are 0 to 1"),
        ("interleave(3)", "0 parameter"),
        ("fixed(70000)", "0 to 65535"),
        ("ace(99999999999)", "0 to 4294967295"),
        ("ace(-1)", "ace(4)"),
        ("ace(,)", "ace(4)"),
        ("", "unknown"),
    ];
    for (text, part) in wrong {
        let error = Choice::parse(text).map(|c| c.to_string()).expect_err(text).to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
    let two = machine(2, 1, 5, 20, None);
    let error = Choice::parse("fixed(2)")
        .expect("in range of any machine")
        .engine(&two, 1)
        .err()
        .expect("not of this")
        .to_string();
    assert!(error.contains("0 to 1"), "{error}");
}

/// Sets and total cost of ACE(k) over a scripted trace: r = 5, R = 20, and with global memory g = 2, G = 12.
fn ace(k: u32, m: &Machine, text: &str) -> (Vec<String>, i128) {
    let (choice, trace) = (Choice::parse(&format!("ace({k})")).expect("a policy"), parse(text));
    let placement = replay(&choice, m, &trace, None).expect("ace runs everywhere");
    let name = |l: Location| match l {
        Location::Node(NodeId(n)) => n.to_string(),
        Location::Global => "g".into(),
    };
    let sets = placement.sets.iter().map(|s| s.iter().map(name).collect()).collect();
    (sets, recost(m, 1, &trace, &placement).expect("legal").total().0)
}

fn check_ace(k: u32, m: &Machine, text: &str, sets: &str, cost: i128) {
    let expected: Vec<String> = sets.split_whitespace().map(str::to_string).collect();
    assert_eq!(ace(k, m, text), (expected, cost), "ace({k}): {text}");
}

/// The table of states and requests (Bolosky 1993, sections 3.1.3 and 5.1), row by row.
#[test]
fn ace_with_global_memory_follows_its_table() {
    let m = machine(3, 1, 5, 20, Some((2, 12)));
    check_ace(4, &m, "r0", "0g", 1);
    check_ace(4, &m, "w0", "0", 1);
    check_ace(4, &m, "r0 r1", "0g 01g", 1 + 13);
    check_ace(0, &m, "r0 r1", "0g g", 1 + 2);
    check_ace(4, &m, "r0 w0", "0g 0", 2);
    check_ace(0, &m, "r0 w0", "0g g", 1 + 2);
    check_ace(4, &m, "r0 w1", "0g 1", 1 + 13);
    check_ace(4, &m, "r0 r1 w1", "0g 01g 1", 1 + 13 + 1);
    check_ace(4, &m, "w0 w0 r0", "0 0 0", 3);
    check_ace(4, &m, "w0 r1", "0 01g", 1 + 25);
    check_ace(0, &m, "w0 r1 r1", "0 g g", 1 + 14 + 2);
    check_ace(4, &m, "w0 w1", "0 1", 1 + 21);
    check_ace(1, &m, "w0 w1 w0 w0", "0 1 g g", 1 + 21 + 14 + 2);
    check_ace(2, &m, "w0 w1 r0 w0 r1 r0", "0 1 01g 0 g g", 1 + 21 + 25 + 1 + 14 + 2);
}

#[test]
fn ace_without_global_memory_freezes_on_the_last_writer() {
    let m = machine(3, 1, 5, 20, None);
    check_ace(4, &m, "r0 r1 r2", "0 01 012", 1 + 21 + 21);
    check_ace(4, &m, "r0 r1 w2", "0 01 2", 1 + 21 + 21);
    check_ace(0, &m, "w0 r1 w1 r0", "0 0 0 0", 1 + 5 + 5 + 1);
    check_ace(1, &m, "w0 w1 r0 r2", "0 1 1 1", 1 + 21 + 5 + 5);
    check_ace(1, &m, "w0 r1 r2 w1 r0", "0 01 012 1 1", 1 + 21 + 21 + 1 + 5);
    let mut no_remote = m.clone();
    no_remote.cost.remote_access = false;
    check_ace(0, &no_remote, "w0 r1 w1 r0", "0 01 1 01", 1 + 21 + 1 + 21);
}

#[test]
fn homes_given_from_outside_are_used_and_best_static_is_what_its_name_says() {
    let m = machine(4, 1, 5, 20, None);
    let trace = parse("r0 r1 r1 w2 r1");
    let placement = replay(&Choice::parse("best-static").expect("a policy"), &m, &trace, None).expect("runs");
    assert!(placement.sets.iter().all(|s| *s == LocationSet::single(Location::Node(NodeId(1)))));
    let cheapest = TotalCost(recost(&m, 1, &trace, &placement).expect("legal").total().0);
    assert_eq!(cheapest, TotalCost(3 + 5 + 5));
    assert!(trace.iter().all(|a| a.kind == AccessKind::Read || a.node == NodeId(2)));
}
