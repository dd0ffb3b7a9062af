//! Placing and moving pages.
use super::host::{CAP_SYS_NICE, CAP_SYS_PTRACE, capable, refusal};
use super::{Attempt, Check, Host, State};

const THP: &str = "sys/kernel/mm/transparent_hugepage/enabled";
/// The kernel's default for vm.max_map_count.
const MAPS_DEFAULT: u64 = 65_530;

pub(super) fn checks(host: &dyn Host) -> Vec<Check> {
    vec![
        call(host, Attempt::Mbind, "placing own pages (mbind)", "mbind", "CONFIG_NUMA"),
        call(
            host,
            Attempt::MovePages,
            "moving own pages (move_pages)",
            "move_pages",
            "CONFIG_MIGRATION and CONFIG_NUMA",
        ),
        others(host),
        shared(host),
        huge(host),
        maps(host),
    ]
}

fn call(host: &dyn Host, attempt: Attempt, what: &'static str, name: &str, option: &str) -> Check {
    match host.attempt(attempt) {
        Ok(()) => Check::new(what, State::Yes, "tried and granted", ""),
        Err(errno) => {
            let (why, todo) = refusal(host, name, errno, option);
            Check::new(what, State::No, why, todo)
        }
    }
}

/// Moving another process's pages asks for the right to read it (PTRACE_MODE_READ), which Yama's ptrace_scope does not
/// limit: that is about attaching.
fn others(host: &dyn Host) -> Check {
    let what = "moving pages of other users' processes";
    if host.attempt(Attempt::MovePages).is_err() {
        return Check::new(what, State::No, "move_pages is refused altogether", "");
    }
    if capable(host, CAP_SYS_PTRACE) {
        return Check::new(what, State::Yes, "CAP_SYS_PTRACE in effect", "");
    }
    let scope = host.text("proc/sys/kernel/yama/ptrace_scope").unwrap_or_else(|| "absent".into());
    Check::new(
        what,
        State::Limited,
        format!(
            "own processes only, setuid ones excepted (kernel.yama.ptrace_scope = {scope} limits attaching, not this)"
        ),
        "`sudo setcap cap_sys_ptrace+ep` on the program, or run it as root",
    )
}

fn shared(host: &dyn Host) -> Check {
    let what = "moving pages shared between processes, binding other threads";
    if capable(host, CAP_SYS_NICE) {
        return Check::new(what, State::Yes, "CAP_SYS_NICE in effect", "");
    }
    let why = "without CAP_SYS_NICE pages mapped by several processes stay where they are";
    Check::new(what, State::Limited, why, "`sudo setcap cap_sys_nice+ep` on the program, or run it as root")
}

fn huge(host: &dyn Host) -> Check {
    let what = "transparent huge pages";
    let Some(text) = host.text(THP) else {
        return Check::new(what, State::No, "the kernel is built without them: every page is placed alone", "");
    };
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or(text.as_str(), |(c, _)| c);
    match chosen {
        "always" => Check::new(
            what,
            State::Yes,
            "always: 512 base pages are placed and moved as one",
            "where one huge page has users on several nodes, splitting it may pay: reports say so",
        ),
        "madvise" => Check::new(what, State::Limited, "madvise: for programs that ask", ""),
        _ => Check::new(what, State::No, "never: every page is placed alone", ""),
    }
}

fn maps(host: &dyn Host) -> Check {
    let what = "mappings a process may have";
    let limit: Option<u64> = host.text("proc/sys/vm/max_map_count").and_then(|t| t.parse().ok());
    let why = |n: u64| format!("vm.max_map_count = {n}: each run of pages with a home of its own takes one");
    match limit {
        Some(n) if n > MAPS_DEFAULT => Check::new(what, State::Yes, why(n), ""),
        Some(n) => {
            let todo =
                "plans merge neighbouring runs and stay below; for finer ones `sudo sysctl vm.max_map_count=1048576`";
            Check::new(what, State::Limited, why(n), todo)
        }
        None => Check::new(what, State::Limited, "vm.max_map_count cannot be read; 65,530 is assumed", ""),
    }
}
