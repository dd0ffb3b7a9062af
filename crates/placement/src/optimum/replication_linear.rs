//! With replication, without global memory, in constant amortised time per access.
use super::costs::Costs;
use super::run::{Run, forced, share};
use super::value::{Base, Value};
use super::{Solved, Solver, Start};
use crate::access::{Access, AccessKind};
use homenode_base::Cost;
use homenode_machine::Machine;

/// [`Replication`](super::Replication) for machines with one remote cost and no global memory, touching at each write
/// only the nodes that read since the last one, and the writer. All others pay the same, which one offset holds; moving
/// to them is never needed, as in [`SoloLinear`](super::SoloLinear).
#[derive(Clone, Debug)]
pub struct ReplicationLinear {
    costs: Costs,
    start: Start,
}

/// State of [`ReplicationLinear`]. Values are relative to what the base holds.
#[derive(Clone, Debug)]
pub struct ReplicationLinearState {
    at: Vec<Value>,
    /// Least of `at`.
    best: Value,
    run: Run,
    /// Nodes with an entry in `run`, once each.
    readers: Vec<u16>,
    first: bool,
    base: Base,
}

/// As large as offsets may grow before they are brought back.
const LARGE: i64 = 1 << 58;

impl ReplicationLinear {
    /// For blocks of `block_bytes` (at least 1); `None` if the machine has several remote costs or global memory.
    pub fn new(machine: &Machine, block_bytes: u64, start: Start) -> Option<ReplicationLinear> {
        let costs = Costs::new(machine, block_bytes);
        (costs.exact && costs.copy_global.is_none()).then_some(ReplicationLinear { costs, start })
    }

    /// Sum of the readers' shares (Z) and cheapest start (mu).
    fn run_costs(&self, s: &ReplicationLinearState) -> (Value, Value) {
        let mut sums = (Value::ZERO, s.best);
        for &k in &s.readers {
            let share = share(s.run.far[usize::from(k)], self.costs.copy);
            sums = (sums.0 + share, sums.1.min(s.at[usize::from(k)] - share));
        }
        sums
    }

    fn free_run(&self, s: &ReplicationLinearState) -> bool {
        s.first && s.run.len > 0 && self.start == Start::FreeSet
    }

    fn write(&self, s: &mut ReplicationLinearState, a: &Access) {
        let (writer, far) = (a.node.index(), self.costs.excess(a).far);
        s.base.charge(Cost(far).into());
        if self.free_run(s) {
            s.at[writer] = Value::access(-far);
            s.best = Value::access(-far);
        } else {
            self.close(s, writer, far);
        }
        for k in s.readers.drain(..) {
            s.run.far[usize::from(k)] = 0;
        }
        s.run.len = 0;
        s.first = false;
    }

    fn close(&self, s: &mut ReplicationLinearState, writer: usize, far: i64) {
        let copy = self.costs.copy;
        let (all, start) = self.run_costs(s);
        s.base.absorb(all);
        let end = |j: usize, s: &ReplicationLinearState| {
            let reads = s.run.far[j];
            s.at[j].min(start + forced(reads, copy)) - share(reads, copy)
        };
        let wrote = end(writer, s) - Value::access(far);
        for i in 0..s.readers.len() {
            let j = usize::from(s.readers[i]);
            s.at[j] = end(j, s);
            s.best = s.best.min(s.at[j]);
        }
        s.at[writer] = wrote;
        s.best = s.best.min(wrote);
        if s.best.cost < -LARGE {
            self.rebase(s);
        }
    }

    #[cold]
    fn rebase(&self, s: &mut ReplicationLinearState) {
        let best = s.best;
        // Whoever is dearer than a move from the best may as well have made that move.
        s.at.iter_mut().for_each(|v| *v = (*v).min(best + Value::shift(self.costs.copy)) - best);
        s.best = Value::ZERO;
        s.base.absorb(best);
    }
}

impl Solver for ReplicationLinear {
    type State = ReplicationLinearState;
    fn begin(&self) -> ReplicationLinearState {
        ReplicationLinearState {
            at: vec![Value::ZERO; self.costs.nodes],
            best: Value::ZERO,
            run: Run::new(&self.costs),
            readers: Vec::new(),
            first: true,
            base: Base::default(),
        }
    }
    #[inline]
    fn push(&self, state: &mut ReplicationLinearState, access: &Access) {
        state.base.charge(self.costs.near(access));
        if access.kind == AccessKind::Write {
            return self.write(state, access);
        }
        let (node, excess) = (access.node.index(), self.costs.excess(access));
        // A read that costs nothing from afar leaves no trace in the sums, and may be entered again.
        if state.run.far[node] == 0 && excess.far > 0 {
            state.readers.push(access.node.0);
        }
        state.run.add(node, excess);
    }
    fn finish(&self, state: &ReplicationLinearState) -> Solved {
        if self.free_run(state) {
            return state.base.plus(Value::ZERO);
        }
        let (all, start) = self.run_costs(state);
        state.base.plus(all + start)
    }
}
