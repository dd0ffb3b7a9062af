//! The cheapest placement of one block, exactly (docs/design/optimum.md has conditions and proofs).
//!
//! | solver | replication | machine | time per access |
//! |---|---|---|---|
//! | [`BestStatic`] | no, one home for ever | any | O(1), O(p^2) at the end |
//! | [`PhaseStatic`] | no, one home per phase | any | O(1), O(p^2) per phase |
//! | [`Solo`] | no | any | O(p), O(p^2) with a matrix of move costs |
//! | [`SoloLinear`] | no | one remote cost | O(1) |
//! | [`Replication`] | yes | one remote cost (else: lower bound) | O(1) per read, O(p) per write |
//! | [`ReplicationLinear`] | yes | one remote cost, no global memory | O(1), amortised |
//!
//! Each solver holds the costs, and a state per block: feed the block's accesses in order, then finish. The state does
//! not grow with the accesses ([`Replication`] on machines with R < G excepted, see there). The `place` functions
//! work on a whole trace and return the placement itself.
use crate::access::Access;

mod bounds;
mod costs;
mod fixed_home;
mod linear;
mod phases;
mod rebuild;
mod replication;
mod replication_linear;
mod run;
mod solo;
mod value;
mod windows;

pub use bounds::{BlockBounds, Bounded, Bounds};
pub use fixed_home::{BestStatic, HomeUse};
pub use linear::{LinearState, SoloLinear};
pub use phases::{PhaseState, PhaseStatic};
pub use replication::{Replication, ReplicationState};
pub use replication_linear::{ReplicationLinear, ReplicationLinearState};
pub use solo::{Solo, SoloState};
pub use value::Solved;

/// Where a block is before its first access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// The first set of locations is free, however many (Bolosky 1993, equation 4.2).
    #[default]
    FreeSet,
    /// One free location of choice; adding others at the first access is charged (Bolosky 1993, figure 4.3).
    FreeSingle,
}

/// A dynamic program over the accesses of one block.
pub trait Solver: Send + Sync {
    /// State of one block.
    type State: Clone + Send;
    /// State before the first access.
    fn begin(&self) -> Self::State;
    /// The next access. Panics if the node does not exist on the machine.
    fn push(&self, state: &mut Self::State, access: &Access);
    /// The optimum of what was pushed so far.
    fn finish(&self, state: &Self::State) -> Solved;
    /// The optimum of a whole trace.
    fn solve(&self, trace: &[Access]) -> Solved {
        let mut state = self.begin();
        trace.iter().for_each(|a| self.push(&mut state, a));
        self.finish(&state)
    }
}
