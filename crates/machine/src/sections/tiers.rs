//! Two tiers of memory: DRAM beside the processors, and memory without processors behind CXL.
use super::{Section, capacity};
use crate::costs::LinearCost;
use crate::limits::{MachineError, WORD_COST_MAX, reject, validate_cost};
use crate::shape::Shape;
use serde::{Deserialize, Serialize};

/// Most accesses between two decisions.
const TICK_MAX: u64 = 1 << 40;

/// What moving pages between the tiers costs, and how often that is decided. What references cost is in the machine's matrices: nodes
/// with processors are DRAM, nodes without are the expander.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tiers {
    /// Bytes of each node's memory, at least a page.
    pub capacity_bytes: Vec<u64>,
    /// Moving a page from the expander into DRAM.
    pub promote: LinearCost,
    /// Moving a page from DRAM to the expander.
    pub demote: LinearCost,
    /// Accesses to memory, of all processors together, between two decisions.
    pub tick: u64,
}

impl Section for Tiers {
    fn validate(&self, shape: &Shape) -> Result<(), MachineError> {
        capacity::validate("tiers.capacity_bytes", &self.capacity_bytes, shape, "[tiers]")?;
        for (key, price) in [("tiers.promote", self.promote), ("tiers.demote", self.demote)] {
            validate_cost(&format!("{key}.fixed"), price.fixed)?;
            if !(0..=WORD_COST_MAX).contains(&price.per_word.0) {
                return Err(reject(&format!("{key}.per_word"), price.per_word.0, format!("0 to {WORD_COST_MAX}")));
            }
        }
        match self.tick {
            1..=TICK_MAX => Ok(()),
            tick => Err(reject("tiers.tick", tick, format!("1 to {TICK_MAX} accesses"))),
        }
    }
}
