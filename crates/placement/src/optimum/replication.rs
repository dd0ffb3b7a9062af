//! With replication: the exact optimum (Bolosky 1993, section 4.2, figures 4.2 and 4.3, corrected and generalised).
use super::costs::Costs;
use super::run::{self, Choice, Plan, Run};
use super::value::{Base, Value};
use super::{Solved, Solver, Start, rebuild, solo, windows};
use crate::access::{Access, AccessKind};
use crate::placement::Placement;
use homenode_machine::Machine;

/// The optimum with replication: exact where the machine has one remote cost, else a lower bound
/// ([`is_exact`](Replication::is_exact)).
///
/// On machines with global memory and R < G the state keeps the reads since the last write, folded so that it grows
/// with the times that the reading node changes; otherwise the state has a fixed size.
#[derive(Clone, Debug)]
pub struct Replication {
    pub(super) costs: Costs,
    start: Start,
}

/// State of [`Replication`]: cheapest cost of ending the last write at each location, and the reads since.
#[derive(Clone, Debug)]
pub struct ReplicationState {
    at: Vec<Value>,
    run: Run,
    first: bool,
    base: Base,
}

impl Replication {
    /// For blocks of `block_bytes` (at least 1).
    pub fn new(machine: &Machine, block_bytes: u64, start: Start) -> Replication {
        Replication { costs: Costs::new(machine, block_bytes), start }
    }

    /// Whether the result is the optimum, and not only a lower bound for it.
    pub fn is_exact(&self) -> bool {
        self.costs.exact
    }

    fn needs_windows(&self) -> bool {
        self.costs.copy_global.is_some_and(|g| self.costs.copy < g)
    }

    /// Whether the pending reads are those before a block's first write and free.
    fn free_run(&self, state: &ReplicationState) -> bool {
        state.first && state.run.len > 0 && self.start == Start::FreeSet
    }

    fn write(&self, state: &mut ReplicationState, a: &Access, mut record: impl FnMut(usize, Choice)) {
        let costs = &self.costs;
        if self.free_run(state) {
            state.at.fill(Value::ZERO);
            (0..state.at.len()).for_each(|end| record(end, Choice { start: end as u16, plan: Plan::Free }));
        } else if state.run.len == 0 {
            solo::step(&mut state.at, costs.nodes, costs.copy, costs.copy_global, |to, from| {
                record(to, Choice { start: from as u16, plan: Plan::Direct });
            });
        } else if self.needs_windows() {
            windows::close(costs, &mut state.at, &state.run, record);
        } else {
            run::close(costs, &mut state.at, &state.run, record);
        }
        self.charge_write(state, a);
        state.run.clear();
        state.first = false;
        state.base.settle(&mut state.at);
    }

    #[inline]
    fn charge_write(&self, state: &mut ReplicationState, a: &Access) {
        let excess = self.costs.excess(a);
        let (nodes, global) = state.at.split_at_mut(self.costs.nodes);
        for (j, value) in nodes.iter_mut().enumerate() {
            value.cost += if j == a.node.index() { 0 } else { excess.far };
        }
        if let Some(value) = global.first_mut() {
            value.cost += excess.global;
        }
    }

    /// The end of the trace: its cost, and how the last run was placed (or at which location the last write was).
    fn tail(&self, state: &ReplicationState) -> (Value, Choice) {
        if self.free_run(state) {
            return (Value::ZERO, Choice { start: 0, plan: Plan::Free });
        }
        if state.run.len == 0 {
            let end = (0..state.at.len()).min_by_key(|l| state.at[*l]).expect("a machine has a location");
            return (state.at[end], Choice { start: end as u16, plan: Plan::Direct });
        }
        match self.needs_windows() {
            true => windows::tail(&self.costs, &state.at, &state.run),
            false => run::tail(&self.costs, &state.at, &state.run),
        }
    }

    /// The optimum with the placement that reaches it. Memory: twelve bytes per write and location. On a machine
    /// with several remote costs the placement is a cheapest one under the least of them.
    pub fn place(&self, trace: &[Access]) -> (Solved, Placement) {
        let mut state = self.begin();
        let locations = self.costs.locations();
        let mut choices: Vec<Choice> = Vec::new();
        for a in trace {
            match a.kind {
                AccessKind::Read => self.push_read(&mut state, a, Keep::All),
                AccessKind::Write => {
                    let row = choices.len();
                    choices.resize(row + locations, Choice::default());
                    self.write(&mut state, a, |end, choice| choices[row + end] = choice);
                    state.base.charge(self.costs.near(a));
                }
            }
        }
        let (_, last) = self.tail(&state);
        let placement = rebuild::placement(&self.costs, self.start, trace, &choices, last);
        (self.finish(&state), placement)
    }

    #[inline]
    fn push_read(&self, state: &mut ReplicationState, a: &Access, keep: Keep) {
        state.base.charge(self.costs.near(a));
        let (node, excess) = (a.node.index(), self.costs.excess(a));
        match (self.needs_windows(), keep) {
            (false, _) => state.run.add(node, excess),
            (true, Keep::Folded) => state.run.add_kept(node, excess),
            (true, Keep::All) => {
                state.run.add(node, excess);
                state.run.reads.push(run::Read { node: node as u16, excess });
            }
        }
    }
}

/// Which reads of a run to keep where they are needed.
#[derive(Clone, Copy)]
enum Keep {
    All,
    Folded,
}

impl Solver for Replication {
    type State = ReplicationState;
    fn begin(&self) -> ReplicationState {
        let at = vec![Value::ZERO; self.costs.locations()];
        ReplicationState { at, run: Run::new(&self.costs), first: true, base: Base::default() }
    }
    #[inline]
    fn push(&self, state: &mut ReplicationState, access: &Access) {
        match access.kind {
            AccessKind::Read => self.push_read(state, access, Keep::Folded),
            AccessKind::Write => {
                state.base.charge(self.costs.near(access));
                self.write(state, access, |_, _| {});
            }
        }
    }
    fn finish(&self, state: &ReplicationState) -> Solved {
        state.base.plus(self.tail(state).0)
    }
}
