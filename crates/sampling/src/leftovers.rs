//! What a recorder that was killed left behind in the kernel's settings.
use crate::damon::{self, Leftover};
use homenode_host::balancing;
use homenode_host::probe::{Check, State};
use std::io;
use std::path::Path;

const SCAN: &str = "the scan settings of automatic NUMA balancing";
const SWITCH: &str = "kernel.numa_balancing";
const DAMON: &str = "a DAMON monitor";

/// Puts back the scan settings and switches off the monitor of recorders that no longer run, and says what was found. Both
/// are looked at, whatever comes of the other. `root` is `/`, or a copy of its files elsewhere.
pub fn clean_up(root: &Path) -> Check {
    let (mut done, mut used, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    match balancing::restore_leftover(root) {
        Ok(None) => {}
        Ok(Some(_)) => done.push(format!("{SCAN} are put back")),
        Err(e) if e.kind() == io::ErrorKind::ResourceBusy => used.push(e.to_string()),
        Err(e) => failed.push(format!("{SCAN} cannot be put back: {e}")),
    }
    match balancing::restore_switch(root) {
        Ok(None) => {}
        Ok(Some(_)) => done.push(format!("{SWITCH} is put back")),
        Err(e) if e.kind() == io::ErrorKind::ResourceBusy => used.push(e.to_string()),
        Err(e) => failed.push(format!("{SWITCH} cannot be put back: {e}")),
    }
    match damon::stop_leftover(root) {
        Ok(Leftover::Nothing) => {}
        Ok(Leftover::Stopped) => done.push(format!("{DAMON} is switched off")),
        Ok(Leftover::Running(pid)) => used.push(format!("process {pid} uses DAMON and will switch it off")),
        Err(e) => failed.push(format!("{DAMON} cannot be switched off: {e}")),
    }
    let what = "left behind by killed recordings";
    let why = [&failed[..], &done, &used].concat().join("; ");
    match (failed.is_empty(), why.is_empty()) {
        (false, _) => Check::new(what, State::No, why, "run `homenode doctor` as root"),
        (true, true) => Check::new(what, State::Yes, "nothing", ""),
        (true, false) => Check::new(what, State::Yes, why, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hinting::{FaultSource, Kernel};
    use std::fs;

    const DEAD: u32 = 4_294_967;
    const SIZE: &str = "sys/kernel/debug/sched/numa_balancing/scan_size_mb";
    const KDAMONDS: &str = "sys/kernel/mm/damon/admin/kdamonds";

    fn put(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    fn text(root: &Path, path: &str) -> String {
        fs::read_to_string(root.join(path)).unwrap()
    }
    /// A machine on which a recording of process `pid` changed everything.
    fn machine(pid: u32) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for name in ["scan_delay_ms", "scan_period_min_ms", "scan_period_max_ms", "scan_size_mb"] {
            put(root.path(), &format!("sys/kernel/debug/sched/numa_balancing/{name}"), "8");
        }
        put(root.path(), "proc/sys/kernel/numa_balancing", "1");
        put(root.path(), "run/homenode/numa-balancing.saved", &format!("{pid} 1000 1000 60000 256 0\n"));
        put(root.path(), "run/homenode/damon.owner", &pid.to_string());
        put(root.path(), &format!("{KDAMONDS}/nr_kdamonds"), "1");
        put(root.path(), &format!("{KDAMONDS}/0/state"), "on");
        root
    }

    #[test]
    fn what_dead_recorders_changed_is_put_back_once() {
        let root = machine(DEAD);
        let at = root.path();
        let found = clean_up(at);
        assert!(found.state == State::Yes && found.why.contains("put back"), "{found:?}");
        assert!(found.why.contains("switched off"), "{found:?}");
        assert_eq!((text(at, SIZE), text(at, "proc/sys/kernel/numa_balancing")), ("256".into(), "0".into()));
        assert_eq!(text(at, &format!("{KDAMONDS}/nr_kdamonds")), "0");
        assert_eq!(clean_up(at).why, "nothing");
        assert_eq!(clean_up(tempfile::tempdir().unwrap().path()).why, "nothing");
    }

    #[test]
    fn a_running_recorder_keeps_what_it_set() {
        let root = machine(std::process::id());
        let found = clean_up(root.path());
        assert!(found.state == State::Yes && found.why.contains("will put them back"), "{found:?}");
        assert!(found.why.contains("uses DAMON"), "{found:?}");
        assert_eq!(
            (text(root.path(), SIZE), text(root.path(), &format!("{KDAMONDS}/0/state"))),
            ("8".into(), "on".into())
        );
    }

    #[test]
    fn one_failure_does_not_keep_the_other_and_says_what_to_do() {
        let root = machine(DEAD);
        fs::remove_dir_all(root.path().join("sys/kernel/debug")).unwrap();
        let found = clean_up(root.path());
        assert!(found.state == State::No && found.todo.contains("as root"), "{found:?}");
        assert!(found.why.contains("cannot be put back") && found.why.contains("switched off"), "{found:?}");
    }

    #[test]
    fn a_recording_of_faults_begins_with_it() {
        let root = machine(DEAD);
        let target = crate::perf::Target::Running(std::process::id());
        // There is no second node below this root, so sampling is refused; what was left behind is put back all the same.
        assert!(FaultSource::open_below(root.path(), target, 20, Kernel::Tuned).is_err());
        assert_eq!(text(root.path(), SIZE), "256");
    }
}
