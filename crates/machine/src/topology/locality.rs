//! Which processors the memory of a node without processors is near to.
use super::{MemoryNode, Topology};
use schemars::JsonSchema;
use serde::Serialize;

/// What says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NearBy {
    /// The firmware, or hwloc, names the nodes whose processors are the best initiators of accesses (ACPI HMAT).
    Initiators,
    /// The least distance of a node with processors.
    Distance,
    /// Nothing: all nodes with processors are named.
    Nothing,
}

/// Nearest processors of memory that has none of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Locality {
    /// Operating-system number of the node without processors.
    pub node: u32,
    /// Operating-system numbers of the nodes with processors that are nearest, ascending.
    pub nearest: Vec<u32>,
    /// What says so.
    pub by: NearBy,
}

impl Topology {
    /// Where memory without processors belongs, for each such node. Named initiators count before distances, which some firmware
    /// leaves alike for all nodes; initiators that have no processors here (offline, or devices) do not count.
    pub fn localities(&self) -> Vec<Locality> {
        let without = self.nodes.iter().enumerate().filter(|(_, n)| n.cpus.is_empty() && n.memory_bytes > 0);
        without.map(|(j, node)| self.locality(j, node)).collect()
    }

    fn locality(&self, j: usize, node: &MemoryNode) -> Locality {
        let of = |nearest, by| Locality { node: node.os_id, nearest, by };
        let with_cpus = || self.nodes.iter().enumerate().filter(|(_, n)| !n.cpus.is_empty());
        let named = node.best_access.as_ref().map_or(&[][..], |a| &a.initiators);
        let initiators: Vec<u32> = with_cpus().map(|(_, n)| n.os_id).filter(|id| named.contains(id)).collect();
        if !initiators.is_empty() {
            return of(initiators, NearBy::Initiators);
        }
        let distance = |q: usize| self.distances.get(q).and_then(|row| row.get(j)).copied();
        let Some(least) = with_cpus().filter_map(|(q, _)| distance(q)).min() else {
            return of(with_cpus().map(|(_, n)| n.os_id).collect(), NearBy::Nothing);
        };
        of(with_cpus().filter(|(q, _)| distance(*q) == Some(least)).map(|(_, n)| n.os_id).collect(), NearBy::Distance)
    }
}
