//! The order of a replay, as commands are asked for it.
use homenode_trace::order::OrderKind;

/// The order in which references of different threads are replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderChoice {
    /// Virtual time constrained by synchronisation.
    Model,
    /// Time stamps; `seed` chooses among the legal merges.
    Recorded {
        /// Seed.
        seed: u64,
    },
}

impl OrderChoice {
    pub(crate) fn kind(self) -> OrderKind {
        match self {
            OrderChoice::Model => OrderKind::Model,
            OrderChoice::Recorded { seed } => OrderKind::Recorded { seed },
        }
    }
}
