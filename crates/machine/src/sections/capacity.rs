//! How much each node's memory holds.
use super::Section;
use crate::limits::{MachineError, reject};
use crate::shape::Shape;
use serde::{Deserialize, Serialize};

/// Bytes of each node's memory, at least a page. Machines with a table `[tiers]` say it there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Capacity(pub Vec<u64>);

impl Section for Capacity {
    fn validate(&self, shape: &Shape) -> Result<(), MachineError> {
        validate("capacity", &self.0, shape, "capacity")
    }
}

/// Whether nodes may hold so much; `key` is what the error calls it, `section` what asks for an expander.
pub(super) fn validate(key: &str, bytes: &[u64], shape: &Shape, section: &str) -> Result<(), MachineError> {
    let (nodes, given) = (shape.cores.len(), bytes.len());
    if given != nodes {
        let allowed = format!("one per node, of which there are {nodes}");
        return Err(reject(key, format!("{given} capacities"), allowed));
    }
    if let Some((node, bytes)) = bytes.iter().enumerate().find(|(_, b)| **b < shape.page_bytes) {
        let allowed = format!("node {node} holds at least one page of page_bytes, {}", shape.page_bytes);
        return Err(reject(key, bytes, allowed));
    }
    if shape.cores.iter().all(|c| *c > 0) {
        let allowed = format!("at least one node without processors, the expander, on a machine with {section}");
        return Err(reject("cores", format!("{:?}", shape.cores), allowed));
    }
    Ok(())
}
