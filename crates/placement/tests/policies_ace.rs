//! The policy of the ACE and the delayed one, written out as a table of states over plain sets, one access at a time, and
//! compared with the engines on random traces (Bolosky 1993, sections 3.1.3 and 5.1).
mod common;
use common::slow::{Places, at, charge, compare, references};
use common::{cases, random_machine};
use homenode_base::{Rng, TotalCost};
use homenode_machine::{Location, Machine};
use homenode_placement::policies::Choice;
use homenode_placement::{Access, AccessKind};
use std::collections::{BTreeMap, BTreeSet};

/// States of a block. Without global memory `ReadOnly` of one node and `LocalWritable` are the same.
#[derive(Clone, Debug, PartialEq)]
enum Block {
    Untouched,
    /// Copies on these nodes, and in global memory if there is some.
    ReadOnly(BTreeSet<u16>),
    /// One copy; global memory is stale.
    LocalWritable(u16),
    /// In global memory only, for ever.
    GlobalWritable,
    /// On this node only, for ever.
    Frozen(u16),
}
use Block::{Frozen, GlobalWritable, LocalWritable, ReadOnly, Untouched};

/// Parameters as `ace(k, freeze, path, place)` has them, n before them for the delayed policy.
struct Table<'m> {
    machine: &'m Machine,
    delay: Option<u32>,
    k: u32,
    at_kth: bool,
    through_global: bool,
    in_place: bool,
    block: Block,
    invalidations: u32,
    last_writer: u16,
    counters: BTreeMap<u16, u32>,
    cost: TotalCost,
}

impl Table<'_> {
    fn has_global(&self) -> bool {
        self.machine.cost.global.is_some()
    }
    fn places(&self, block: &Block) -> Places {
        match block {
            Untouched => Places::new(),
            ReadOnly(nodes) => {
                nodes.iter().map(|n| at(*n)).chain(self.has_global().then_some(Location::Global)).collect()
            }
            LocalWritable(p) | Frozen(p) => Places::from([at(*p)]),
            GlobalWritable => Places::from([Location::Global]),
        }
    }
    /// LOCAL or GLOBAL, asked at a fault.
    fn says_local(&self) -> bool {
        let can_give_up = self.has_global() || self.machine.cost.remote_access;
        self.invalidations < self.k || !can_give_up
    }
    /// What a block becomes when the policy says GLOBAL.
    fn given_up(&self) -> Block {
        match (&self.block, self.has_global() && !self.in_place) {
            (_, true) => GlobalWritable,
            (LocalWritable(p), false) => Frozen(*p),
            (ReadOnly(nodes), false) if nodes.contains(&self.last_writer) => Frozen(self.last_writer),
            (ReadOnly(nodes), false) => Frozen(*nodes.first().expect("a copy")),
            (other, false) => other.clone(),
        }
    }
    /// The row of the table; `None` if the access is no fault.
    fn decide(&mut self, q: u16, write: bool) -> Option<Block> {
        let read_only = |nodes: BTreeSet<u16>, global: bool| {
            if nodes.len() == 1 && !global { LocalWritable(q) } else { ReadOnly(nodes) }
        };
        let global = self.has_global();
        let block = self.block.clone();
        match block {
            Untouched if write => Some(LocalWritable(q)),
            Untouched => Some(read_only(BTreeSet::from([q]), global)),
            ReadOnly(nodes) if !write && nodes.contains(&q) => None,
            LocalWritable(p) if p == q => None,
            GlobalWritable | Frozen(_) => None,
            ReadOnly(nodes) if write && nodes == BTreeSet::from([q]) => {
                Some(if self.says_local() { LocalWritable(q) } else { self.given_up() })
            }
            ReadOnly(_) | LocalWritable(_) if write => Some(self.invalidate(q)),
            _ if !self.says_local() => Some(self.given_up()),
            ReadOnly(mut nodes) => {
                nodes.insert(q);
                Some(ReadOnly(nodes))
            }
            LocalWritable(p) => Some(ReadOnly(BTreeSet::from([p, q]))),
        }
    }
    /// A write that invalidates somebody's copy.
    fn invalidate(&mut self, q: u16) -> Block {
        self.invalidations += u32::from(self.at_kth);
        if !self.says_local() {
            return self.given_up();
        }
        self.invalidations += u32::from(!self.at_kth);
        LocalWritable(q)
    }
    /// The remote accesses of a node without a copy, before anything is decided for it.
    fn delayed(&mut self, q: u16, write: bool) -> Option<Block> {
        let n = self.delay?;
        let holders = match &self.block {
            ReadOnly(nodes) => nodes.clone(),
            LocalWritable(p) => BTreeSet::from([*p]),
            _ => return None,
        };
        let counter = self.counters.entry(q).or_insert(n);
        if holders.contains(&q) || *counter == 0 {
            self.counters.remove(&q);
            return None;
        }
        *counter -= 1;
        if !write || matches!(self.block, LocalWritable(_)) {
            return Some(self.block.clone());
        }
        self.invalidations += u32::from(holders.len() > 1);
        if holders.len() > 1 && self.at_kth && !self.says_local() {
            return Some(self.given_up());
        }
        let kept = if holders.contains(&self.last_writer) { Some(&self.last_writer) } else { holders.first() };
        kept.map(|p| LocalWritable(*p))
    }
    fn access(&mut self, access: &Access) {
        let (q, write) = (access.node.0, access.kind == AccessKind::Write);
        let delayed = self.delayed(q, write);
        let waits = delayed.is_some();
        let old = self.block.clone();
        let new = delayed.or_else(|| self.decide(q, write)).unwrap_or(old.clone());
        let served = match &new {
            GlobalWritable => Location::Global,
            LocalWritable(p) | Frozen(p) => at(*p),
            ReadOnly(_) if waits => at(self.last_writer),
            _ => at(q),
        };
        self.cost += charge(self.machine, &self.places(&old), &self.places(&new), access, served);
        if let (true, LocalWritable(_), LocalWritable(to)) = (self.through_global, &old, &new)
            && old != new
        {
            // Out to global memory and in again, in place of R.
            let (g, r) = (self.machine.copy_cost(1, Location::Global, at(0)), self.machine.copy_cost(1, at(0), at(1)));
            assert_eq!(*to, q);
            self.cost += g.times(2) - r.into();
        }
        let moved = write && matches!(new, LocalWritable(p) if p == q && !self.places(&old).contains(&at(q)));
        if moved || matches!(new, GlobalWritable | Frozen(_)) {
            self.counters.clear();
        }
        if old == Untouched || (write && new == LocalWritable(q)) {
            self.last_writer = q;
        }
        self.block = new;
    }
}

/// Any parameters that the machine allows; small ones, so that short traces use them up.
fn parameters(rng: &mut Rng, m: &Machine) -> [u32; 4] {
    let flag = |rng: &mut Rng, allowed| u32::from(allowed && rng.below(2) == 0);
    let k = [0, 1, 2, 3, 4, u32::MAX][rng.below(6) as usize];
    let freeze = flag(rng, true);
    let path = flag(rng, m.cost.global.is_some());
    [k, freeze, path, flag(rng, m.cost.remote_access)]
}

fn slow(m: &Machine, delay: Option<u32>, values: [u32; 4], trace: &[Access]) -> TotalCost {
    let [k, freeze, path, place] = values;
    let mut table = Table {
        machine: m,
        delay,
        k,
        at_kth: freeze == 1,
        through_global: path == 1,
        in_place: place == 1,
        block: Untouched,
        invalidations: 0,
        last_writer: 0,
        counters: BTreeMap::new(),
        cost: TotalCost::ZERO,
    };
    trace.iter().for_each(|a| table.access(a));
    table.cost
}

#[test]
fn ace_is_its_table_on_random_traces() {
    let mut rng = Rng::new(0xace);
    for _ in 0..cases(5) {
        let nodes = 1 + rng.below(5) as usize;
        let m = random_machine(&mut rng, nodes);
        let values = parameters(&mut rng, &m);
        let trace = references(&mut rng, nodes, 60);
        let choice =
            Choice::parse(&format!("ace({},{},{},{})", values[0], values[1], values[2], values[3])).expect("allowed");
        compare(&choice, &m, &trace, slow(&m, None, values, &trace));
    }
}

#[test]
fn delay_is_its_table_on_random_traces() {
    let mut rng = Rng::new(0xde1a);
    for _ in 0..cases(5) {
        let nodes = 1 + rng.below(5) as usize;
        let mut m = random_machine(&mut rng, nodes);
        m.cost.remote_access = true;
        let values = parameters(&mut rng, &m);
        let n = [0, 1, 2, 3, 5, 9, 100][rng.below(7) as usize];
        let trace = references(&mut rng, nodes, 80);
        let text = format!("delay({n},{},{},{},{})", values[0], values[1], values[2], values[3]);
        let choice = Choice::parse(&text).expect("allowed");
        compare(&choice, &m, &trace, slow(&m, Some(n), values, &trace));
        if n == 0 {
            assert_eq!(slow(&m, None, values, &trace), slow(&m, Some(0), values, &trace));
        }
    }
}

#[test]
fn machines_that_cannot_do_a_variant_are_told_so() {
    let mut m = common::machine(4, 1, 5, 20, None);
    let error = |text: &str, m: &Machine| Choice::parse(text).expect(text).engine(m, 1).err().map(|e| e.to_string());
    assert!(error("ace(4,0,1)", &m).expect("no path").contains("needs global memory"));
    assert!(error("delay(9,4,0,1)", &m).expect("no path").contains("needs global memory"));
    assert_eq!(error("ace(4,1,0,1)", &m), None);
    m.cost.remote_access = false;
    assert!(error("ace(4,0,0,1)", &m).expect("out of reach").contains("other nodes' memory"));
    assert!(error("delay", &m).expect("out of reach").contains("other nodes' memory"));
    assert_eq!(error("ace(4,1)", &m), None, "blocks go on moving for ever");
}
