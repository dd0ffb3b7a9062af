//! The kernel's own balancing: what it does, and what that means for ours.
use homenode_migrate::process::{Balancing, vmstat};
use homenode_trace::SampleUnit;
use std::collections::BTreeMap;

/// What the kernel does by itself, in one sentence for the report, and what follows for this run.
pub(crate) fn explain(state: Balancing, evidence: SampleUnit) -> Vec<String> {
    let faults = evidence == SampleUnit::Window;
    let mut notes = Vec::new();
    match state {
        Balancing::Absent => notes.push("the kernel has no NUMA balancing of its own".to_owned()),
        Balancing::Off => notes.push(
            "the kernel's NUMA balancing is off: nobody else moves pages, and nothing keeps threads that are not pinned with \
             their memory, so pages may follow them to and fro (--tune-kernel, as root, switches it on for the time of the run)"
                .to_owned(),
        ),
        Balancing::On(mode) => {
            if mode & 1 != 0 {
                notes.push(
                    "the kernel's NUMA balancing is on: it moves pages too, after two faults in a row from one node, and \
                     threads; a page that it takes back after our move is left alone for a while"
                        .to_owned(),
                );
            }
            if mode & 2 != 0 {
                notes.push(
                    "the kernel's tiering is on (numa_balancing=2): it promotes hot pages from slow nodes itself"
                        .to_owned(),
                );
            }
        }
    }
    if faults && !matches!(state, Balancing::On(_)) {
        notes.push(
            "without NUMA balancing the kernel makes no hinting faults, so only first touches are seen: sysctl \
             kernel.numa_balancing=1 (root) gives evidence of later use"
                .to_owned(),
        );
    }
    notes
}

/// Local share of the samples from which on nothing is worth saying about the rest.
const HOME: f64 = 0.95;

/// Who did the work, if it was not the loop alone; `local` is the share of the last samples that were.
pub(crate) fn who_moved(ours: u64, kernels: u64, local: Option<f64>) -> Option<String> {
    match (ours, kernels) {
        (_, 0) => None,
        (0, n) if local.is_some_and(|l| l >= HOME) => Some(format!(
            "the kernel's own balancing moved {n} pages of the machine meanwhile and left nothing worth moving; Homenode moved \
             none"
        )),
        (0, n) => Some(format!("Homenode moved no page, the kernel's own balancing {n} of the whole machine")),
        (ours, n) => Some(format!("Homenode moved {ours} pages, the kernel's own balancing {n} of the whole machine")),
    }
}

/// What the kernel's balancing did so far, over the whole machine.
pub(crate) fn moves_so_far() -> u64 {
    vmstat(&["numa_pages_migrated"]).values().sum()
}

/// Bytes of a process tree on each operating-system node; empty when it is gone.
pub(crate) fn bytes_on_nodes(pid: u32) -> BTreeMap<u32, u64> {
    let mut sums = BTreeMap::new();
    for pid in homenode_migrate::process::tree(pid) {
        for (node, bytes) in homenode_migrate::process::bytes_on_nodes(pid).unwrap_or_default() {
            *sums.entry(node).or_insert(0) += bytes;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_is_explained_and_missing_evidence_is_said() {
        let all = [Balancing::Absent, Balancing::Off, Balancing::On(1), Balancing::On(2), Balancing::On(3)];
        for state in all {
            let said = explain(state, SampleUnit::Window).join(" ");
            assert_eq!(said.contains("hinting faults"), !matches!(state, Balancing::On(_)), "{state:?}: {said}");
            assert!(!explain(state, SampleUnit::Miss).is_empty());
        }
        assert_eq!(who_moved(5, 0, None), None);
        assert!(who_moved(0, 7, Some(0.99)).is_some_and(|w| w.contains("moved 7") && w.contains("moved none")));
        assert!(
            who_moved(0, 7, Some(0.3)).is_some_and(|w| w.contains("moved no page") && !w.contains("nothing worth"))
        );
        assert!(who_moved(5, 7, None).is_some_and(|w| w.contains("moved 5") && w.contains("balancing 7")));
        assert_eq!(explain(Balancing::On(3), SampleUnit::Miss).len(), 2);
    }
}
