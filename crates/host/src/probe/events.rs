//! Performance events: what units there are and whether this user may use them.
use super::host::{CAP_PERFMON, CAP_SYS_ADMIN, ENOSYS, capable, filtered, name};
use super::{Attempt, Check, Host, State};

const UNITS: &str = "sys/bus/event_source/devices";
const PARANOID: &str = "proc/sys/kernel/perf_event_paranoid";

pub(super) fn checks(host: &dyn Host) -> Vec<Check> {
    vec![unit(host), permission(host)]
}

/// Units that record the address of a load or store.
fn unit(host: &dyn Host) -> Check {
    let what = "hardware sampling of addresses";
    let has = |path: &str| host.exists(&format!("{UNITS}/{path}"));
    let intel = ["cpu", "cpu_core", "cpu_atom"].into_iter().find(|u| has(&format!("{u}/events/mem-loads")));
    if let Some(unit) = intel {
        let leader = if has(&format!("{unit}/events/mem-loads-aux")) { ", with an auxiliary event" } else { "" };
        let stores = if has(&format!("{unit}/events/mem-stores")) { "loads and stores" } else { "loads only" };
        return Check::new(what, State::Yes, format!("Intel PEBS load latency ({unit}): {stores}{leader}"), "");
    }
    if has("ibs_op") {
        let filter = has("ibs_op/format/swfilt");
        let user = if filter { "" } else { ", root only: the kernel cannot filter by privilege (no swfilt)" };
        let todo = if filter { "" } else { "Linux 6.14 or later lets unprivileged users sample with IBS" };
        let state = if filter || capable(host, CAP_PERFMON) { State::Yes } else { State::Limited };
        return Check::new(what, state, format!("AMD IBS op{user}"), todo);
    }
    if has("arm_spe_0") {
        let why = "ARM SPE, which is imported from perf.data and not recorded";
        let todo = "`perf record -e arm_spe_0// -- PROGRAM`, then `homenode import perf.data`";
        return Check::new(what, State::Limited, why, todo);
    }
    let why = match has("cpu") || has("armv8_pmuv3_0") {
        true => "the processor counts events but none of its events carries an address",
        false => "no hardware performance unit: virtual machines usually have none",
    };
    let todo = "`run` and `migrate` sample by the processor clock instead; to record use `--backend faults` (two nodes) or \
                `--backend hooks`";
    Check::new(what, State::No, why, todo)
}

fn permission(host: &dyn Host) -> Check {
    let what = "performance events permitted";
    let level: Option<i32> = host.text(PARANOID).and_then(|t| t.parse().ok());
    if let Err((why, todo)) = granted(host, level) {
        return Check::new(what, State::No, why, todo);
    }
    let all = capable(host, CAP_PERFMON) || capable(host, CAP_SYS_ADMIN);
    match level {
        Some(l) if l >= 2 && !all => Check::new(
            what,
            State::Limited,
            format!("kernel.perf_event_paranoid = {l}: own programs, user level only, no whole-machine events"),
            "nothing, unless other users' programs are to be watched: `sudo sysctl kernel.perf_event_paranoid=1`",
        ),
        l => {
            let level = l.map_or_else(|| "unreadable".to_owned(), |l| l.to_string());
            let by = if all { ", CAP_PERFMON in effect" } else { "" };
            Check::new(what, State::Yes, format!("kernel.perf_event_paranoid = {level}{by}"), "")
        }
    }
}

fn granted(host: &dyn Host, level: Option<i32>) -> Result<(), (String, String)> {
    let Err(errno) = host.attempt(Attempt::FaultEvent) else { return Ok(()) };
    let strict = level.is_some_and(|l| l >= 3) && !capable(host, CAP_PERFMON) && !capable(host, CAP_SYS_ADMIN);
    let said = format!("perf_event_open: {}", name(errno));
    Err(match level {
        None if errno == ENOSYS && !filtered(host) => (
            format!("{said}, the kernel is built without performance events"),
            "a kernel with CONFIG_PERF_EVENTS".to_owned(),
        ),
        Some(l) if strict && errno != ENOSYS => (
            format!("{said}: kernel.perf_event_paranoid = {l} (Debian's 3 and Ubuntu's 4 forbid all events to users)"),
            "`sudo sysctl kernel.perf_event_paranoid=2`, or `sudo setcap cap_perfmon+ep` on the program".to_owned(),
        ),
        _ if filtered(host) => (
            format!("{said}, refused by this container's filter of system calls (seccomp)"),
            "start the container with --cap-add PERFMON and a seccomp profile that allows perf_event_open, or with \
             --security-opt seccomp=unconfined"
                .to_owned(),
        ),
        _ => (said, "ask the administrator which security module refuses it".to_owned()),
    })
}

/// Whether software events of own programs may be opened, or in one line why not and what to do.
///
/// # Errors
/// The line.
pub fn perf_permission(host: &dyn Host) -> Result<(), String> {
    let level = host.text(PARANOID).and_then(|t| t.parse().ok());
    granted(host, level).map_err(|(why, todo)| format!("{why}; {todo}"))
}
