//! An access of weight w is w accesses: for every policy of the registry, whatever it counts and whenever it looks.
mod common;
use common::slow::{choices, engine_tally, fold, references};
use common::{cases, machine, random_trace};
use homenode_base::{NodeId, Rng, VirtualTime};
use homenode_machine::{AccessClass, Location, Machine};
use homenode_placement::policies::{self, By, Choice};
use homenode_placement::{Access, AccessKind, BlockEngine, Outcome, Sink};
use std::collections::BTreeSet;

/// Single accesses of all classes in runs; time jumps now and then.
fn runs(rng: &mut Rng, nodes: usize) -> Vec<Access> {
    let mut t = 0;
    let mut trace = Vec::new();
    for a in random_trace(rng, nodes, 40) {
        for _ in 0..1 + [0, 0, 1, 4][rng.below(4) as usize] {
            t += if rng.below(12) == 0 { rng.below(30) } else { 1 };
            trace.push(Access { weight: 1, t: VirtualTime(t), ..a });
        }
    }
    trace
}

fn machines() -> Vec<Machine> {
    let mut all = Vec::new();
    for nodes in [1, 2, 3, 9] {
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

#[test]
fn folded_and_unfolded_runs_are_charged_alike() {
    let mut rng = Rng::new(0xf01d);
    let mut folded = 0;
    for m in machines() {
        for choice in choices().iter().filter(|c| c.engine(&m, 1).is_ok()) {
            for _ in 0..cases(1000) {
                let trace = runs(&mut rng, m.nodes());
                let short = fold(&trace, choice.period());
                folded += trace.len() - short.len();
                assert_eq!(engine_tally(choice, &m, &short), engine_tally(choice, &m, &trace), "{choice}\n{trace:?}");
            }
        }
    }
    assert!(folded > 100_000, "{folded}");
}

/// Any weight may be split anywhere.
#[test]
fn a_weight_is_the_sum_of_its_parts() {
    let mut rng = Rng::new(0x5711);
    for m in machines() {
        for choice in choices().iter().filter(|c| c.engine(&m, 1).is_ok()) {
            for _ in 0..cases(2500) {
                let mut whole = random_trace(&mut rng, m.nodes(), 30);
                whole.iter_mut().for_each(|a| a.weight = 1 + rng.below(300) as u32);
                let split = |a: &Access| {
                    let first = 1 + rng.below(u64::from(a.weight)) as u32;
                    [first, a.weight - first].map(|weight| Access { weight, ..*a }).into_iter().filter(|a| a.weight > 0)
                };
                let parts: Vec<Access> = whole.iter().flat_map(split).collect();
                assert_eq!(engine_tally(choice, &m, &parts), engine_tally(choice, &m, &whole), "{choice}\n{whole:?}");
            }
        }
    }
}

#[test]
fn the_heaviest_weight_counts_in_full() {
    let m = machine(2, 1, 5, 20, None);
    let access = |node, weight| {
        let (kind, class) = (AccessKind::Read, AccessClass::Read);
        Access { node: NodeId(node), kind, class, weight, t: VirtualTime(0) }
    };
    let delay = Choice::parse("delay(1000)").expect("a policy");
    let tally = engine_tally(&delay, &m, &[access(0, 1), access(1, u32::MAX)]);
    assert_eq!((tally.remote.0, tally.local.0), (5000, 1 + i128::from(u32::MAX) - 1000));
    assert_eq!((tally.movement.0, tally.copies), (20, 1));
}

/// Policies that say that they look at neither time nor cost do not.
#[test]
fn policies_look_at_what_they_declare() {
    let mut rng = Rng::new(0x100c);
    for spec in policies::ALL {
        let choice = spec.choose(&[]).expect("defaults are in range");
        assert!(choice.period().is_none() || spec.decides_by.contains(&By::Time), "{choice}");
        assert!(choice.phase().is_none() || spec.needs_homes, "{choice}");
        let (cheap, dear) = (machine(3, 1, 5, 20, Some((2, 12))), machine(3, 1, 900, 7, Some((500, 3))));
        for _ in 0..100 {
            let trace = random_trace(&mut rng, 3, 60);
            if !spec.decides_by.contains(&By::Cost) {
                let moved = |m| engine_tally(&choice, m, &trace);
                assert_eq!(
                    (moved(&cheap).moves, moved(&cheap).copies),
                    (moved(&dear).moves, moved(&dear).copies),
                    "{choice}"
                );
            }
            if !spec.decides_by.contains(&By::Time) {
                let later = |a: &Access| Access { t: VirtualTime(a.t.0 * 1_000_003), ..*a };
                let late: Vec<Access> = trace.iter().map(later).collect();
                assert_eq!(engine_tally(&choice, &cheap, &late), engine_tally(&choice, &cheap, &trace), "{choice}");
            }
        }
    }
}

/// What a policy asks for.
#[derive(Default)]
struct Asked(Vec<(Option<Location>, Location)>);

impl Asked {
    fn done(&mut self, from: Option<Location>, to: Location) -> Outcome {
        self.0.push((from, to));
        Outcome::Done
    }
}

impl Sink for Asked {
    fn place(&mut self, at: Location) -> Outcome {
        self.done(None, at)
    }
    fn replicate(&mut self, from: Location, to: Location) -> Outcome {
        self.done(Some(from), to)
    }
    fn migrate(&mut self, from: Location, to: Location) -> Outcome {
        self.done(Some(from), to)
    }
    fn drop_copy(&mut self, at: Location) -> Outcome {
        self.done(Some(at), at)
    }
}

/// What is asked for, and where the last access is served.
fn probe(engine: &dyn BlockEngine, accesses: &[Access]) -> (Vec<(Option<Location>, Location)>, Option<Location>) {
    let mut asked = Asked::default();
    let at = engine.probe(0, accesses, &mut asked);
    (asked.0, at)
}

/// A block that is settled for a node is served as was said, whatever the node does, and goes on as if it had done nothing.
#[test]
fn settled_blocks_stay_as_they_are_until_others_come() {
    let mut rng = Rng::new(0x5e77);
    let mut seen = BTreeSet::new();
    for m in machines() {
        for choice in choices().iter().filter(|c| c.engine(&m, 1).is_ok()) {
            for _ in 0..cases(200) {
                let mut engine = choice.engine(&m, 1).expect("it was had just now");
                engine.open(7, None);
                for access in references(&mut rng, m.nodes(), 20) {
                    engine.step(0, &access, &mut Asked::default());
                    let Some(place) = engine.settled(0, access.node) else { continue };
                    seen.insert(choice.spec.name.clone());
                    let own = |a: Access| Access { node: access.node, weight: 1 + a.weight * (a.t.0 as u32 % 5), ..a };
                    let own: Vec<Access> = references(&mut rng, m.nodes(), 6).into_iter().map(own).collect();
                    let others = references(&mut rng, m.nodes(), 6);
                    for n in 1..=own.len() {
                        assert_eq!(probe(&*engine, &own[..n]), (vec![], Some(place)), "{choice}\n{own:?}");
                    }
                    let both = [own, others.clone()].concat();
                    assert_eq!(probe(&*engine, &both), probe(&*engine, &others), "{choice}\n{both:?}");
                }
            }
        }
    }
    let timeless = |s: &&&policies::Spec| !s.decides_by.contains(&By::Time);
    let expected: BTreeSet<_> = policies::ALL.iter().filter(timeless).map(|s| s.name.clone()).collect();
    assert!(seen.is_superset(&expected), "{seen:?}");
}
