//! Two tiers of memory: DRAM beside the processors, and memory without processors behind CXL.
use super::Section;
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
        let (nodes, given) = (shape.cores.len(), self.capacity_bytes.len());
        if given != nodes {
            let allowed = format!("one per node, of which there are {nodes}");
            return Err(reject("tiers.capacity_bytes", format!("{given} capacities"), allowed));
        }
        if let Some((node, bytes)) = self.capacity_bytes.iter().enumerate().find(|(_, b)| **b < shape.page_bytes) {
            let allowed = format!("node {node} holds at least one page of page_bytes, {}", shape.page_bytes);
            return Err(reject("tiers.capacity_bytes", bytes, allowed));
        }
        if shape.cores.iter().all(|c| *c > 0) {
            let allowed = "at least one node without processors, the expander, on a machine with [tiers]";
            return Err(reject("cores", format!("{:?}", shape.cores), allowed));
        }
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
