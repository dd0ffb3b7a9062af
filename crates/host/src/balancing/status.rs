//! Whether there are hinting faults to sample.
use super::knobs::{BALANCING, NORMAL};
use crate::probe::{Host, ThisHost, hinting_faults};
use std::path::Path;

/// What the machine has of what hinting faults need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    missing: Option<String>,
    happen: bool,
    several: bool,
}

impl Status {
    /// Reads the files below `root` (`/`, or a copy of its files elsewhere).
    pub fn read(root: &Path) -> Status {
        let host = ThisHost::with_files_below(root);
        let topology = match crate::topology::read(root) {
            Ok(topology) => topology,
            Err(e) => return Status { missing: Some(e.to_string()), happen: false, several: false },
        };
        let missing = hinting_faults(&host, &topology).err();
        let balancing: Option<u64> = host.text(BALANCING).and_then(|t| t.parse().ok());
        let several = topology.nodes.iter().filter(|n| n.memory_bytes > 0).count() > 1;
        Status { missing, happen: several && balancing.is_some_and(|b| b & NORMAL != 0), several }
    }
    /// As [`Status::read`] of this machine.
    pub fn here() -> Status {
        Status::read(Path::new("/"))
    }
    /// Whether hinting faults happen at all: two nodes and balancing switched on.
    pub fn faults_happen(&self) -> bool {
        self.happen
    }
    /// Whether the machine has several memory nodes.
    pub fn several_nodes(&self) -> bool {
        self.several
    }
    /// What is missing for sampling by hinting faults and what to do, on one line; `None` if nothing is.
    pub fn missing_in_words(&self) -> Option<String> {
        self.missing.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn machine(nodes: u32, balancing: &str) -> Status {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for n in 0..nodes {
            let node = format!("sys/devices/system/node/node{n}");
            put(&format!("{node}/meminfo"), &format!("Node {n} MemTotal: 1048576 kB\nNode {n} MemFree: 524288 kB\n"));
            put(&format!("{node}/cpulist"), &format!("{n}\n"));
            put(&format!("{node}/distance"), &vec!["10"; nodes as usize].join(" "));
        }
        put("sys/devices/system/cpu/online", &format!("0-{}\n", nodes - 1));
        put("proc/sys/kernel/numa_balancing", balancing);
        put("proc/sys/kernel/perf_event_paranoid", "2");
        Status::read(dir.path())
    }

    #[test]
    fn faults_happen_on_several_nodes_with_balancing_for_placement() {
        for (nodes, balancing, happen) in
            [(2, "1", true), (4, "3", true), (2, "0", false), (2, "2", false), (1, "1", false), (2, "garbage", false)]
        {
            let status = machine(nodes, balancing);
            assert_eq!(status.several_nodes(), nodes > 1);
            assert_eq!(status.faults_happen(), happen, "{nodes} {balancing}: {status:?}");
            // Whether perf_event_open is granted where this test runs is another question.
            assert!(happen || nodes > 1 || status.missing_in_words().is_some_and(|m| m.contains("two memory nodes")));
        }
    }
}
