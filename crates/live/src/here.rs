//! The machine of a live run.
use homenode_command::{Failure, machine};
use homenode_machine::{Machine, Topology};

/// Costs and the real thing, with the same node numbers.
pub(crate) struct Here {
    pub(crate) machine: Machine,
    pub(crate) topology: Topology,
}

impl Here {
    pub(crate) fn read() -> Result<Here, Failure> {
        let topology = machine::topology()?;
        let machine = machine::this()?;
        if machine.nodes() != topology.nodes.len() {
            return Err(Failure::input(format!(
                "the saved machine has {} nodes and this one has {}; run homenode topo --measure again",
                machine.nodes(),
                topology.nodes.len()
            )));
        }
        Ok(Here { machine, topology })
    }
    /// Whether there is anything to choose from.
    pub(crate) fn one_node(&self) -> bool {
        self.topology.nodes.iter().filter(|n| n.memory_bytes > 0).count() < 2
    }
}
