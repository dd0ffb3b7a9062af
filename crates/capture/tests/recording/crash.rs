//! Kill -9 of the program, the recorder and the recovery at random moments.
use crate::actor::MARK;
use crate::cases::place;
use crate::dataset::{assert_known_prefix, assert_lock_events, assert_stamps_ordered, open, references};
use crate::producer::known;
use homenode_base::Rng;
use homenode_base::ring::*;
use homenode_capture::{CaptureError, recover};
use homenode_sys::map::SharedMap;
use homenode_sys::process;
use homenode_trace::DatasetReader;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// The cases of this file.
pub(crate) const ALL: &[crate::Case] = &[
    ("a_killed_program_is_recorded_to_its_last_reference", killed_programs),
    ("a_killed_recorder_loses_nothing_that_recover_does_not_find", killed_recorders),
    ("recover_refuses_while_the_recorder_lives", refuses),
    ("a_copy_of_a_crashed_dataset_has_no_claim_to_its_rings", copied),
    ("rings_that_a_restart_took_are_said_to_be_lost", restarted),
    ("recover_cuts_damage_and_keeps_a_copy_of_it", damage),
    ("recover_rebuilds_a_lost_manifest_from_the_events", lost_manifest),
    ("recover_leaves_finished_datasets_alone", finished),
];

const THREADS: u32 = 3;
const SIGKILL: i32 = 9;

/// Kills in the default tier, or with HOMENODE_SLOW=1.
fn rounds() -> u64 {
    if std::env::var_os("HOMENODE_SLOW").is_some_and(|v| v == "1") { 200 } else { 20 }
}

/// This test as another process that acts.
pub(crate) fn actor(words: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(MARK).args(words);
    command
}

/// A recorder of known threads, and the directory in which these count.
fn recorder(out: &Path, counts: &Path, refs: u64) -> Child {
    let (threads, refs) = (THREADS.to_string(), refs.to_string());
    let mut command = actor(&["record", out.to_str().unwrap(), "threads", &threads, &refs]);
    command.env("HN_TEST_COUNT", counts).stderr(std::process::Stdio::null()).spawn().unwrap()
}

/// Where the rings of a recording lie in memory, if they do.
fn memory_of(out: &Path) -> Option<PathBuf> {
    let leaf = fs::read_to_string(out.join("rings/memory")).ok()?;
    Some(Path::new("/dev/shm").join(leaf.trim_end()))
}

/// Process id of the recorded program, once it is there.
fn program_of(out: &Path) -> u32 {
    let start = Instant::now();
    loop {
        let control = memory_of(out).unwrap_or_else(|| out.join("rings")).join("control");
        if let Ok(map) = SharedMap::open(&control, CONTROL_BYTES, false)
            && let Some(pid) = map.load_u32(CONTROL_OFF_TABLE + ENTRY_OFF_PID).filter(|&p| p > 0)
        {
            return pid;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "the program does not start");
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// What the program had counted itself: references whose slots were published.
fn counted(counts: &Path, thread: u32) -> u64 {
    fs::read(counts.join(thread.to_string())).map_or(0, |b| b.try_into().map_or(0, u64::from_le_bytes))
}

fn assert_nothing_lost(out: &Path, counts: &Path) {
    let reader = open(out);
    for thread in 0..reader.threads() {
        let kept = assert_known_prefix(&reader, thread);
        assert!(kept >= counted(counts, thread), "thread {thread}: {kept} of {}", counted(counts, thread));
        assert_lock_events(&reader, thread);
    }
}

fn random_pause(rng: &mut Rng) {
    std::thread::sleep(Duration::from_micros(rng.below(60_000)));
}

fn killed_programs() {
    let mut rng = Rng::new(1);
    for round in 0..rounds() {
        let (dir, out) = place();
        let mut child = recorder(&out, dir.path(), 1 << 40);
        let pid = program_of(&out);
        random_pause(&mut rng);
        assert!(process::signal(pid, SIGKILL), "round {round}");
        assert_eq!(child.wait().unwrap().code(), Some(0), "round {round}");
        assert_nothing_lost(&out, dir.path());
        let reader = open(&out);
        assert!(reader.manifest().complete && reader.manifest().ended.contains("SIGKILL"), "round {round}");
        assert_eq!(reader.manifest().exit_status, Some(-SIGKILL));
    }
}

fn killed_recorders() {
    let mut rng = Rng::new(2);
    for round in 0..rounds() {
        let (dir, out) = place();
        let mut child = recorder(&out, dir.path(), 3_000_000);
        let pid = program_of(&out);
        random_pause(&mut rng);
        child.kill().unwrap();
        child.wait().unwrap();
        let memory = memory_of(&out);
        if round % 4 == 0 {
            process::signal(pid, SIGKILL);
        } else if round % 4 < 3 {
            // Without its recorder the program runs on to its end. In the remaining quarter it is still at it.
            wait_for_end(pid);
        }
        if round % 2 == 0 {
            let mut first_try = actor(&["recover", out.to_str().unwrap()]).spawn().unwrap();
            std::thread::sleep(Duration::from_micros(rng.below(20_000)));
            first_try.kill().unwrap();
            first_try.wait().unwrap();
        }
        recover(&out).unwrap_or_else(|e| panic!("round {round}: {e}"));
        assert_nothing_lost(&out, dir.path());
        assert!(!out.join("rings").exists() && memory.is_none_or(|m| !m.exists()), "round {round}: rings are left");
        let before = everything(&out);
        assert!(!recover(&out).unwrap().changed && everything(&out) == before, "round {round}: not idempotent");
        process::signal(pid, SIGKILL);
    }
}

/// A dataset whose recorder and program were killed, and where its rings lie in memory; nothing where they lie on a disk.
fn crashed() -> Option<(tempfile::TempDir, PathBuf, PathBuf)> {
    let (dir, out) = place();
    let mut child = recorder(&out, dir.path(), 1 << 40);
    let pid = program_of(&out);
    let memory = memory_of(&out);
    let rings = |m: &PathBuf| fs::read_dir(m).map_or(0, Iterator::count);
    let start = Instant::now();
    while memory.as_ref().is_some_and(|m| rings(m) < 3) && start.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    process::signal(pid, SIGKILL);
    wait_for_end(pid);
    match memory {
        Some(memory) => Some((dir, out, memory)),
        None => {
            println!("SKIPPED: rings lie on a disk here, not in memory");
            recover(&out).map(|_| None).unwrap()
        }
    }
}

fn copied() {
    let Some((dir, out, memory)) = crashed() else { return };
    let copy = dir.path().join("copy.hnt");
    assert!(Command::new("cp").arg("-r").args([&out, &copy]).status().unwrap().success());
    let rings = || fs::read_dir(&memory).unwrap().count();
    let before = rings();
    let summary = recover(&copy).unwrap();
    assert!(summary.notes.iter().any(|n| n.contains("in memory")) && summary.refs_from_rings == 0, "{summary:?}");
    assert!(before > 1 && rings() == before, "the rings wait for their own dataset");
    // Another name in the same place is the same dataset.
    let moved = dir.path().join("moved.hnt");
    fs::rename(&out, &moved).unwrap();
    let summary = recover(&moved).unwrap();
    assert!(summary.notes.is_empty() && !memory.exists(), "{summary:?}");
    assert_nothing_lost(&moved, dir.path());
}

fn restarted() {
    let Some((_dir, out, memory)) = crashed() else { return };
    fs::remove_dir_all(&memory).unwrap();
    let summary = recover(&out).unwrap();
    assert!(summary.notes.iter().any(|n| n.contains("the machine was started anew")), "{summary:?}");
    let reader = open(&out);
    assert!(reader.manifest().blind.notes.iter().any(|n| n.contains("the machine was started anew")));
    for thread in 0..reader.threads() {
        assert_known_prefix(&reader, thread);
    }
    assert!(!recover(&out).unwrap().changed);
}

fn wait_for_end(pid: u32) {
    let start = Instant::now();
    while process::alive(pid) {
        assert!(start.elapsed() < Duration::from_secs(60), "the program hangs without its recorder");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Names and contents of all files.
fn everything(dir: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()) {
        if entry.is_dir() {
            all.extend(everything(&entry));
        } else {
            all.push((entry.clone(), fs::read(&entry).unwrap()));
        }
    }
    all.sort();
    all
}

fn refuses() {
    let (dir, out) = place();
    let mut child = recorder(&out, dir.path(), 1 << 40);
    let pid = program_of(&out);
    match recover(&out) {
        Err(CaptureError::RecorderAlive { pid, .. }) => assert_eq!(pid, child.id()),
        other => panic!("{other:?}"),
    }
    process::signal(pid, SIGKILL);
    child.wait().unwrap();
    assert!(matches!(recover(dir.path()), Err(CaptureError::NotADataset { .. })), "a directory that is none");
    assert!(matches!(recover(&dir.path().join("none")), Err(CaptureError::NotADataset { .. })));
}

/// Asserts that a thread's references are those of its known sequence of `all` but for one stretch; returns its length.
fn assert_known_but_for_one_gap(reader: &DatasetReader, thread: u32, all: u64) -> u64 {
    let found = references(reader, thread);
    let lost = all - found.len() as u64;
    let gap = (0..).zip(&found).find(|(i, r)| **r != known(thread, *i)).map_or(found.len() as u64, |(i, _)| i);
    for (i, r) in (0..).zip(&found).skip(gap as usize) {
        assert_eq!(*r, known(thread, i + lost), "reference {i} of thread {thread} behind a gap of {lost}");
    }
    assert_stamps_ordered(reader, thread);
    lost
}

/// A finished dataset of known references.
fn finished_dataset(out: &Path) {
    let (threads, refs) = (THREADS.to_string(), "400000");
    let status = actor(&["record", out.to_str().unwrap(), "threads", &threads, refs]).status().unwrap();
    assert!(status.success());
}

fn damage() {
    let mut rng = Rng::new(3);
    for round in 0..rounds() {
        let (_dir, out) = place();
        finished_dataset(&out);
        let name = ["threads/0.frames", "threads/2.frames", "events.bin"][rng.below(3) as usize];
        let path = out.join(name);
        let mut bytes = fs::read(&path).unwrap();
        let at = rng.below(bytes.len() as u64) as usize;
        match rng.below(3) {
            0 => bytes.truncate(at),
            1 => bytes[at] ^= 1 << rng.below(8),
            _ => bytes.extend_from_slice(b"HNFR and then nothing"),
        }
        fs::write(&path, &bytes).unwrap();
        let summary = recover(&out).unwrap();
        assert!(summary.changed, "round {round}: {name}");
        let reader = open(&out);
        let lost: u64 = (0..THREADS).map(|t| assert_known_but_for_one_gap(&reader, t, 400_000)).sum();
        assert!(lost <= 65_536 || bytes.len() == at, "round {round}: damage at one place costs one frame, not {lost}");
        assert_eq!(reader.manifest().blind.dropped, lost, "round {round}");
        assert!(homenode_trace::check::check(&reader).ok(), "round {round}");
        assert!(!reader.manifest().complete && reader.manifest().ended.contains("recover"), "round {round}");
        let kept = fs::read(&path).unwrap().len() as u64;
        let aside =
            fs::read_dir(out.join(".damaged")).map_or(0, |d| d.map(|e| e.unwrap().metadata().unwrap().len()).sum());
        assert_eq!(aside, summary.cut_bytes, "round {round}");
        assert!(name == "events.bin" || kept + aside >= bytes.len() as u64, "round {round}: bytes are gone");
        assert!(!recover(&out).unwrap().changed, "round {round}: not idempotent");
    }
}

fn lost_manifest() {
    for text in [None, Some("{"), Some("{\"format\":\"something else\",\"version\":1}")] {
        let (_dir, out) = place();
        finished_dataset(&out);
        let before = open(&out).manifest().clone();
        match text {
            None => fs::remove_file(out.join("manifest.json")).unwrap(),
            Some(text) => fs::write(out.join("manifest.json"), text).unwrap(),
        }
        recover(&out).unwrap();
        let reader = open(&out);
        let after = reader.manifest();
        assert_eq!((after.threads.len(), after.processes.len()), (3, 1));
        assert_eq!(after.processes, before.processes);
        for (new, old) in after.threads.iter().zip(&before.threads) {
            assert_eq!((new.refs, new.spins, new.events, new.parent), (old.refs, old.spins, old.events, old.parent));
        }
        (0..THREADS).for_each(|t| assert_eq!(assert_known_prefix(&reader, t), 400_000));
    }
    let (_dir, out) = place();
    finished_dataset(&out);
    fs::write(out.join("manifest.json"), "{\"format\":\"homenode-trace\",\"version\":99}").unwrap();
    assert!(recover(&out).unwrap_err().to_string().contains("newer"), "a newer version is not ours to rewrite");
}

fn finished() {
    let (_dir, out) = place();
    finished_dataset(&out);
    let before = everything(&out);
    let summary = recover(&out).unwrap();
    assert!(!summary.changed && everything(&out) == before);
    assert_eq!((summary.refs, summary.threads), (1_200_000, THREADS));
}
