//! What a miss costs where its latency is not waited for as a whole.
use super::Section;
use crate::costs::Distances;
use crate::limits::MachineError;
use crate::shape::Shape;
use serde::{Deserialize, Serialize};

/// Costs of a line for loads and stores that do not wait for the one before. Without them each miss is charged the latency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Misses {
    /// A line that a hardware prefetcher has on its way: what it takes of the bandwidth that one core can have.
    pub streamed: Distances,
    /// A miss beside others of the same thread that do not depend on each other: latency over how many a core has at a time.
    pub overlapped: Distances,
}

impl Section for Misses {
    fn validate(&self, shape: &Shape) -> Result<(), MachineError> {
        let nodes = shape.cores.len();
        self.streamed.validate("misses.streamed", nodes)?;
        self.overlapped.validate("misses.overlapped", nodes)
    }
}
