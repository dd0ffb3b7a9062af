//! Why there is no plan.
use homenode_machine::MapError;
use homenode_placement::assign::AssignError;
use homenode_sim::SimError;
use homenode_trace::TraceError;

/// Why there is no plan, or no price of one.
#[derive(Debug, thiserror::Error)]
pub enum PlannerError {
    /// The threads do not fit the machine.
    #[error(transparent)]
    Bindings(#[from] MapError),
    /// Pages that fit nowhere.
    #[error(transparent)]
    Full(#[from] AssignError),
    /// A page size or a machine that cannot be replayed on.
    #[error(transparent)]
    Replay(#[from] SimError),
    /// A damaged dataset.
    #[error(transparent)]
    Trace(#[from] TraceError),
}
