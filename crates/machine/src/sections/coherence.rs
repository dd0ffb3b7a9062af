//! What page coherence by software and multicast hardware costs.
use super::Section;
use crate::limits::{MachineError, WORD_COST_MAX, reject, validate_cost};
use crate::shape::Shape;
use homenode_base::Cost;
use serde::{Deserialize, Serialize};

/// Prices of a machine whose pages are kept coherent by protocols (Markatos and Chronaki, table 1). Every page has a master
/// copy, equally far from all processors; a processor references it remotely, or makes a copy of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coherence {
    /// A reference to the own copy.
    pub local: Cost,
    /// A word read from the master copy; not less than [`local`](Coherence::local).
    pub remote_read: Cost,
    /// A word sent to the master copy or to another holder, for which the writer does not wait.
    pub remote_write: Cost,
    /// Latency of the network there and back, paid once a copy. A copy of one word, with its fault, costs no less than [`local`](Coherence::local).
    pub round_trip: Cost,
    /// Each word of a page that is copied.
    pub word: Cost,
    /// A page fault, without the transfer of data.
    pub fault: Cost,
}

impl Section for Coherence {
    fn validate(&self, _: &Shape) -> Result<(), MachineError> {
        let costs = [
            ("local", self.local),
            ("remote_read", self.remote_read),
            ("remote_write", self.remote_write),
            ("round_trip", self.round_trip),
            ("fault", self.fault),
        ];
        costs.iter().try_for_each(|(key, cost)| validate_cost(&format!("coherence.{key}"), *cost))?;
        if !(0..=WORD_COST_MAX).contains(&self.word.0) {
            return Err(reject("coherence.word", self.word.0, format!("0 to {WORD_COST_MAX}")));
        }
        if self.remote_read < self.local {
            let allowed = format!("at least coherence.local, {}", self.local.0);
            return Err(reject("coherence.remote_read", self.remote_read.0, allowed));
        }
        let copy = self.round_trip + self.word + self.fault;
        if copy < self.local {
            let allowed = format!("with word and fault at least coherence.local, {}", self.local.0);
            return Err(reject("coherence.round_trip", self.round_trip.0, allowed));
        }
        Ok(())
    }
}
