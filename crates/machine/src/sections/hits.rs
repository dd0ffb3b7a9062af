//! What a line costs that the last level has.
use super::Section;
use crate::limits::{MachineError, reject, validate_cost};
use crate::shape::Shape;
use homenode_base::Cost;
use serde::{Deserialize, Serialize};

/// Costs of hits beyond the private cache. Without them such hits cost nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hits {
    /// In the last level of the processor's node.
    pub shared: HitCosts,
}

/// Costs of a hit by what the processor waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HitCosts {
    /// The next one depends on it.
    pub waited: Cost,
    /// Beside others of the thread that do not depend on each other.
    pub overlapped: Cost,
    /// On its way by a prefetcher.
    pub streamed: Cost,
}

impl Section for Hits {
    fn validate(&self, _: &Shape) -> Result<(), MachineError> {
        let HitCosts { waited, overlapped, streamed } = self.shared;
        validate_cost("hits.shared.waited", waited)?;
        for (key, cost) in [("hits.shared.overlapped", overlapped), ("hits.shared.streamed", streamed)] {
            validate_cost(key, cost)?;
            if cost > waited {
                return Err(reject(key, cost.0, format!("at most hits.shared.waited, {}", waited.0)));
            }
        }
        Ok(())
    }
}
