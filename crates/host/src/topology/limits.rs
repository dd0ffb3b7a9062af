//! What this process may use: its control group's cpuset, its affinity, its allowed memory nodes.
use super::groups;
use super::tree::Tree;
use homenode_machine::topology::{Limit, MemoryNode, Ranges};

/// Marks nodes that may not be used; returns the online processors that may not, ascending, and the limits that leave something out.
pub(super) fn apply(tree: &mut Tree, nodes: &mut [MemoryNode]) -> (Vec<u32>, Vec<Limit>) {
    let memory = allowed(tree, "Mems_allowed", "mems");
    let cpus = allowed(tree, "Cpus_allowed", "cpus");
    for node in nodes.iter_mut() {
        node.allowed = node.memory_bytes > 0 && memory.iter().all(|(_, m)| m.contains(node.os_id));
    }
    let online: Ranges = nodes.iter().flat_map(|n| n.cpus.iter().copied()).collect();
    let usable = cpus.iter().fold(online.clone(), |left, (_, set)| left.and(set));
    let with_memory: Ranges = nodes.iter().filter(|n| n.memory_bytes > 0).map(|n| n.os_id).collect();
    let limit = |of: &str, all: &Ranges, (by, set): &(String, Ranges)| {
        let limits = !all.without(set).is_empty();
        limits.then(|| Limit { of: of.to_owned(), by: by.clone(), allowed: set.to_string() })
    };
    let of_cpus = cpus.iter().filter_map(|set| limit("cpus", &online, set));
    let of_memory = memory.iter().filter_map(|set| limit("memory nodes", &with_memory, set));
    (online.without(&usable).iter().collect(), of_cpus.chain(of_memory).collect())
}

/// Every set that limits, with what says so: the process's own and its control group's.
fn allowed(tree: &mut Tree, status_key: &str, cpuset_key: &str) -> Vec<(String, Ranges)> {
    let own = of_status(tree, status_key).map(|set| (format!("proc/self/status, {status_key}"), set));
    let group = groups::allowed(tree, cpuset_key);
    own.into_iter().chain(group).filter(|(_, set)| !set.is_empty()).collect()
}

fn of_status(tree: &mut Tree, key: &str) -> Option<Ranges> {
    let status = tree.text("proc/self/status")?;
    let value = |name: &str| status.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':').map(str::to_owned));
    let read = match (value(&format!("{key}_list")), value(key)) {
        (Some(list), _) => Ranges::parse_list(&list),
        (None, Some(mask)) => Ranges::parse_mask(&mask),
        (None, None) => return None,
    };
    read.map_err(|e| tree.notes.push(format!("proc/self/status: {key}: {e}; ignored"))).ok()
}

/// Bytes of a base page from the auxiliary vector (AT_PAGESZ = 6) of the reading process; 0 if unknown.
pub(super) fn page_bytes(tree: &Tree) -> u64 {
    let Some(vector) = tree.bytes("proc/self/auxv") else { return 0 };
    let word = |b: &[u8]| b.try_into().map(u64::from_ne_bytes).unwrap_or(0);
    let page = vector.chunks_exact(16).find(|pair| word(&pair[..8]) == 6).map_or(0, |pair| word(&pair[8..]));
    if page.is_power_of_two() && page <= 1 << 21 { page } else { 0 }
}
