//! Minimal snapshots of odd machines, written by the tests themselves.
use std::path::Path;
use tempfile::TempDir;

pub(crate) const NODES: &str = "sys/devices/system/node";

/// A folder that looks like the root of a machine.
pub(crate) struct Snapshot(pub(crate) TempDir);

impl Snapshot {
    pub(crate) fn new(files: &[(&str, &str)]) -> Snapshot {
        let snapshot = Snapshot(tempfile::tempdir().unwrap());
        files.iter().for_each(|(path, text)| snapshot.write(path, text));
        snapshot
    }
    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    pub(crate) fn remove(&self, path: &str) {
        let _ = std::fs::remove_file(self.root().join(path));
    }
    /// A node with processors, kB of memory (all but 1024 free) and distances.
    pub(crate) fn node(&self, id: u32, cpus: &str, kb: u64, distance: &str) {
        let file = |name: &str| format!("{NODES}/node{id}/{name}");
        self.write(&file("cpulist"), &format!("{cpus}\n"));
        let free = kb.saturating_sub(1024);
        self.write(&file("meminfo"), &format!("Node {id} MemTotal:  {kb} kB\nNode {id} MemFree:   {free} kB\n"));
        self.write(&file("distance"), &format!("{distance}\n"));
    }
    /// Performance of a node as its best initiator sees it.
    pub(crate) fn access(&self, class: u32, id: u32, initiator: u32, latency_ns: u32, bandwidth_mbs: u32) {
        let folder = format!("{NODES}/node{id}/access{class}/initiators");
        for (name, value) in [
            ("read_latency", latency_ns),
            ("write_latency", latency_ns + 50),
            ("read_bandwidth", bandwidth_mbs),
            ("write_bandwidth", bandwidth_mbs / 2),
        ] {
            self.write(&format!("{folder}/{name}"), &format!("{value}\n"));
        }
        self.write(&format!("{folder}/node{initiator}/cpulist"), "");
    }
    pub(crate) fn online(&self, nodes: &str, cpus: &str) {
        self.write(&format!("{NODES}/online"), &format!("{nodes}\n"));
        self.write("sys/devices/system/cpu/online", &format!("{cpus}\n"));
    }
}

/// Every odd thing at once, for the random corruption.
pub(crate) fn rich() -> Snapshot {
    let s = Snapshot::new(&[
        ("proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU\nflags\t\t: fpu hypervisor\n"),
        ("proc/meminfo", "MemTotal:  4096000 kB\nMemFree: 1024000 kB\n"),
        ("proc/self/status", "Mems_allowed:\t00000000,00000007\nMems_allowed_list:\t0-2\nCpus_allowed_list:\t0-2\n"),
        ("proc/self/cgroup", "0::/user.slice/app\n"),
        ("sys/fs/cgroup/user.slice/cpuset.mems.effective", "0-1,3\n"),
        ("sys/devices/virtual/memory_tiering/memory_tier4/nodelist", "0-1\n"),
        ("sys/devices/virtual/memory_tiering/memory_tier18/nodelist", "3\n"),
        ("sys/devices/system/node/possible", "0-3\n"),
        ("sys/devices/system/node/node0/memory_side_cache/index1/size", "1048576\n"),
        ("sys/class/dmi/id/sys_vendor", "QEMU\n"),
        ("sys/devices/system/cpu/cpu1/online", "1\n"),
        ("proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n"),
    ]);
    s.online("0-1,3", "0-3");
    s.node(0, "0-1", 2_000_000, "10 20 40");
    s.node(1, "2-3", 2_000_000, "20 10 30");
    s.node(3, "", 4_000_000, "40 30 10");
    s.access(1, 0, 0, 90, 20_000);
    s.access(1, 3, 1, 250, 8_000);
    for (i, kind, level, size, sharers) in
        [(0, "Data", 1, "48K", "0"), (2, "Unified", 2, "2048K", "0"), (3, "Unified", 3, "30M", "0-1")]
    {
        let folder = format!("sys/devices/system/cpu/cpu0/cache/index{i}");
        s.write(&format!("{folder}/type"), kind);
        s.write(&format!("{folder}/level"), &format!("{level}"));
        s.write(&format!("{folder}/size"), size);
        s.write(&format!("{folder}/ways_of_associativity"), "12");
        s.write(&format!("{folder}/coherency_line_size"), "64");
        s.write(&format!("{folder}/shared_cpu_list"), sharers);
    }
    s.write("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0");
    s
}
