//! Without replication in constant time per access (an idea that Bolosky 1993, section 4.2, credits to Dietz;
//! reconstructed).
use super::costs::Costs;
use super::value::{Base, Value};
use super::{Solved, Solver};
use crate::access::Access;
use homenode_base::Cost;
use homenode_machine::Machine;

/// The exact optimum without replication on machines with one remote cost.
///
/// Some cheapest placement never moves the block to a node that is not making the access: such a move can wait for
/// that node's next access. So at each access all other nodes just pay the remote cost, which one shared offset holds.
#[derive(Clone, Debug)]
pub struct SoloLinear {
    costs: Costs,
}

/// State of [`SoloLinear`]. Values are relative to what the base holds.
#[derive(Clone, Debug)]
pub struct LinearState {
    at: Vec<Value>,
    global: Option<Value>,
    /// Least of `at`.
    best: Value,
    base: Base,
}

/// As large as offsets may grow before they are brought back.
const LARGE: i64 = 1 << 58;

impl SoloLinear {
    /// For blocks of `block_bytes` (at least 1); `None` if the machine has more than one remote cost.
    pub fn new(machine: &Machine, block_bytes: u64) -> Option<SoloLinear> {
        let costs = Costs::new(machine, block_bytes);
        costs.exact.then_some(SoloLinear { costs })
    }

    #[cold]
    fn rebase(&self, state: &mut LinearState) {
        let (best, copy) = (state.best, Value::shift(self.costs.copy));
        // Whoever is dearer than a move from the best may as well have made that move.
        state.at.iter_mut().for_each(|v| *v = (*v).min(best + copy) - best);
        if let (Some(g), Some(cost)) = (&mut state.global, self.costs.copy_global) {
            *g = (*g).min(best + Value::shift(cost)) - best;
        }
        state.best = Value::ZERO;
        state.base.absorb(best);
    }
}

impl Solver for SoloLinear {
    type State = LinearState;
    fn begin(&self) -> LinearState {
        let at = vec![Value::ZERO; self.costs.nodes];
        LinearState {
            at,
            global: self.costs.copy_global.map(|_| Value::ZERO),
            best: Value::ZERO,
            base: Base::default(),
        }
    }
    #[inline]
    fn push(&self, state: &mut LinearState, access: &Access) {
        let excess = self.costs.excess(access);
        let far = Value::access(excess.far);
        state.base.charge(self.costs.near(access) + Cost(excess.far).into());
        let mut here = state.at[access.node.index()].min(state.best + Value::shift(self.costs.copy));
        if let (Some(global), Some(cost)) = (&mut state.global, self.costs.copy_global) {
            let movement = Value::shift(cost);
            here = here.min(*global + movement);
            *global = (*global).min(state.best + movement) + Value::access(excess.global) - far;
        }
        let here = here - far;
        state.at[access.node.index()] = here;
        state.best = state.best.min(here);
        if state.best.cost < -LARGE {
            self.rebase(state);
        }
    }
    fn finish(&self, state: &LinearState) -> Solved {
        state.base.plus(state.global.map_or(state.best, |g| g.min(state.best)))
    }
}
