//! Attaching, counting, stopping: what the runtime does when it is not, no longer, or only partly to record.
mod support;

use homenode_base::ring::*;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::Recording;
use support::build::{COMPILERS, program};

fn ends(dir: &Path) -> PathBuf {
    program(dir, "gcc", "ends.c", &["-pthread"])
}

fn run_with(program: &Path, control: &Path) -> Output {
    Command::new(program).env(CONTROL_ENV, control).output().unwrap()
}

#[test]
fn without_a_recorder_programs_run_and_are_silent() {
    let dir = tempfile::tempdir().unwrap();
    let output = Command::new(ends(dir.path())).env_remove(CONTROL_ENV).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

/// A control file that is wrong in one way; the program must run, say one line and touch nothing.
fn rejected(program: &Path, r: &Recording, control: &Path, says: &str) {
    let output = run_with(program, control);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{says}: {output:?}");
    assert!(said.starts_with("homenode hooks: ") && said.contains(says) && said.lines().count() == 1, "{says}: {said}");
    assert_eq!((r.get32(CONTROL_OFF_ATTACHED), r.get32(CONTROL_OFF_NEXT_RING)), (0, 0), "{says}");
}

#[test]
fn hostile_control_files_are_refused_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let program = ends(dir.path());
    let wrong: [(u64, u64, &str); 7] = [
        (CONTROL_OFF_MAGIC, 0, "wrong magic"),
        (CONTROL_OFF_VERSION, LAYOUT_VERSION + 1, "layout version"),
        (CONTROL_OFF_MODE, 7, "unknown mode"),
        (CONTROL_OFF_DIR, u64::from(b'x'), "rings directory"),
        (CONTROL_OFF_MEMORY, u64::from(b'x'), "directory in memory"),
        (CONTROL_OFF_RECORDER_PID, 0x7fff_fff0, "recorder is gone"),
        (CONTROL_OFF_RECORDER_PID, 0, "recorder is gone"),
    ];
    for (offset, value, says) in wrong {
        let r = Recording::new(MODE_RECORD);
        r.set32(offset, value);
        rejected(&program, &r, &r.control_path(), says);
    }
    let r = Recording::new(MODE_RECORD);
    let file = std::fs::File::options().write(true).open(r.control_path()).unwrap();
    file.write_all_at(&[b'/'; 3072], CONTROL_OFF_DIR).unwrap();
    rejected(&program, &r, &r.control_path(), "rings directory");
    let r = Recording::new(MODE_RECORD);
    rejected(&program, &r, r.dir.path(), "cannot open");
    rejected(&program, &r, &r.dir.path().join("missing"), "cannot open");
    rejected(&program, &r, Path::new("/dev/null"), "not a regular file");
    std::os::unix::fs::symlink(r.control_path(), r.dir.path().join("link")).unwrap();
    rejected(&program, &r, &r.dir.path().join("link"), "cannot open");
    std::fs::write(r.dir.path().join("short"), b"HNCTRL01").unwrap();
    rejected(&program, &r, &r.dir.path().join("short"), "wrong size");
}

#[test]
fn counting_counts_what_recording_records() {
    let dir = tempfile::tempdir().unwrap();
    for compiler in COMPILERS {
        let ends = program(dir.path(), compiler, "ends.c", &["-pthread"]);
        for how in ["return", "_exit", "quick_exit", "abort", "thread", "running", "pthread_exit"] {
            let (recording, counting) = (Recording::new(MODE_RECORD), Recording::new(MODE_COUNT));
            let rings = recording.run(&ends, &[how]).1;
            let recorded: usize = rings.iter().map(|r| r.refs().len()).sum();
            let none = counting.run(&ends, &[how]).1;
            assert!(none.is_empty(), "no rings while counting");
            assert_eq!(counting.get64(CONTROL_OFF_COUNTED), recorded as u64, "{compiler} {how}");
        }
    }
}

#[test]
fn only_the_region_of_interest_is_recorded() {
    for compiler in COMPILERS {
        let r = Recording::new(MODE_RECORD);
        r.set_roi("inner");
        let phases = program(r.dir.path(), compiler, "phases.c", &["-pthread"]);
        let (output, rings) = r.run(&phases, &[]);
        let text = String::from_utf8_lossy(&output.stdout).trim().to_string();
        let cells = u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
        let of_sequence =
            |i: usize| rings[i].refs().iter().filter(|r| (cells..cells + 256).contains(&r.addr())).count();
        assert_eq!((of_sequence(0), of_sequence(1)), (200, 100), "{compiler}");
        assert_eq!(rings[0].events(EVENT_PHASE_BEGIN).len(), 2, "events are recorded everywhere");
        assert_eq!(rings[1].events(EVENT_ACQUIRE).len(), 4);
        assert_eq!(r.get64(CONTROL_OFF_DROPPED), 0, "what is outside was not asked for");
        let count = Recording::new(MODE_COUNT);
        count.set_roi("inner");
        count.run(&phases, &[]);
        let recorded: usize = rings.iter().map(|r| r.refs().len()).sum();
        assert_eq!(count.get64(CONTROL_OFF_COUNTED), recorded as u64, "{compiler}");
    }
}

#[test]
fn after_a_stop_references_are_dropped_and_counted() {
    let r = Recording::new(MODE_RECORD);
    let ends = ends(r.dir.path());
    let all = r.run(&ends, &["thread"]).1.iter().map(|r| r.refs().len() as u64).sum::<u64>();
    for reason in [STOP_LIMIT, STOP_WRITE_FAILED] {
        let r = Recording::new(MODE_RECORD);
        r.set32(CONTROL_OFF_STOP, reason);
        let (output, rings) = r.run(&ends, &["thread"]);
        assert!(output.status.success() && output.stderr.is_empty());
        assert!(rings.iter().all(|r| r.items.is_empty() && r.state == ENTRY_DONE));
        assert_eq!(r.get64(CONTROL_OFF_DROPPED), all);
    }
}

/// After which a program that should wait for its ring to be emptied is given up.
const WAIT_MAX: std::time::Duration = std::time::Duration::from_secs(50);

fn waits_for_space(r: &Recording) -> bool {
    let mut waiting = [0; 4];
    let ring = std::fs::File::open(r.dir.path().join("0.ring"));
    ring.is_ok_and(|f| f.read_exact_at(&mut waiting, RING_OFF_WAITING).is_ok()) && waiting == [1, 0, 0, 0]
}

/// Nobody empties the rings, and the recorder named in the control file dies.
#[test]
fn the_death_of_the_recorder_stops_recording_and_not_the_program() {
    let r = Recording::new(MODE_RECORD);
    let ends = ends(r.dir.path());
    let mut recorder = Command::new("sleep").arg("60").spawn().unwrap();
    r.set32(CONTROL_OFF_RECORDER_PID, recorder.id().into());
    let mut child = r.command(&ends, &["thread"]).stdout(std::process::Stdio::null()).spawn().unwrap();
    let begun = std::time::Instant::now();
    while !waits_for_space(&r) {
        assert!(child.try_wait().unwrap().is_none(), "the program cannot end while nobody empties its ring");
        if begun.elapsed() > WAIT_MAX {
            child.kill().unwrap();
            recorder.kill().unwrap();
            panic!("after {WAIT_MAX:?} the program has not filled its ring");
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    recorder.kill().unwrap(); // a zombie until we wait for it: death must be seen all the same
    assert!(child.wait().unwrap().success());
    recorder.wait().unwrap();
    assert_eq!(r.get32(CONTROL_OFF_STOP), STOP_RECORDER_GONE);
    assert!(r.get64(CONTROL_OFF_DROPPED) > 200_000);
}

#[test]
fn threads_without_a_ring_are_counted() {
    let r = Recording::new(MODE_RECORD);
    let ends = ends(r.dir.path());
    let gone = tempfile::tempdir().unwrap();
    let file = std::fs::File::options().write(true).open(r.control_path()).unwrap();
    file.write_all_at(&[0; 3072], CONTROL_OFF_DIR).unwrap();
    file.write_all_at(gone.path().join("missing").as_os_str().as_encoded_bytes(), CONTROL_OFF_DIR).unwrap();
    let output = r.command(&ends, &["thread"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    // One for what the references are, one for the threads.
    assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 2, "{output:?}");
    assert_eq!(r.get64(CONTROL_OFF_UNRINGED), 2);
    assert!(r.get64(CONTROL_OFF_DROPPED) >= 400_000);
}
