//! Nodes, memory, limits, virtual machines.
use super::{Check, State};
use homenode_machine::Topology;
use homenode_machine::topology::Ranges;

pub(super) fn checks(t: &Topology) -> Vec<Check> {
    let mut checks = vec![nodes(t), slow_memory(t), limits(t), latencies(t)];
    let firmware = t.notes.iter().map(|n| Check::new("firmware tables", State::Limited, n.as_str(), ""));
    checks.extend(firmware);
    checks
}

fn nodes(t: &Topology) -> Check {
    let gib = |b: u64| format!("{:.1}", b as f64 / f64::from(1 << 30));
    let list: Vec<String> = t
        .nodes
        .iter()
        .map(|n| format!("node {}: {} cpus, {} GiB", n.os_id, n.cpus.len(), gib(n.memory_bytes)))
        .collect();
    let with_memory = t.nodes.iter().filter(|n| n.memory_bytes > 0).count();
    let why = list.join("; ");
    if with_memory > 1 {
        return Check::new("memory nodes", State::Yes, why, "");
    }
    let todo = "recording and reports work for any machine (`--machine`); placing pages needs a second node";
    Check::new("memory nodes", State::No, format!("{why}: there is nothing to place on one node"), todo)
}

fn slow_memory(t: &Topology) -> Check {
    let slow = t.nodes.iter().filter(|n| n.cpus.is_empty() && n.memory_bytes > 0);
    let ids: Vec<String> = slow.map(|n| n.os_id.to_string()).collect();
    let mut tiers: Vec<u32> = t.nodes.iter().filter_map(|n| n.tier).collect();
    tiers.sort_unstable();
    tiers.dedup();
    let kernel = match tiers.len() {
        0 => "the kernel names no memory tiers".to_owned(),
        n => format!("{n} memory tier{}", if n == 1 { "" } else { "s" }),
    };
    match ids.len() {
        0 => Check::new("memory-only nodes", State::No, format!("none (CXL, HBM, NVM); {kernel}"), ""),
        _ => Check::new("memory-only nodes", State::Yes, format!("nodes {}; {kernel}", ids.join(", ")), ""),
    }
}

fn limits(t: &Topology) -> Check {
    let nodes: Ranges = t.nodes.iter().filter(|n| !n.allowed && n.memory_bytes > 0).map(|n| n.os_id).collect();
    let cpus: Ranges = t.forbidden_cpus.iter().copied().collect();
    if nodes.is_empty() && cpus.is_empty() {
        return Check::new(
            "all nodes and processors allowed",
            State::Yes,
            "no cpuset or affinity limits this process",
            "",
        );
    }
    let mut parts = Vec::new();
    parts.extend((!nodes.is_empty()).then(|| format!("memory of nodes {nodes}")));
    parts.extend((!cpus.is_empty()).then(|| format!("cpus {cpus}")));
    let why = format!("cpuset or affinity forbids {}", parts.join(" and "));
    let todo = "widen cpuset.mems and cpuset.cpus of the control group (docker: --cpuset-mems, --cpuset-cpus)";
    Check::new("all nodes and processors allowed", State::Limited, why, todo)
}

fn latencies(t: &Topology) -> Check {
    let what = "latencies worth measuring";
    match &t.virtual_machine {
        None => Check::new(what, State::Yes, "no hypervisor", "`homenode topo --measure`"),
        Some(vm) => Check::new(
            what,
            State::Limited,
            format!("runs under {vm}: the host decides where memory really is; under emulation latencies mean nothing"),
            "measure on the host, and give the file with --machine",
        ),
    }
}
