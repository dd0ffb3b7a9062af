//! What a real machine consists of, as an operating system describes it. Pure data: reading it is the capture crate's work.
//!
//! Node numbers of the operating system may have gaps (0, 1, 2, 33 ...); everywhere else in the project a node is its
//! index in [`Topology::nodes`], ascending by operating-system number.
//!
//! Reading order: [`Topology`], `locality` (what memory without processors is near to), [`ranges`] (lists and masks as the kernel
//! writes them), `hwloc` (XML of hwloc).
mod hwloc;
mod locality;
pub mod ranges;

use crate::sections::CacheGeometry;
use homenode_base::NodeId;
pub use hwloc::HwlocError;
pub use locality::{Locality, NearBy};
pub use ranges::{Ranges, RangesError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The memory nodes and processors of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Topology {
    /// Online memory nodes, ascending by [`MemoryNode::os_id`]; index = [`NodeId`].
    pub nodes: Vec<MemoryNode>,
    /// Distances as the firmware gives them (ACPI SLIT, local = 10; not nanoseconds), row = from; empty if unknown.
    pub distances: Vec<Vec<u16>>,
    /// Online processors that the limits of this process (affinity, cpuset) keep it from, ascending.
    #[serde(default)]
    pub forbidden_cpus: Vec<u32>,
    /// Processors that are described but do not run, ascending; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offline_cpus: Vec<u32>,
    /// What keeps this process from processors or nodes; absent if nothing does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<Limit>,
    /// Caches of a processor and of a node, if known.
    #[serde(default)]
    pub caches: Option<CpuCaches>,
    /// Bytes of a base page; 0 if unknown.
    #[serde(default)]
    pub page_bytes: u64,
    /// The hypervisor, or the emulator, that this machine runs under, in words.
    #[serde(default)]
    pub virtual_machine: Option<String>,
    /// What was odd and how it was repaired, in sentences.
    pub notes: Vec<String>,
}

/// A limit of this process that leaves out something that is online.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// What is limited: `cpus` or `memory nodes`.
    pub of: String,
    /// File below the root that says so, with its line where it has several.
    pub by: String,
    /// What is allowed, as the kernel writes lists: `0-3,8`.
    pub allowed: String,
}

/// Data caches, as far as the machine model uses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuCaches {
    /// Bytes of a line.
    pub line_bytes: u32,
    /// Largest cache that one core has for itself.
    pub private: CacheGeometry,
    /// All last-level caches of one node together.
    pub shared: CacheGeometry,
}

/// One memory node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryNode {
    /// Number that the operating system uses.
    pub os_id: u32,
    /// Online processors of the node, ascending; empty for memory-only nodes (CXL, HBM, NVM).
    pub cpus: Vec<u32>,
    /// Bytes of memory; 0 for a node that has processors only.
    pub memory_bytes: u64,
    /// Bytes free when the machine was read; 0 if unknown.
    pub free_bytes: u64,
    /// Bytes of a memory-side cache before this memory; 0 if there is none.
    pub memory_side_cache_bytes: u64,
    /// Memory tier of Linux (lower = faster), if the kernel has tiers.
    pub tier: Option<u32>,
    /// What the firmware says of access from the nearest processors (ACPI HMAT), if anything.
    pub best_access: Option<Access>,
    /// Whether the limits of this process (cgroup, cpuset) allow memory here; false where there is no memory.
    pub allowed: bool,
}

/// Performance of memory as seen by its best initiators.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Access {
    /// Operating-system numbers of the nodes whose processors these figures hold for.
    pub initiators: Vec<u32>,
    /// Load latency in nanoseconds; 0 = unknown.
    pub read_latency_ns: u32,
    /// Store latency in nanoseconds; 0 = unknown.
    pub write_latency_ns: u32,
    /// Read bandwidth in MB/s; 0 = unknown.
    pub read_bandwidth_mbs: u32,
    /// Write bandwidth in MB/s; 0 = unknown.
    pub write_bandwidth_mbs: u32,
}

impl Topology {
    /// The node with this operating-system number.
    pub fn node_of_os(&self, os_id: u32) -> Option<NodeId> {
        let i = self.nodes.iter().position(|n| n.os_id == os_id)?;
        u16::try_from(i).ok().map(NodeId)
    }
    /// The node of a processor.
    pub fn node_of_cpu(&self, cpu: u32) -> Option<NodeId> {
        let i = self.nodes.iter().position(|n| n.cpus.contains(&cpu))?;
        u16::try_from(i).ok().map(NodeId)
    }
    /// Processors of a node that this process may run on, ascending; empty if there is no such node.
    pub fn usable_cpus(&self, node: NodeId) -> Vec<u32> {
        let cpus = self.nodes.get(node.index()).map_or(&[][..], |n| &n.cpus);
        cpus.iter().copied().filter(|c| self.forbidden_cpus.binary_search(c).is_err()).collect()
    }
    /// The operating-system number of a node; `None` if there is no such node.
    pub fn os_id(&self, node: NodeId) -> Option<u32> {
        self.nodes.get(node.index()).map(|n| n.os_id)
    }
}
