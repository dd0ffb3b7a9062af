//! Processors and memory of each node.
use super::processors::{self, Processors};
use super::tree::{CPUS_MAX, Tree};
use homenode_machine::topology::{MemoryNode, Ranges};

/// Folder of the nodes.
pub(super) const NODES: &str = "sys/devices/system/node";
/// Most nodes read; the kernel allows 1024.
const NODES_MAX: usize = 1024;

/// Nodes and the numbers by which distance files may count.
pub(super) struct NodeList {
    /// Ascending by number.
    pub(super) nodes: Vec<MemoryNode>,
    /// Nodes that are online, including those merged into others.
    pub(super) online: Vec<u32>,
    /// Nodes that could be.
    pub(super) possible: Vec<u32>,
    /// Processors that are described but do not run.
    pub(super) offline_cpus: Vec<u32>,
}

pub(super) fn read(tree: &mut Tree) -> NodeList {
    let present = tree.numbered(NODES, "node");
    let online = tree.list(&format!("{NODES}/online"));
    let possible = tree.list(&format!("{NODES}/possible")).filter(|p| p.count() <= NODES_MAX as u64);
    let mut ids: Vec<u32> =
        present.iter().copied().filter(|n| online.as_ref().is_none_or(|o| o.contains(*n))).collect();
    if ids.is_empty() {
        ids.clone_from(&present);
    }
    note_differences(tree, &present, online.as_ref());
    if ids.len() > NODES_MAX {
        tree.notes.push(format!("{} nodes: only the first {NODES_MAX} are used", ids.len()));
        ids.truncate(NODES_MAX);
    }
    let cpus = processors::read(tree);
    let mut nodes: Vec<MemoryNode> = ids.iter().map(|&id| node(tree, id, &cpus)).collect();
    if nodes.is_empty() {
        nodes = whole_machine(tree, cpus.online.as_ref());
    }
    unclaimed_cpus(tree, &mut nodes, cpus.online.as_ref());
    resolve_claims(tree, &mut nodes);
    let possible = possible.map_or_else(|| ids.clone(), |p| p.iter().collect());
    NodeList { nodes, online: ids, possible, offline_cpus: cpus.offline.iter().collect() }
}

fn note_differences(tree: &mut Tree, present: &[u32], online: Option<&Ranges>) {
    let Some(online) = online else { return };
    for &id in present.iter().filter(|id| !online.contains(**id)) {
        tree.notes.push(format!("node {id} is described but not online: left out"));
    }
    if online.count() <= NODES_MAX as u64 {
        for id in online.iter().filter(|id| !present.contains(id)) {
            tree.notes.push(format!("node {id} is online but not described: left out"));
        }
    }
}

fn node(tree: &mut Tree, id: u32, processors: &Processors) -> MemoryNode {
    let folder = format!("{NODES}/node{id}");
    let listed = tree.list(&format!("{folder}/cpulist"));
    let claimed = listed.or_else(|| tree.mask(&format!("{folder}/cpumap")));
    if claimed.is_none() {
        tree.notes.push(format!("{folder}: neither cpulist nor cpumap; taken as memory without processors"));
    }
    let claimed = claimed.unwrap_or_default();
    let mut cpus = match &processors.online {
        Some(online) => {
            let unknown = claimed.without(online).without(&processors.offline);
            if !unknown.is_empty() {
                tree.notes.push(format!("node {id} claims cpus {unknown}, which do not run: left out"));
            }
            claimed.and(online)
        }
        None => claimed.without(&processors.offline),
    };
    if cpus.count() > CPUS_MAX {
        tree.notes.push(format!("node {id} claims {} processors: ignored", cpus.count()));
        cpus = Ranges::default();
    }
    let memory = tree.text(&format!("{folder}/meminfo")).unwrap_or_default();
    let bytes = |key: &str| memory_bytes(&memory, key);
    MemoryNode {
        os_id: id,
        cpus: cpus.iter().collect(),
        memory_bytes: bytes("MemTotal:"),
        free_bytes: bytes("MemFree:"),
        allowed: true,
        ..MemoryNode::default()
    }
}

/// Bytes of a line `[Node N] KEY   123 kB`; 0 if there is none.
fn memory_bytes(text: &str, key: &str) -> u64 {
    let value = |line: &str| {
        let (_, rest) = line.split_once(key)?;
        rest.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
    };
    text.lines().find_map(value).unwrap_or(0)
}

/// A kernel without NUMA: one node with everything.
fn whole_machine(tree: &mut Tree, cpus: Option<&Ranges>) -> Vec<MemoryNode> {
    let Some(cpus) = cpus else { return Vec::new() };
    tree.notes.push("the kernel describes no memory nodes: one node with all processors and all memory".into());
    let memory = tree.text("proc/meminfo").unwrap_or_default();
    let (memory_bytes, free_bytes) = (memory_bytes(&memory, "MemTotal:"), memory_bytes(&memory, "MemFree:"));
    vec![MemoryNode { cpus: cpus.iter().collect(), memory_bytes, free_bytes, allowed: true, ..MemoryNode::default() }]
}

/// Processors that run although no online node claims them (their node is offline, or no node claims any): the first
/// node with memory has them, since they have to use some memory.
fn unclaimed_cpus(tree: &mut Tree, nodes: &mut [MemoryNode], online: Option<&Ranges>) {
    let Some(online) = online else { return };
    let claimed: Ranges = nodes.iter().flat_map(|n| n.cpus.iter().copied()).collect();
    let rest: Vec<u32> = online.iter().filter(|c| !claimed.contains(*c)).collect();
    let first = nodes.iter().position(|n| n.memory_bytes > 0).unwrap_or(0);
    let Some(node) = nodes.get_mut(first).filter(|_| !rest.is_empty()) else { return };
    let list: Ranges = rest.iter().copied().collect();
    tree.notes.push(format!("cpus {list} belong to no online node: counted to node {}", node.os_id));
    node.cpus.extend(rest);
    node.cpus.sort_unstable();
}

/// Repairs processors claimed twice. If all nodes with processors claim the same ones, the firmware invented the nodes
/// and there is one; else the lowest node that claims a processor has it.
fn resolve_claims(tree: &mut Tree, nodes: &mut Vec<MemoryNode>) {
    let claims: Vec<&[u32]> = nodes.iter().map(|n| &n.cpus[..]).filter(|c| !c.is_empty()).collect();
    let same = claims.len() > 1 && claims.iter().all(|c| *c == claims[0]);
    if same {
        let count = claims.len();
        let total = nodes.iter().filter(|n| !n.cpus.is_empty()).fold(0u64, |s, n| s.saturating_add(n.memory_bytes));
        let free = nodes.iter().filter(|n| !n.cpus.is_empty()).fold(0u64, |s, n| s.saturating_add(n.free_bytes));
        let mut kept = false;
        nodes.retain(|n| n.cpus.is_empty() || !std::mem::replace(&mut kept, true));
        if let Some(one) = nodes.iter_mut().find(|n| !n.cpus.is_empty()) {
            (one.memory_bytes, one.free_bytes) = (total, free);
            tree.notes.push(format!(
                "firmware error: {count} nodes claim the same processors; taken as one, node {}, with the memory of all",
                one.os_id
            ));
        }
        return;
    }
    let mut seen = std::collections::BTreeSet::new();
    for node in nodes {
        let before = node.cpus.len();
        node.cpus.retain(|c| seen.insert(*c));
        let lost = before - node.cpus.len();
        if lost > 0 {
            let id = node.os_id;
            tree.notes.push(format!("firmware error: {lost} processors of node {id} belong to lower nodes already"));
        }
    }
}
