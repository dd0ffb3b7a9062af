//! What ACPI HMAT and the kernel say of each memory: performance from the nearest processors, memory-side cache, tier.
use super::nodes::NODES;
use super::tree::Tree;
use homenode_machine::topology::{Access, MemoryNode};

const TIERS: [&str; 2] = ["sys/devices/virtual/memory_tiering", "sys/bus/memory_tiering/devices"];
/// Levels of memory-side caches looked at.
const LEVELS_MAX: usize = 16;

/// Fills in performance and memory-side cache of one node.
pub(super) fn read(tree: &mut Tree, node: &mut MemoryNode) {
    let folder = format!("{NODES}/node{}", node.os_id);
    // Class 1 is what the nearest *processors* see; class 0 includes devices that access memory, such as GPUs.
    let classes = ["access1", "access0"].map(|class| access(tree, &format!("{folder}/{class}/initiators")));
    let known = |a: &&Access| a.read_latency_ns > 0 || a.read_bandwidth_mbs > 0;
    node.best_access = classes.iter().flatten().find(known).or(classes.iter().flatten().next()).cloned();
    let levels = tree.numbered(&format!("{folder}/memory_side_cache"), "index");
    let size = |l: &u32| tree.number::<u64>(&format!("{folder}/memory_side_cache/index{l}/size"));
    node.memory_side_cache_bytes = levels.iter().take(LEVELS_MAX).filter_map(size).max().unwrap_or(0);
}

fn access(tree: &mut Tree, folder: &str) -> Option<Access> {
    if !tree.exists(folder) {
        return None;
    }
    let initiators = tree.numbered(folder, "node");
    let mut value = |name: &str| tree.number(&format!("{folder}/{name}")).unwrap_or(0);
    Some(Access {
        initiators,
        read_latency_ns: value("read_latency"),
        write_latency_ns: value("write_latency"),
        read_bandwidth_mbs: value("read_bandwidth"),
        write_bandwidth_mbs: value("write_bandwidth"),
    })
}

/// Fills in the memory tiers.
pub(super) fn tiers(tree: &mut Tree, nodes: &mut [MemoryNode]) {
    let Some(folder) = TIERS.into_iter().find(|f| tree.exists(f)) else { return };
    for tier in tree.numbered(folder, "memory_tier") {
        let Some(members) = tree.list(&format!("{folder}/memory_tier{tier}/nodelist")) else { continue };
        nodes.iter_mut().filter(|n| members.contains(n.os_id)).for_each(|n| n.tier = Some(tier));
    }
}
