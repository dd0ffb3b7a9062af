//! Ways to see references through page faults.
use super::host::{CAP_SYS_ADMIN, capable, name, refusal};
use super::{Attempt, Check, Host, State, perf_permission};
use homenode_machine::Topology;

const BALANCING: &str = "proc/sys/kernel/numa_balancing";
/// The scan settings; below debugfs, so for root.
const SCAN: &str = "sys/kernel/debug/sched/numa_balancing/scan_size_mb";
const DAMON: &str = "sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds";

pub(super) fn checks(host: &dyn Host, t: &Topology) -> Vec<Check> {
    vec![hinting(host, t), autonuma(host, t), damon(host), userfaultfd(host), dispatch(host)]
}

/// Whether the kernel's NUMA-hinting faults can be watched here, or in one line why not and what to do.
///
/// # Errors
/// The line.
pub fn hinting_faults(host: &dyn Host, t: &Topology) -> Result<(), String> {
    match hinting(host, t) {
        Check { state: State::No, why, todo, .. } if todo.is_empty() => Err(why),
        Check { state: State::No, why, todo, .. } => Err(format!("{why}; {todo}")),
        _ => Ok(()),
    }
}

fn hinting(host: &dyn Host, t: &Topology) -> Check {
    let what = "NUMA-hinting faults (--backend faults)";
    let no = |why: &str, todo: &str| Check::new(what, State::No, why, todo);
    if t.nodes.iter().filter(|n| n.memory_bytes > 0).count() < 2 {
        let todo = "on one node programs can be sampled by protection, under the preloaded library only";
        return no("the kernel makes them on machines with two memory nodes or more; here is one", todo);
    }
    let Some(value) = host.text(BALANCING) else {
        return no("the kernel is built without them", "a kernel with CONFIG_NUMA_BALANCING");
    };
    if let Err(line) = perf_permission(host) {
        let (why, todo) = line.split_once("; ").unwrap_or((&line, ""));
        return no(why, todo);
    }
    // Bit 0 is for placement; bit 1 promotes pages of slow tiers and makes faults on those only.
    let on = value.parse().is_ok_and(|v: u64| v & 1 != 0);
    let found = format!("kernel.numa_balancing = {value}");
    match (on, host.writable(BALANCING)) {
        (true, _) => Check::new(what, State::Yes, found, ""),
        (false, true) if host.exists(SCAN) => {
            Check::new(what, State::Yes, format!("{found}: `--tune-kernel` switches it on while recording"), "")
        }
        (false, true) => no(
            &format!("{found}, and the kernel's scan settings are not there to be bounded"),
            "`mount -t debugfs none /sys/kernel/debug`, or `sysctl kernel.numa_balancing=1`",
        ),
        (false, false) => {
            no(&format!("{found} and this user may not change it"), "`sudo sysctl kernel.numa_balancing=1`")
        }
    }
}

fn autonuma(host: &dyn Host, t: &Topology) -> Check {
    let what = "automatic balancing by the kernel";
    let many = t.nodes.iter().filter(|n| n.memory_bytes > 0).count() > 1;
    match host.text(BALANCING).as_deref() {
        Some("0") | None => {
            Check::new(what, State::No, "off: pages stay where they are unless somebody moves them", "")
        }
        Some(_) if !many => Check::new(what, State::No, "on, but there is nowhere to move pages on one node", ""),
        Some("2") => {
            Check::new(what, State::Yes, "kernel.numa_balancing = 2: hot pages of slow tiers are promoted", "")
        }
        Some(v) => Check::new(
            what,
            State::Yes,
            format!("kernel.numa_balancing = {v}: the kernel moves pages and threads too"),
            "`homenode run --compare autonuma,homenode` shows both; `sudo sysctl kernel.numa_balancing=0` leaves the field to Homenode",
        ),
    }
}

fn damon(host: &dyn Host) -> Check {
    let what = "DAMON (cheap first pass over memory)";
    if !host.exists(DAMON) {
        return Check::new(
            what,
            State::No,
            "the kernel has no sysfs interface of DAMON",
            "a kernel with CONFIG_DAMON_SYSFS",
        );
    }
    match host.writable(DAMON) {
        true => Check::new(
            what,
            State::Yes,
            "its sysfs interface may be written: `record --backend faults --tune-kernel` says how much memory is in use, too",
            "",
        ),
        false => Check::new(what, State::No, "its sysfs interface is for root", "run as root to use it"),
    }
}

fn userfaultfd(host: &dyn Host) -> Check {
    let what = "userfaultfd";
    match host.attempt(Attempt::Userfaultfd) {
        Ok(()) => Check::new(what, State::Yes, "user-level faults may be handled", ""),
        Err(errno) => {
            let (why, todo) = refusal(host, "userfaultfd", errno, "CONFIG_USERFAULTFD");
            let root = if capable(host, CAP_SYS_ADMIN) { "" } else { "; or vm.unprivileged_userfaultfd=1" };
            Check::new(what, State::No, why, if todo.is_empty() { String::new() } else { format!("{todo}{root}") })
        }
    }
}

fn dispatch(host: &dyn Host) -> Check {
    let what = "Syscall User Dispatch (sampling by protection)";
    match host.attempt(Attempt::UserDispatch) {
        Ok(()) => Check::new(what, State::Yes, "system calls can be seen before the kernel reads protected memory", ""),
        Err(errno) => Check::new(
            what,
            State::No,
            format!("prctl: {}", name(errno)),
            "Linux 5.11 or later on x86-64; elsewhere only the wrapped calls of the C library are seen",
        ),
    }
}
