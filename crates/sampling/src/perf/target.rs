//! Whom to sample.
use std::collections::BTreeSet;
use std::fs;

/// A process tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A running process with its threads and descendants, and what they create from now on.
    Running(u32),
    /// A child of this process that waits before its exec: sampling begins with the exec.
    BeforeExec(u32),
}

impl Target {
    /// The process that the tree hangs on.
    pub fn pid(self) -> u32 {
        match self {
            Target::Running(pid) | Target::BeforeExec(pid) => pid,
        }
    }
}

/// Threads of a process now; empty if it is gone.
pub(crate) fn threads_of(pid: u32) -> BTreeSet<u32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|e| e.file_name().to_str()?.parse().ok()).collect()
}

/// A process and its descendants now, parents first.
pub(crate) fn tree_of(pid: u32) -> Vec<u32> {
    let mut pairs = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(child) = entry.file_name().to_str().and_then(|n| n.parse::<u32>().ok()) else { continue };
        if let Some(parent) = parent_of(child) {
            pairs.push((parent, child));
        }
    }
    let mut tree = vec![pid];
    let mut next = 0;
    while let Some(&parent) = tree.get(next) {
        let children: Vec<u32> = pairs.iter().filter(|p| p.0 == parent).map(|p| p.1).collect();
        // The snapshot may be torn by a reused number; a tree has nobody twice.
        let fresh: Vec<u32> = children.into_iter().filter(|c| !tree.contains(c)).collect();
        tree.extend(fresh);
        next += 1;
    }
    tree
}

/// Fourth field of /proc/PID/stat; the second one, the name, may contain anything but ends with the last parenthesis.
fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Online processors.
pub(crate) fn online_cpus() -> Vec<u32> {
    let text = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let mut cpus = super::pmu::parse_list(&text).unwrap_or_default();
    if cpus.is_empty() {
        let count = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        cpus = (0..count).collect();
    }
    cpus
}
