//! One home for ever: the best one.
use super::Solved;
use crate::access::Access;
use homenode_base::{NodeId, TotalCost};
use homenode_machine::{AccessClass, Location, Machine};

/// The cheapest single home of each block, exactly, on any machine.
#[derive(Clone, Copy, Debug)]
pub struct BestStatic<'m> {
    machine: &'m Machine,
}

/// Who uses a block how much: all that a block's cost under one home depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HomeUse {
    /// Accesses by `class * nodes + node`; [`AccessClass::Free`] is not counted.
    counts: Vec<u64>,
}

impl<'m> BestStatic<'m> {
    /// On this machine.
    pub fn new(machine: &'m Machine) -> BestStatic<'m> {
        BestStatic { machine }
    }
    /// No accesses yet.
    pub fn begin(&self) -> HomeUse {
        HomeUse { counts: vec![0; AccessClass::ALL.len() * self.machine.nodes()] }
    }
    /// The next access, in any order. Panics if the node does not exist on the machine.
    #[inline]
    pub fn push(&self, state: &mut HomeUse, a: &Access) {
        if a.class != AccessClass::Free {
            state.counts[a.class as usize * self.machine.nodes() + a.node.index()] += u64::from(a.weight);
        }
    }
    /// What the accesses cost with the block at this home; [`Cost::INFINITE`](homenode_base::Cost::INFINITE) times
    /// the number of accesses that cannot reach it, if there are some.
    pub fn cost_at(&self, state: &HomeUse, home: Location) -> TotalCost {
        let nodes = self.machine.nodes();
        let used = state.counts.iter().enumerate().filter(|(_, n)| **n > 0);
        used.map(|(i, n)| self.machine.access(AccessClass::ALL[i / nodes], NodeId((i % nodes) as u16), home).times(*n))
            .sum()
    }
    /// The cheapest home and its cost; among equals the lowest node, global memory last.
    pub fn finish(&self, state: &HomeUse) -> (Location, Solved) {
        let nodes = (0..self.machine.nodes()).map(|n| Location::Node(NodeId(n as u16)));
        let homes = nodes.chain(self.machine.cost.global.map(|_| Location::Global));
        let priced = homes.map(|home| (self.cost_at(state, home), home));
        let (cost, home) = priced.min_by_key(|(cost, _)| *cost).expect("a machine has a node");
        (home, Solved { cost, ..Solved::default() })
    }
}
