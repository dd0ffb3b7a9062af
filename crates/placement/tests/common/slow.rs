//! For policies written out slowly: places as plain sets, charges as the cost definition has them, and traces whose
//! accesses can be folded.
use super::counts;
use homenode_base::{NodeId, Rng, TotalCost, VirtualTime};
use homenode_machine::{AccessClass, Location, Machine};
use homenode_placement::policies::{self, Choice};
use homenode_placement::{Access, AccessKind, Step, Tally};
use std::collections::BTreeSet;

/// Where copies are.
pub(crate) type Places = BTreeSet<Location>;

pub(crate) fn at(node: u16) -> Location {
    Location::Node(NodeId(node))
}

/// Bolosky 1993, equations 4.1 and 4.2 for one change of the set and one reference: each location added costs R, or G if
/// global memory is in the old or the new set.
pub(crate) fn charge(m: &Machine, old: &Places, new: &Places, access: &Access, served: Location) -> TotalCost {
    assert!(new.contains(&served) && (access.kind == AccessKind::Read || new.len() == 1), "{new:?}");
    let global = old.contains(&Location::Global) || new.contains(&Location::Global);
    let each = if global { m.copy_cost(1, Location::Global, at(0)) } else { m.copy_cost(1, at(0), at(1)) };
    let added = if old.is_empty() { 0 } else { new.difference(old).count() as u64 };
    each.times(added) + m.access(access.class, access.node, served).into()
}

/// Plain references, one each, to one block, by nodes that come and go; virtual time sometimes jumps.
pub(crate) fn references(rng: &mut Rng, nodes: usize, len: usize) -> Vec<Access> {
    let writes_of_16 = [0, 1, 3, 6, 12][rng.below(5) as usize];
    let sticks_of_16 = [0, 8, 13][rng.below(3) as usize];
    let (mut node, mut write, mut t) = (NodeId(0), false, 0);
    let mut next = || {
        if rng.below(16) >= sticks_of_16 {
            node = NodeId(rng.below(nodes as u64) as u16);
            write = rng.below(16) < writes_of_16;
        }
        t += if rng.below(8) == 0 { rng.below(12) } else { 1 };
        let (kind, class) = match write {
            true => (AccessKind::Write, AccessClass::Write),
            false => (AccessKind::Read, AccessClass::Read),
        };
        Access { node, kind, class, weight: 1, t: VirtualTime(t) }
    };
    (0..len).map(|_| next()).collect()
}

/// Equal accesses in a row as one, but not across a multiple of the policy's period.
pub(crate) fn fold(trace: &[Access], period: Option<u64>) -> Vec<Access> {
    let key = |a: &Access| (a.node, a.kind, a.class, period.map(|p| a.t.0 / p));
    let same = |a: &Access, b: &Access| key(a) == key(b);
    let one = |run: &[Access]| Access { weight: run.iter().map(|a| a.weight).sum(), ..run[0] };
    trace.chunk_by(same).map(one).collect()
}

/// What the policy's engine charges for a block's accesses.
pub(crate) fn engine_tally(choice: &Choice, m: &Machine, trace: &[Access]) -> Tally {
    let mut engine = choice.engine(m, 1).unwrap_or_else(|e| panic!("{choice}: {e}"));
    let slot = engine.open(7, None);
    let steps: Vec<Step> = trace.iter().map(|access| Step { slot, access: *access }).collect();
    let mut counts = counts(m, 1);
    engine.run(&steps, &mut counts);
    counts.priced(m, 1)
}

/// Compares an engine, folded and not, with the sum that the slow policy makes of the same references.
pub(crate) fn compare(choice: &Choice, m: &Machine, trace: &[Access], slow: TotalCost) {
    let single = engine_tally(choice, m, trace);
    assert_eq!(single.total(), slow, "{choice} on {m:?}\n{trace:?}");
    assert_eq!(engine_tally(choice, m, &fold(trace, choice.period())), single, "{choice} folded\n{trace:?}");
}

/// Every policy, with its defaults and with other parameters where it has some.
pub(crate) fn choices() -> Vec<Choice> {
    let defaults = policies::ALL.iter().map(|s| s.choose(&[]).expect("defaults are in range"));
    defaults.chain(OTHERS.iter().map(|c| Choice::parse(c).expect(c))).collect()
}

/// Parameters at which short traces come to every decision, and every variant.
pub(crate) const OTHERS: [&str; 25] = [
    "ace(0)",
    "ace(1)",
    "ace(1000000)",
    "ace(2,1)",
    "ace(2,0,1)",
    "ace(1,0,0,1)",
    "ace(2,1,1,1)",
    "affinity(1,1,1000)",
    "affinity(3,1,1)",
    "affinity(7,2,0)",
    "delay(0,2)",
    "delay(1,0)",
    "delay(2,1)",
    "delay(3,2,1)",
    "delay(2,2,0,1)",
    "delay(2,1,1,0,1)",
    "platinum(0,5)",
    "platinum(3,7)",
    "platinum(6,0)",
    "platinum(5,4,0,0,1)",
    "platinum(9,11,0,1)",
    "platinum(4,6,1)",
    "platinum(8,3,1,1,1)",
    "phase-static(7)",
    "random(99)",
];
