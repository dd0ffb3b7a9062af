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
