//! Who uses each block how often: all that a static placement's cost depends on, so that the best static placement is
//! exact after one pass.
use homenode_base::{NodeId, TotalCost};
use homenode_machine::{AccessClass, Location, Machine};
use homenode_placement::{Step, Tally};

/// Classes of accesses; one costs nothing.
const CLASSES: usize = AccessClass::ALL.len();

/// Accesses per block, node and class.
#[derive(Clone, Debug)]
pub struct Usage {
    nodes: usize,
    counts: Vec<[u64; CLASSES]>,
}

impl Usage {
    /// No accesses of any block, on a machine with as many nodes as this one.
    pub fn new(machine: &Machine) -> Usage {
        Usage { nodes: machine.nodes(), counts: Vec::new() }
    }
    /// Counts these accesses.
    pub fn add(&mut self, steps: &[Step], blocks: usize) {
        self.counts.resize(blocks * self.nodes, [0; CLASSES]);
        for step in steps.iter().filter(|s| s.access.class != AccessClass::Free) {
            let cell = step.slot as usize * self.nodes + step.access.node.index();
            self.counts[cell][step.access.class as usize] += u64::from(step.access.weight);
        }
    }
    /// Accesses to one block, per node.
    fn of(&self, slot: u32) -> &[[u64; CLASSES]] {
        let from = slot as usize * self.nodes;
        self.counts.get(from..from + self.nodes).unwrap_or(&[])
    }
    /// What one block costs if it lives at `home` for ever.
    pub fn cost(&self, machine: &Machine, slot: u32, home: Location) -> Tally {
        let mut tally = Tally::default();
        for (node, counts) in self.of(slot).iter().enumerate() {
            let node = NodeId(node as u16);
            let priced = AccessClass::ALL.iter().zip(counts).map(|(c, n)| machine.access(*c, node, home).times(*n));
            let cost: TotalCost = priced.sum();
            tally.served(node, home, cost);
        }
        tally
    }
    /// The cheapest home of one block and what it costs there; among equals nodes in ascending order, global last.
    pub fn best(&self, machine: &Machine, slot: u32) -> (Location, Tally) {
        let nodes = (0..self.nodes as u16).map(|n| Location::Node(NodeId(n)));
        let all = nodes.chain(machine.cost.global.map(|_| Location::Global));
        let costs = all.map(|home| (home, self.cost(machine, slot, home)));
        costs.min_by_key(|(_, tally)| tally.total()).expect("a machine has at least one node")
    }
}

/// Sum of best static costs, as one tally, with the homes.
pub(crate) fn best_static(usage: &Usage, machine: &Machine, blocks: usize) -> (Tally, Vec<Location>) {
    let mut sum = Tally::default();
    let homes = (0..blocks as u32).map(|slot| {
        let (home, tally) = usage.best(machine, slot);
        sum.add(&tally);
        home
    });
    let homes = homes.collect();
    debug_assert!(sum.movement == TotalCost::ZERO);
    (sum, homes)
}
