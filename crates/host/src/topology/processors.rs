//! Processors that run, and those that do not.
use super::tree::{CPUS_MAX, Tree};
use homenode_machine::topology::Ranges;

const CPUS: &str = "sys/devices/system/cpu";

/// Processors by what the kernel says of them.
pub(super) struct Processors {
    /// Processors that run; `None` if nobody says.
    pub(super) online: Option<Ranges>,
    /// Processors that are described but do not run.
    pub(super) offline: Ranges,
}

/// The list of all, and each processor's own file. Where they disagree (a copy is not made in one moment) a processor has to be
/// online by both.
pub(super) fn read(tree: &mut Tree) -> Processors {
    let described: Ranges = tree.numbered(CPUS, "cpu").into_iter().filter(|&c| u64::from(c) <= CPUS_MAX).collect();
    let said: Vec<(u32, Option<String>)> =
        described.iter().map(|cpu| (cpu, tree.text(&format!("{CPUS}/cpu{cpu}/online")))).collect();
    let those = |what: fn(&str) -> bool| -> Ranges {
        said.iter().filter(|(_, text)| text.as_deref().is_some_and(what)).map(|(cpu, _)| *cpu).collect()
    };
    let (on, off, odd) = (those(|t| t == "1"), those(|t| t == "0"), those(|t| !matches!(t, "0" | "1")));
    if !odd.is_empty() {
        tree.notes.push(format!("cpus {odd}: their own files {CPUS}/cpuN/online say neither 0 nor 1; ignored"));
    }
    let Some(listed) = listed(tree) else { return Processors { online: None, offline: off } };
    for (set, how) in [
        (listed.and(&off), "offline by their own files, online by"),
        (on.without(&listed), "online by their own files, not by"),
    ] {
        if !set.is_empty() {
            tree.notes.push(format!("cpus {set} are {how} {CPUS}/online: left out"));
        }
    }
    let online = listed.without(&off);
    Processors { offline: described.without(&online), online: Some(online) }
}

/// Processors in the kernel's list, else in `cpuinfo`, which names those that run.
fn listed(tree: &mut Tree) -> Option<Ranges> {
    let listed = tree.list(&format!("{CPUS}/online")).filter(|l| !l.is_empty() && l.count() <= CPUS_MAX);
    listed.or_else(|| {
        let text = tree.text("proc/cpuinfo")?;
        let number = |l: &str| l.strip_prefix("processor")?.trim().strip_prefix(':')?.trim().parse().ok();
        let set: Ranges = text.lines().filter_map(number).filter(|&c: &u32| u64::from(c) <= CPUS_MAX).collect();
        (!set.is_empty()).then_some(set)
    })
}
