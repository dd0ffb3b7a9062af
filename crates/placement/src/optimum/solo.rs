//! Without replication: one location at a time (Bolosky 1993, section 4.1, figure 4.1, corrected and generalised).
use super::costs::{limit, node};
use super::value::{Base, Value};
use super::{Solved, Solver};
use crate::access::Access;
use crate::placement::{LocationSet, Placement, location};
use homenode_base::{Cost, NodeId};
use homenode_machine::{AccessClass, Machine, Matrix};

/// The exact optimum without replication on any machine: the best sequence of single locations.
#[derive(Clone, Debug)]
pub struct Solo {
    nodes: usize,
    locations: usize,
    moves: Moves,
    /// By `(class * nodes + node) * locations + home`: cost beyond that of the cheapest home.
    excess: Vec<i64>,
    /// By `class * nodes + node`: cost at the cheapest home.
    least: Vec<Cost>,
    limit: i64,
}

/// Costs of moving the block.
#[derive(Clone, Debug)]
enum Moves {
    /// R between nodes, G from and to global memory.
    Uniform { copy: i64, copy_global: Option<i64> },
    /// By `from * nodes + to`, no global memory.
    Matrix(Vec<i64>),
}

/// State of [`Solo`]: cheapest cost of ending at each location.
#[derive(Clone, Debug)]
pub struct SoloState {
    at: Vec<Value>,
    base: Base,
}

impl Solo {
    /// For blocks of `block_bytes` (at least 1).
    pub fn new(machine: &Machine, block_bytes: u64) -> Solo {
        let copy = if machine.nodes() > 1 { machine.copy_cost(block_bytes, node(0), node(1)).0 } else { 0 };
        let global = homenode_machine::Location::Global;
        let copy_global = machine.cost.global.map(|_| machine.copy_cost(block_bytes, global, node(0)).0);
        let dearest = copy.max(copy_global.unwrap_or(0));
        Solo::build(machine, Moves::Uniform { copy, copy_global }, dearest)
    }

    /// For a machine without global memory on which moving from row to column costs `moves`. `None` if the matrix has
    /// not one row per node, or the machine has global memory.
    pub fn with_moves(machine: &Machine, moves: &Matrix) -> Option<Solo> {
        let n = machine.nodes();
        if moves.nodes() != n || machine.cost.global.is_some() {
            return None;
        }
        let pair = |i: usize| moves.at(NodeId((i / n) as u16), NodeId((i % n) as u16)).0;
        let cells: Vec<i64> = (0..n * n).map(|i| if i / n == i % n { 0 } else { pair(i) }).collect();
        let dearest = cells.iter().copied().max().unwrap_or(0);
        Some(Solo::build(machine, Moves::Matrix(cells), dearest))
    }

    fn build(machine: &Machine, moves: Moves, dearest: i64) -> Solo {
        let nodes = machine.nodes();
        let locations = nodes + usize::from(machine.cost.global.is_some());
        let limit = limit(nodes, dearest);
        let mut solo = Solo { nodes, locations, moves, excess: Vec::new(), least: Vec::new(), limit };
        for class in AccessClass::ALL {
            for q in 0..nodes {
                let cost = |home| machine.access(class, NodeId(q as u16), location(home, nodes));
                let least = (0..locations).map(cost).min().unwrap_or(Cost::ZERO);
                let beyond = |c: Cost| if c >= Cost::INFINITE { limit } else { (c.0 - least.0).min(limit) };
                solo.excess.extend((0..locations).map(|home| beyond(cost(home))));
                solo.least.push(least);
            }
        }
        solo
    }

    fn advance(&self, state: &mut SoloState, a: &Access, record: impl FnMut(usize, usize)) {
        let row = a.class as usize * self.nodes + a.node.index();
        state.base.charge(self.least[row].times(u64::from(a.weight)));
        match &self.moves {
            Moves::Uniform { copy, copy_global } => step(&mut state.at, self.nodes, *copy, *copy_global, record),
            Moves::Matrix(cells) => step_matrix(&mut state.at, cells, record),
        }
        let weight = i64::from(a.weight);
        let excess = &self.excess[row * self.locations..][..self.locations];
        for (value, &beyond) in state.at.iter_mut().zip(excess) {
            value.cost += if a.weight == 1 { beyond } else { beyond.saturating_mul(weight).min(self.limit) };
        }
        state.base.settle(&mut state.at);
    }

    /// The optimum with the placement that reaches it. Memory: two bytes per access and location.
    pub fn place(&self, trace: &[Access]) -> (Solved, Placement) {
        let mut state = self.begin();
        let mut origin = vec![0u16; trace.len() * self.locations];
        for (t, a) in trace.iter().enumerate() {
            self.advance(&mut state, a, |to, from| origin[t * self.locations + to] = from as u16);
        }
        let mut at = (0..self.locations).min_by_key(|l| state.at[*l]).unwrap_or(0);
        let mut sets = vec![LocationSet::default(); trace.len()];
        for t in (0..trace.len()).rev() {
            sets[t].insert(location(at, self.nodes));
            at = usize::from(origin[t * self.locations + at]);
        }
        (self.finish(&state), Placement { sets, ..Placement::default() })
    }
}

impl Solver for Solo {
    type State = SoloState;
    fn begin(&self) -> SoloState {
        SoloState { at: vec![Value::ZERO; self.locations], base: Base::default() }
    }
    #[inline]
    fn push(&self, state: &mut SoloState, access: &Access) {
        self.advance(state, access, |_, _| {});
    }
    fn finish(&self, state: &SoloState) -> Solved {
        state.base.plus(state.at.iter().copied().min().unwrap_or(Value::ZERO))
    }
}

/// One transition of the only copy: `at` becomes the cheapest cost of arriving at each location. `record(to, from)`.
///
/// The cheapest source among the nodes serves all: where it is the target itself, staying is cheaper anyway. The move
/// into global memory has its own source, which the printed figure 4.1 lacks; without it R > 2G goes wrong.
#[inline]
pub(super) fn step(
    at: &mut [Value],
    nodes: usize,
    copy: i64,
    copy_global: Option<i64>,
    mut record: impl FnMut(usize, usize),
) {
    let source = (0..nodes).min_by_key(|i| at[*i]).expect("a machine has a node");
    let (mut from, mut arrive) = (source, at[source] + Value::shift(copy));
    if let Some(g) = copy_global {
        let (into, out) = (at[source] + Value::shift(g), at[nodes] + Value::shift(g));
        if out < arrive {
            (from, arrive) = (nodes, out);
        }
        record(nodes, if into < at[nodes] { source } else { nodes });
        at[nodes] = at[nodes].min(into);
    }
    for (to, value) in at[..nodes].iter_mut().enumerate() {
        record(to, if arrive < *value { from } else { to });
        *value = (*value).min(arrive);
    }
}

fn step_matrix(at: &mut [Value], cells: &[i64], mut record: impl FnMut(usize, usize)) {
    let n = at.len();
    let old = at.to_vec();
    for (to, value) in at.iter_mut().enumerate() {
        let arrive =
            |from: usize| old[from] + if from == to { Value::ZERO } else { Value::shift(cells[from * n + to]) };
        let from = (0..n).min_by_key(|from| (arrive(*from), *from != to)).expect("a machine has a node");
        record(to, from);
        *value = arrive(from);
    }
}
