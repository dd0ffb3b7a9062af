//! Limits of a process: control groups of both versions, affinity, allowed nodes.
use crate::snapshot::{Snapshot, rich};
use homenode_host::topology::read;

fn allowed(s: &Snapshot) -> Vec<u32> {
    read(s.root()).unwrap().nodes.iter().filter(|n| n.allowed).map(|n| n.os_id).collect()
}

#[test]
fn the_group_and_the_process_both_limit() {
    let s = rich();
    assert_eq!(allowed(&s), [0, 1], "group 0-1,3 and process 0-2");
    assert_eq!(read(s.root()).unwrap().forbidden_cpus, [3]);
    s.remove("proc/self/status");
    assert_eq!(allowed(&s), [0, 1, 3]);
    s.write("sys/fs/cgroup/user.slice/app/cpuset.mems.effective", "3");
    assert_eq!(allowed(&s), [3], "the nearest group counts");
    s.write("proc/self/status", "Mems_allowed:\t00000000,0000000a\n");
    s.remove("sys/fs/cgroup/user.slice/app/cpuset.mems.effective");
    assert_eq!(allowed(&s), [1, 3], "the mask is read where there is no list");
}

#[test]
fn version_1_groups_are_read_and_paths_that_climb_are_not() {
    let s = rich();
    s.remove("proc/self/status");
    s.write("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:cpuset:/batch\n");
    s.write("sys/fs/cgroup/cpuset/batch/cpuset.mems", "1\n");
    assert_eq!(allowed(&s), [1]);
    s.write("sys/fs/cgroup/cpuset/batch/cpuset.effective_mems", "0\n");
    assert_eq!(allowed(&s), [0]);
    s.write("proc/self/cgroup", "4:cpuset:/../../batch\n0::/../user.slice\n");
    assert_eq!(allowed(&s), [0, 1, 3]);
}

#[test]
fn a_node_without_memory_is_never_allowed() {
    let s = rich();
    s.node(1, "2-3", 0, "20 10 30");
    let t = read(s.root()).unwrap();
    assert!(!t.nodes[1].allowed && t.nodes[1].cpus.len() == 2);
    assert!(t.machine(None).unwrap().machine.sources.iter().any(|l| l.contains("node 1 has no memory")));
}

#[test]
fn what_limits_is_named_and_only_that() {
    let t = read(rich().root()).unwrap();
    let limits: Vec<[&str; 3]> = t.limits.iter().map(|l| [&l.of[..], &l.by, &l.allowed]).collect();
    let status = |key| format!("proc/self/status, {key}");
    let (cpus, mems) = (status("Cpus_allowed"), status("Mems_allowed"));
    assert_eq!(
        limits,
        [["cpus", &cpus[..], "0-2"], ["memory nodes", &mems[..], "0-2"]],
        "the group allows all there is"
    );
    let s = rich();
    s.remove("proc/self/status");
    s.write("sys/fs/cgroup/user.slice/app/cpuset.mems.effective", "1");
    let t = read(s.root()).unwrap();
    assert_eq!((t.limits.len(), &t.limits[0].by[..]), (1, "sys/fs/cgroup/user.slice/app/cpuset.mems.effective"));
}

#[test]
fn groups_are_found_where_they_are_mounted() {
    let s = rich();
    s.remove("proc/self/status");
    s.remove("sys/fs/cgroup/user.slice/cpuset.mems.effective");
    s.write("mnt/with space/user.slice/cpuset.mems.effective", "1\n");
    assert_eq!(allowed(&s), [0, 1, 3]);
    s.write("proc/mounts", "none /mnt/with\\040space cgroup2 rw 0 0\nnone /other tmpfs rw 0 0\n");
    assert_eq!(allowed(&s), [1]);
    // The file system `cpuset`, and version 1 without prefixes: the group is named by its own file.
    s.write("proc/mounts", "cpuset /dev/cpuset cgroup rw,relatime,cpuset,noprefix 0 0\n");
    s.remove("proc/self/cgroup");
    s.write("proc/self/cpuset", "/batch\n");
    s.write("dev/cpuset/batch/mems", "3\n");
    assert_eq!(allowed(&s), [3]);
    s.write("proc/self/mounts", "none /../outside cpuset rw 0 0\n");
    assert_eq!(allowed(&s), [0, 1, 3], "the process's own list of mounts counts, and none that climbs out");
}
