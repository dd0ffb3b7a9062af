//! All bounds of one machine at once, each by the fastest solver that is exact there.
use super::{
    BestStatic, HomeUse, LinearState, Replication, ReplicationLinear, ReplicationLinearState, ReplicationState, Solo,
    SoloLinear, SoloState, Solved, Solver, Start,
};
use crate::access::Access;
use homenode_machine::{Location, Machine};

/// Best static home, optimum without and with replication.
pub struct Bounds<'m> {
    home: BestStatic<'m>,
    solo: SoloSolver,
    replication: ReplicationSolver,
    exact: bool,
    /// Whether a detour or an absence within equal accesses can pay: then they are not one.
    apart: bool,
}

enum SoloSolver {
    Linear(SoloLinear),
    General(Solo),
}

enum ReplicationSolver {
    Linear(ReplicationLinear),
    General(Box<Replication>),
}

/// State of one block.
#[derive(Clone, Debug)]
pub struct BlockBounds {
    home: HomeUse,
    solo: SoloBlock,
    replication: ReplicationBlock,
}

#[derive(Clone, Debug)]
enum SoloBlock {
    Linear(LinearState),
    General(SoloState),
}

#[derive(Clone, Debug)]
enum ReplicationBlock {
    Linear(Box<ReplicationLinearState>),
    General(Box<ReplicationState>),
}

/// What was found for one block. `best_static >= without_replication >= with_replication`, by cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounded {
    /// The cheapest home.
    pub home: Location,
    /// Cost with that home for ever; no movement.
    pub best_static: Solved,
    /// Optimum without replication, always exact.
    pub without_replication: Solved,
    /// Optimum with replication, or a lower bound for it ([`Bounds::is_exact`]).
    pub with_replication: Solved,
}

impl<'m> Bounds<'m> {
    /// For blocks of `block_bytes` (at least 1).
    pub fn new(machine: &'m Machine, block_bytes: u64, start: Start) -> Bounds<'m> {
        let solo = match SoloLinear::new(machine, block_bytes) {
            Some(linear) => SoloSolver::Linear(linear),
            None => SoloSolver::General(Solo::new(machine, block_bytes)),
        };
        let general = Replication::new(machine, block_bytes, start);
        let exact = general.is_exact();
        let replication = match ReplicationLinear::new(machine, block_bytes, start) {
            Some(linear) => ReplicationSolver::Linear(linear),
            None => ReplicationSolver::General(Box::new(general)),
        };
        Bounds { home: BestStatic::new(machine), solo, replication, exact, apart: !machine.folds(block_bytes) }
    }

    /// Whether [`Bounded::with_replication`] is the optimum, and not only a lower bound for it.
    pub fn is_exact(&self) -> bool {
        self.exact
    }

    /// The state of a block before its first access.
    pub fn begin(&self) -> BlockBounds {
        BlockBounds {
            home: self.home.begin(),
            solo: match &self.solo {
                SoloSolver::Linear(s) => SoloBlock::Linear(s.begin()),
                SoloSolver::General(s) => SoloBlock::General(s.begin()),
            },
            replication: match &self.replication {
                ReplicationSolver::Linear(s) => ReplicationBlock::Linear(Box::new(s.begin())),
                ReplicationSolver::General(s) => ReplicationBlock::General(Box::new(s.begin())),
            },
        }
    }

    /// The next access of the block, whose state must come from this object's [`begin`](Bounds::begin).
    #[inline]
    pub fn push(&self, block: &mut BlockBounds, access: &Access) {
        self.home.push(&mut block.home, access);
        match self.apart && access.weight > 1 {
            true => pieces(access).for_each(|piece| self.step(block, &piece)),
            false => self.step(block, access),
        }
    }

    #[inline]
    fn step(&self, block: &mut BlockBounds, access: &Access) {
        match (&self.solo, &mut block.solo) {
            (SoloSolver::Linear(s), SoloBlock::Linear(state)) => s.push(state, access),
            (SoloSolver::General(s), SoloBlock::General(state)) => s.push(state, access),
            _ => unreachable!("begin made the state for this solver"),
        }
        match (&self.replication, &mut block.replication) {
            (ReplicationSolver::Linear(s), ReplicationBlock::Linear(state)) => s.push(state, access),
            (ReplicationSolver::General(s), ReplicationBlock::General(state)) => s.push(state, access),
            _ => unreachable!("begin made the state for this solver"),
        }
    }

    /// The bounds of what was pushed so far.
    pub fn finish(&self, block: &BlockBounds) -> Bounded {
        let (home, best_static) = self.home.finish(&block.home);
        let without_replication = match (&self.solo, &block.solo) {
            (SoloSolver::Linear(s), SoloBlock::Linear(state)) => s.finish(state),
            (SoloSolver::General(s), SoloBlock::General(state)) => s.finish(state),
            _ => unreachable!("begin made the state for this solver"),
        };
        let with_replication = match (&self.replication, &block.replication) {
            (ReplicationSolver::Linear(s), ReplicationBlock::Linear(state)) => s.finish(state),
            (ReplicationSolver::General(s), ReplicationBlock::General(state)) => s.finish(state),
            _ => unreachable!("begin made the state for this solver"),
        };
        Bounded { home, best_static, without_replication, with_replication }
    }
}

/// Equal accesses in a row as what no cheapest placement need tell apart on any machine: the first two, the last two, and
/// all between (docs/design/optimum.md, section 8).
fn pieces(access: &Access) -> impl Iterator<Item = Access> + use<> {
    let (whole, apart) = (*access, access.weight.min(5));
    (0..apart).map(move |i| Access { weight: if i == 2 { whole.weight - (apart - 1) } else { 1 }, ..whole })
}
