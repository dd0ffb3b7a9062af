//! A folder with the files of a machine, in memory.
use std::fs;
use std::path::Path;

/// Files that are read of a machine. The first is what the first byte 0 of an entry names.
pub const FILES: &[&str] = &[
    "sys/devices/system/node/online",
    "sys/devices/system/node/possible",
    "sys/devices/system/node/has_memory",
    "sys/devices/system/node/node0/cpulist",
    "sys/devices/system/node/node0/cpumap",
    "sys/devices/system/node/node0/distance",
    "sys/devices/system/node/node0/meminfo",
    "sys/devices/system/node/node0/access0/initiators/read_latency",
    "sys/devices/system/node/node0/access0/initiators/read_bandwidth",
    "sys/devices/system/node/node1/cpulist",
    "sys/devices/system/node/node1/distance",
    "sys/devices/system/node/node1/meminfo",
    "sys/devices/system/node/node4294967295/meminfo",
    "sys/devices/virtual/memory_tiering/memory_tier4/nodelist",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/cpu0/cache/index0/size",
    "sys/devices/system/cpu/cpu0/cache/index0/type",
    "sys/devices/system/cpu/cpu0/cache/index0/level",
    "sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size",
    "sys/devices/system/cpu/cpu0/cache/index0/ways_of_associativity",
    "sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list",
    "sys/devices/system/cpu/cpu0/topology/core_cpus_list",
    "sys/class/dmi/id/sys_vendor",
    "sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
    "proc/meminfo",
    "proc/cpuinfo",
    "proc/self/status",
    "proc/self/cgroup",
    "proc/vmstat",
    "proc/sys/kernel/numa_balancing",
    "sys/kernel/debug/sched/numa_balancing/scan_delay_ms",
    "sys/kernel/debug/sched/numa_balancing/scan_period_min_ms",
    "sys/kernel/debug/sched/numa_balancing/scan_period_max_ms",
    "sys/kernel/debug/sched/numa_balancing/scan_size_mb",
    "run/homenode/numa-balancing.saved",
    "run/homenode/damon.owner",
    "sys/fs/cgroup/cpuset.cpus.effective",
    "sys/fs/cgroup/cpuset.mems.effective",
    "sys/bus/event_source/devices/cpu/type",
    "sys/bus/event_source/devices/cpu/cpus",
    "sys/bus/event_source/devices/cpu/events/mem-loads",
    "sys/bus/event_source/devices/cpu/format/event",
    "sys/bus/event_source/devices/cpu/format/ldlat",
    "sys/bus/event_source/devices/cpu/format/umask",
    "sys/bus/event_source/devices/cpu/caps/max_precise",
    "sys/bus/event_source/devices/ibs_op/type",
    "sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds",
    "sys/kernel/mm/damon/admin/kdamonds/0/contexts/0/schemes/0/tried_regions/0/start",
    "sys/kernel/mm/damon/admin/kdamonds/0/contexts/0/schemes/0/tried_regions/0/end",
    "sys/kernel/mm/damon/admin/kdamonds/0/contexts/0/schemes/0/tried_regions/0/nr_accesses",
    "sys/kernel/mm/damon/admin/kdamonds/0/contexts/0/schemes/0/tried_regions/0/age",
    "sys/kernel/mm/damon/admin/kdamonds/0/contexts/0/schemes/0/tried_regions/total_bytes",
];

/// Folders that the kernel makes and nobody reads a file of here.
const FOLDERS: &[&str] = &[
    "sys/kernel/mm/damon/admin/kdamonds/0/contexts/0/monitoring_attrs/intervals",
    "sys/kernel/mm/damon/admin/kdamonds/0/contexts/0/monitoring_attrs/nr_regions",
    "sys/kernel/mm/damon/admin/kdamonds/0/contexts/0/targets/0",
    "sys/kernel/mm/damon/admin/kdamonds/0/contexts/0/schemes/0/access_pattern/sz",
    "sys/kernel/mm/damon/admin/kdamonds/0/contexts/0/schemes/0/access_pattern/nr_accesses",
    "sys/kernel/mm/damon/admin/kdamonds/0/contexts/0/schemes/0/access_pattern/age",
];

/// The folder; its files are those that were last filled in.
pub struct Tree(tempfile::TempDir);

impl Default for Tree {
    fn default() -> Tree {
        Tree::new()
    }
}

impl Tree {
    /// With all folders and no file.
    pub fn new() -> Tree {
        let folder = crate::folder();
        let of_files = FILES.iter().filter_map(|f| Path::new(f).parent());
        for inner in of_files.chain(FOLDERS.iter().map(Path::new)) {
            fs::create_dir_all(folder.path().join(inner)).expect("memory takes it");
        }
        Tree(folder)
    }
    /// Its path.
    pub fn root(&self) -> &Path {
        self.0.path()
    }
    /// Fills the files: a byte that names one, a byte with its length, its contents, and so on. Files not named are not there.
    pub fn fill(&self, mut data: &[u8]) {
        for file in FILES {
            let _ = fs::remove_file(self.root().join(file));
        }
        while let [which, length, rest @ ..] = data {
            let (text, more) = rest.split_at(rest.len().min(usize::from(*length)));
            let file = FILES[usize::from(*which) % FILES.len()];
            let _ = fs::write(self.root().join(file), text);
            data = more;
        }
    }
}

/// What fills the files with these texts.
pub fn filling(texts: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (file, text) in texts {
        let which = FILES.iter().position(|f| f.ends_with(file)).expect("a file of the list");
        out.extend([which as u8, text.len() as u8]);
        out.extend_from_slice(text.as_bytes());
    }
    out
}
