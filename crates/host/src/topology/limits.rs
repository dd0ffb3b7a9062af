//! What this process may use: cpusets of control groups (version 1 and 2), its affinity, its allowed memory nodes.
use super::tree::Tree;
use homenode_machine::topology::{MemoryNode, Ranges};

/// Marks nodes that may not be used; returns the online processors that may not, ascending.
pub(super) fn apply(tree: &mut Tree, nodes: &mut [MemoryNode]) -> Vec<u32> {
    let memory = allowed(tree, "Mems_allowed", "mems");
    let cpus = allowed(tree, "Cpus_allowed", "cpus");
    for node in nodes.iter_mut() {
        node.allowed = node.memory_bytes > 0 && memory.iter().all(|m| m.contains(node.os_id));
    }
    let online = nodes.iter().flat_map(|n| n.cpus.iter().copied());
    let mut forbidden: Vec<u32> = online.filter(|c| !cpus.iter().all(|set| set.contains(*c))).collect();
    forbidden.sort_unstable();
    forbidden
}

/// Every set that limits: the process's own and its control group's.
fn allowed(tree: &mut Tree, status_key: &str, cpuset_key: &str) -> Vec<Ranges> {
    let own = of_status(tree, status_key);
    let group = of_group(tree, cpuset_key);
    own.into_iter().chain(group).filter(|set| !set.is_empty()).collect()
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

fn of_group(tree: &mut Tree, key: &str) -> Option<Ranges> {
    let groups = tree.text("proc/self/cgroup")?;
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else { continue };
        let path = path.trim_matches('/');
        // A path that climbs out names a group outside this name space: nothing can be read there.
        if path.split('/').any(|part| part == "..") {
            continue;
        }
        let set = match controllers {
            "" => nearest(tree, "sys/fs/cgroup", path, &[format!("cpuset.{key}.effective")]),
            c if c.split(',').any(|c| c == "cpuset") => {
                let files = [format!("cpuset.effective_{key}"), format!("cpuset.{key}")];
                nearest(tree, "sys/fs/cgroup/cpuset", path, &files)
            }
            _ => None,
        };
        if set.is_some() {
            return set;
        }
    }
    None
}

/// The file of the group, or of the nearest one above it that has it.
fn nearest(tree: &mut Tree, mount: &str, path: &str, files: &[String]) -> Option<Ranges> {
    let mut parts: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
    loop {
        let folder = std::iter::once(mount).chain(parts.iter().copied()).collect::<Vec<_>>().join("/");
        for file in files {
            if let Some(set) = tree.list(&format!("{folder}/{file}")).filter(|s| !s.is_empty()) {
                return Some(set);
            }
        }
        parts.pop()?;
    }
}

/// Bytes of a base page from the auxiliary vector (AT_PAGESZ = 6) of the reading process; 0 if unknown.
pub(super) fn page_bytes(tree: &Tree) -> u64 {
    let Some(vector) = tree.bytes("proc/self/auxv") else { return 0 };
    let word = |b: &[u8]| b.try_into().map(u64::from_ne_bytes).unwrap_or(0);
    let page = vector.chunks_exact(16).find(|pair| word(&pair[..8]) == 6).map_or(0, |pair| word(&pair[8..]));
    if page.is_power_of_two() && page <= 1 << 21 { page } else { 0 }
}
