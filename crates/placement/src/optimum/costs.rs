//! The costs of a machine in the form the solvers want: what every reference costs anyway, and what it costs beyond.
use crate::access::Access;
use homenode_base::{Cost, NodeId, TotalCost};
use homenode_machine::{AccessClass, Location, Machine};

/// What a reference costs beyond being served at home. `0 <= global <= far`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Excess {
    /// With the block on other nodes only.
    pub(crate) far: i64,
    /// With the block in global memory and not on the node; 0 without global memory.
    pub(crate) global: i64,
}

/// Costs by (class, node of the processor): near, far and global, one far cost for all other nodes.
///
/// On a machine whose distances differ the far cost is the least one, so every placement costs at least what the
/// table says and the optimum under the table is a lower bound; [`exact`](Costs::exact) says whether it is the optimum.
#[derive(Clone, Debug)]
pub(crate) struct Costs {
    /// Nodes (p).
    pub(crate) nodes: usize,
    /// Copy between nodes (R).
    pub(crate) copy: i64,
    /// Copy from or to global memory (G).
    pub(crate) copy_global: Option<i64>,
    /// Whether no cost had to be lowered to fit the table.
    pub(crate) exact: bool,
    /// By `class * nodes + node`.
    near: Vec<Cost>,
    excess: Vec<Excess>,
    limit: i64,
}

impl Costs {
    /// `block_bytes` is at least 1.
    pub(crate) fn new(machine: &Machine, block_bytes: u64) -> Costs {
        let nodes = machine.nodes();
        let copy = if nodes > 1 { machine.copy_cost(block_bytes, node(0), node(1)).0 } else { 0 };
        let copy_global = machine.cost.global.map(|_| machine.copy_cost(block_bytes, Location::Global, node(0)).0);
        let limit = limit(nodes, copy.max(copy_global.unwrap_or(0)));
        let mut costs = Costs { nodes, copy, copy_global, exact: true, near: Vec::new(), excess: Vec::new(), limit };
        for class in AccessClass::ALL {
            for q in 0..nodes {
                costs.add_row(machine, class, NodeId(q as u16));
            }
        }
        costs
    }

    fn add_row(&mut self, machine: &Machine, class: AccessClass, q: NodeId) {
        let at = |home| machine.access(class, q, home);
        let others = || (0..self.nodes).filter(|j| *j != q.index()).map(|j| at(node(j)));
        let far = others().min().unwrap_or(Cost::INFINITE);
        let global = machine.cost.global.map(|_| at(Location::Global));
        let near = at(Location::Node(q)).min(far).min(global.unwrap_or(far));
        let lowered = others().any(|c| c != far) || near != at(Location::Node(q)) || global.is_some_and(|g| g > far);
        self.exact &= !lowered;
        let beyond = |c: Cost| if c >= Cost::INFINITE { self.limit } else { (c.0 - near.0).min(self.limit) };
        let global = global.map_or(0, |g| beyond(g.min(far)));
        self.near.push(near);
        self.excess.push(Excess { far: beyond(far), global });
    }

    /// Locations: the nodes and, last, global memory if there is some.
    pub(crate) fn locations(&self) -> usize {
        self.nodes + usize::from(self.copy_global.is_some())
    }

    /// What the access costs wherever the block is.
    #[inline]
    pub(crate) fn near(&self, a: &Access) -> TotalCost {
        let near = self.near[self.row(a)];
        if a.weight == 1 { near.into() } else { near.times(u64::from(a.weight)) }
    }

    /// What it costs beyond, cut off where no cheapest placement would pay it.
    #[inline]
    pub(crate) fn excess(&self, a: &Access) -> Excess {
        let e = self.excess[self.row(a)];
        if a.weight == 1 {
            return e;
        }
        let times = |c: i64| c.saturating_mul(i64::from(a.weight)).min(self.limit);
        Excess { far: times(e.far), global: times(e.global) }
    }

    #[inline]
    fn row(&self, a: &Access) -> usize {
        a.class as usize * self.nodes + a.node.index()
    }
}

/// More than the detour that avoids paying for one reference from afar: have the block (or a copy of it) at the
/// reference for its duration. That costs at most one movement there and, for a write that replaces global memory by
/// a node, a different price for each of up to p copies added next. Capping a reference's excess here changes neither
/// the optimum nor the placements that reach it, makes "cannot be referenced from afar" a number, and keeps sums small.
pub(super) fn limit(nodes: usize, dearest_movement: i64) -> i64 {
    (nodes as i64 + 2) * dearest_movement + 1
}

/// The location of this index.
pub(super) fn node(i: usize) -> Location {
    Location::Node(NodeId(i as u16))
}
