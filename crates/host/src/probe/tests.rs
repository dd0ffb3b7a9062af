//! Machines made up: distributions, containers, one node.
use super::host::{EACCES, ENOSYS, EPERM};
use super::*;
use homenode_machine::topology::MemoryNode;
use std::collections::BTreeMap;

#[derive(Clone, Default)]
struct MadeUp {
    files: BTreeMap<String, String>,
    writable: Vec<String>,
    refused: BTreeMap<Attempt, i32>,
}

impl Host for MadeUp {
    fn text(&self, path: &str) -> Option<String> {
        self.files.get(path).cloned()
    }
    fn exists(&self, path: &str) -> bool {
        self.files.keys().any(|f| f == path || f.starts_with(&format!("{path}/")))
    }
    fn writable(&self, path: &str) -> bool {
        self.writable.iter().any(|w| w == path)
    }
    fn attempt(&self, what: Attempt) -> Result<(), i32> {
        self.refused.get(&what).map_or(Ok(()), |e| Err(*e))
    }
}

/// A user's machine on which all is granted: paranoid 2, balancing on, no filter.
fn user() -> MadeUp {
    let files = [
        ("proc/sys/kernel/perf_event_paranoid", "2"),
        ("proc/sys/kernel/numa_balancing", "1"),
        ("proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\nSeccomp:\t0"),
        ("proc/sys/vm/max_map_count", "65530"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never"),
        ("sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds", "0"),
        ("proc/sys/kernel/yama/ptrace_scope", "1"),
        ("sys/bus/event_source/devices/cpu/events/mem-loads", "event=0xcd,umask=0x1,ldat=3"),
        ("sys/bus/event_source/devices/cpu/events/mem-stores", "event=0xd0"),
    ];
    MadeUp { files: files.map(|(k, v)| (k.to_owned(), v.to_owned())).into(), ..MadeUp::default() }
}

fn machine(nodes: u32) -> Topology {
    let node =
        |os_id| MemoryNode { os_id, cpus: vec![os_id], memory_bytes: 1 << 30, allowed: true, ..MemoryNode::default() };
    Topology { nodes: (0..nodes).map(node).collect(), ..Topology::default() }
}

fn check(host: &MadeUp, nodes: u32, what: &str) -> Check {
    let all = checks(host, &machine(nodes));
    all.into_iter().find(|c| c.what.starts_with(what)).unwrap_or_else(|| panic!("no check {what}"))
}

fn set(host: &mut MadeUp, path: &str, text: &str) {
    host.files.insert(path.to_owned(), text.to_owned());
}

#[test]
fn a_users_machine_can_nearly_everything() {
    let host = user();
    assert!(
        checks(&host, &machine(2)).iter().all(|c| !c.why.is_empty() && !c.why.contains('\n') && !c.todo.contains('\n'))
    );
    assert_eq!(check(&host, 2, "performance events").state, State::Limited);
    let unit = check(&host, 2, "hardware sampling");
    assert!(unit.state == State::Yes && unit.why.contains("loads and stores"), "{unit:?}");
    assert_eq!(check(&host, 2, "NUMA-hinting").state, State::Yes);
    assert_eq!(hinting_faults(&host, &machine(2)), Ok(()));
    assert_eq!(check(&host, 2, "moving pages of other users").state, State::Limited);
    assert_eq!(check(&host, 2, "transparent").why, "madvise: for programs that ask");
    assert_eq!(check(&host, 2, "DAMON").state, State::No, "not writable");
}

#[test]
fn strict_distributions_are_told_the_sysctl() {
    for level in ["3", "4"] {
        let mut host = user();
        set(&mut host, "proc/sys/kernel/perf_event_paranoid", level);
        host.refused.insert(Attempt::FaultEvent, EACCES);
        let found = check(&host, 2, "performance events");
        assert_eq!(found.state, State::No);
        assert!(found.why.contains(&format!("paranoid = {level}")) && found.todo.contains("sysctl"), "{found:?}");
        let line = hinting_faults(&host, &machine(2)).unwrap_err();
        assert!(line.contains("paranoid") && line.contains("setcap"), "{line}");
        set(&mut host, "proc/self/status", "CapEff:\t0000004000000000\nSeccomp:\t0");
        host.refused.clear();
        assert_eq!(check(&host, 2, "performance events").state, State::Yes, "CAP_PERFMON");
    }
}

#[test]
fn a_containers_filter_is_told_from_the_kernel() {
    for errno in [EPERM, ENOSYS] {
        let mut host = user();
        set(&mut host, "proc/self/status", "CapEff:\t0\nSeccomp:\t2");
        for attempt in [Attempt::FaultEvent, Attempt::MovePages, Attempt::Mbind, Attempt::Userfaultfd] {
            host.refused.insert(attempt, errno);
        }
        for what in ["performance events", "placing own", "moving own", "userfaultfd"] {
            let found = check(&host, 2, what);
            assert!(found.state == State::No && found.why.contains("seccomp"), "{found:?}");
            assert!(found.todo.contains("container"), "{found:?}");
        }
        assert_eq!(check(&host, 2, "moving pages of other users").state, State::No);
    }
    let mut host = user();
    host.refused.insert(Attempt::MovePages, ENOSYS);
    assert!(check(&host, 2, "moving own").todo.contains("CONFIG_MIGRATION"), "no filter: the kernel lacks it");
    host.refused.insert(Attempt::FaultEvent, ENOSYS);
    host.files.remove("proc/sys/kernel/perf_event_paranoid");
    assert!(check(&host, 2, "performance events").todo.contains("CONFIG_PERF_EVENTS"));
}

#[test]
fn one_node_has_nothing_to_place_and_no_hinting_faults() {
    let host = user();
    let found = check(&host, 1, "memory nodes");
    assert!(found.state == State::No && found.why.contains("nothing to place"), "{found:?}");
    assert!(hinting_faults(&host, &machine(1)).unwrap_err().contains("two memory nodes"));
    assert!(check(&host, 1, "automatic balancing").why.contains("one node"));
}

#[test]
fn balancing_that_is_off_needs_root_or_a_sysctl() {
    let mut host = user();
    set(&mut host, "proc/sys/kernel/numa_balancing", "0");
    assert!(check(&host, 2, "NUMA-hinting").todo.contains("sysctl kernel.numa_balancing=1"));
    host.writable.push("proc/sys/kernel/numa_balancing".into());
    assert!(check(&host, 2, "NUMA-hinting").todo.contains("debugfs"));
    set(&mut host, "sys/kernel/debug/sched/numa_balancing/scan_size_mb", "256");
    assert_eq!(check(&host, 2, "NUMA-hinting").state, State::Yes);
    for (value, words) in [("2", "--tune-kernel"), ("3", "= 3"), ("1", "= 1")] {
        set(&mut host, "proc/sys/kernel/numa_balancing", value);
        let found = check(&host, 2, "NUMA-hinting");
        assert!(found.state == State::Yes && found.why.contains(words), "{found:?}");
    }
    host.files.remove("proc/sys/kernel/numa_balancing");
    assert!(check(&host, 2, "NUMA-hinting").todo.contains("CONFIG_NUMA_BALANCING"));
}

#[test]
fn units_are_told_apart() {
    let mut host = user();
    host.files.retain(|path, _| !path.contains("event_source"));
    let found = check(&host, 2, "hardware sampling");
    assert!(found.state == State::No && found.why.contains("no hardware performance unit"), "{found:?}");
    set(&mut host, "sys/bus/event_source/devices/ibs_op/type", "11");
    assert_eq!(check(&host, 2, "hardware sampling").state, State::Limited, "no swfilt");
    set(&mut host, "sys/bus/event_source/devices/ibs_op/format/swfilt", "config2:0");
    assert_eq!(check(&host, 2, "hardware sampling").state, State::Yes);
    host.files.retain(|path, _| !path.contains("ibs_op"));
    set(&mut host, "sys/bus/event_source/devices/arm_spe_0/type", "8");
    let found = check(&host, 2, "hardware sampling");
    assert!(
        found.state == State::Limited && found.why.contains("ARM SPE") && found.todo.contains("import"),
        "{found:?}"
    );
    set(&mut host, "sys/bus/event_source/devices/cpu_core/events/mem-loads", "");
    set(&mut host, "sys/bus/event_source/devices/cpu_core/events/mem-loads-aux", "");
    assert!(check(&host, 2, "hardware sampling").why.contains("auxiliary"));
}

#[test]
fn limits_and_slow_memory_are_named() {
    let mut t = machine(3);
    t.nodes[2].cpus.clear();
    t.nodes[2].tier = Some(20);
    t.nodes[1].allowed = false;
    t.forbidden_cpus = vec![1];
    t.virtual_machine = Some("TCGTCGTCGTCG".into());
    t.notes.push("distances are not symmetric".into());
    let all = checks(&user(), &t);
    let why = |what: &str| all.iter().find(|c| c.what.starts_with(what)).map(|c| c.why.as_str()).unwrap_or_default();
    assert_eq!(why("memory-only"), "nodes 2; 1 memory tier");
    assert_eq!(why("all nodes"), "cpuset or affinity forbids memory of nodes 1 and cpus 1");
    assert!(why("latencies").contains("mean nothing") && why("firmware").contains("symmetric"));
}

#[test]
fn this_host_answers_every_check() {
    let topology = crate::topology::read(std::path::Path::new("/")).unwrap();
    let all = checks(&ThisHost::default(), &topology);
    assert!(all.len() >= 16 && all.iter().all(|c| !c.why.is_empty()));
}
