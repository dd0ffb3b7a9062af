//! Recordings from beginning to end.
use crate::actor::{command, long_path, options};
use crate::dataset::{assert_known_prefix, assert_lock_events, open, open_unchecked};
use homenode_capture::{CaptureError, RecordSummary, record};
use homenode_host::launch::LaunchError;
use homenode_trace::EventKind;
use homenode_trace::event::SyncKind;
use std::fs;
use std::path::{Path, PathBuf};

/// The cases of this file.
pub(crate) const ALL: &[crate::Case] = &[
    ("everything_recorded_is_exactly_what_was_done", exact),
    ("every_event_arrives_whole", events),
    ("a_thousand_threads_stay_within_the_memory_limit", thousand_threads),
    ("the_limit_is_exact_over_all_threads", limit),
    ("counting_records_nothing", counting),
    ("an_abort_is_recorded_to_the_last_slot", abort),
    ("programs_that_cannot_be_recorded_are_refused_in_words", refusals),
    ("outputs_in_the_way_are_refused", outputs),
    ("a_full_disk_ends_the_recording_and_not_the_program", full_disk),
    ("a_stop_signal_ends_both_in_order", interrupted),
    ("rings_that_break_the_protocol_do_no_harm", hostile),
];

/// A directory and the path of a dataset in it.
pub(crate) fn place() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.hnt");
    (dir, path)
}

fn recorded(out: &Path, words: &[&str]) -> RecordSummary {
    record(&options(out, command(words)), &mut ()).unwrap()
}

fn exact() {
    let (_dir, out) = place();
    let refs = 300_000;
    let summary = recorded(&out, &["threads", "3", &refs.to_string()]);
    assert_eq!((summary.refs, summary.threads, summary.processes, summary.exit_status), (3 * refs, 3, 1, Some(0)));
    assert_eq!((summary.ended.as_str(), summary.write_failed, summary.blind.dropped), ("", false, 0));
    let reader = open(&out);
    let manifest = reader.manifest();
    assert!(manifest.complete && manifest.host_cpus > 0 && manifest.host.contains("Linux"));
    assert_eq!(manifest.processes[0].executable, std::env::current_exe().unwrap().to_str().unwrap());
    assert_eq!(manifest.threads[1].parent, Some(0));
    assert_eq!((manifest.threads[0].parent, manifest.threads[2].tid), (None, 1002));
    for thread in 0..3 {
        assert_eq!(assert_known_prefix(&reader, thread), refs);
        assert_lock_events(&reader, thread);
        assert_eq!(reader.thread_events(thread).last().map(|e| e.into_owned().kind), Some(EventKind::Exit));
    }
    let spins = (0..3).map(|t| (0..refs).filter(|&i| crate::producer::known(t, i).op == 3).count() as u64).sum::<u64>();
    assert_eq!((summary.spins, manifest.threads.iter().map(|t| t.spins).sum::<u64>()), (spins, spins));
    assert!(!out.join("rings").exists() && out.join("symbols.json").exists());
    let left: Vec<_> = fs::read_dir(&out).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 4, "{left:?}");
}

fn events() {
    let (_dir, out) = place();
    recorded(&out, &["events"]);
    let reader = open(&out);
    let mut seen = reader.thread_events(0).skip(2);
    let mut refs = 0;
    for round in 0..200u64 {
        refs += round;
        let stack = vec![0x11, 0x22, 0x33];
        let source = homenode_trace::event::AllocSource::Shared;
        for expected in [
            EventKind::Module { bias: 0x7000_0000, bytes: 0x1000, path: long_path() },
            EventKind::PhaseBegin { name: "solve".into() },
            EventKind::Alloc { addr: 0x9000, bytes: 4096, source, stack },
            EventKind::Map { addr: 0xa000, bytes: 8192, prot: 3, flags: 0x22, device: 7, inode: 8, offset: None },
            EventKind::AcqRel { object: 0xb000, epoch: 5, seq: round, sync: SyncKind::Unknown },
            EventKind::Free { addr: 0x9000 },
            EventKind::Unmap { addr: 0xa000, bytes: 8192 },
            EventKind::PhaseEnd { name: "solve".into() },
        ] {
            let stamp = if matches!(expected, EventKind::AcqRel { .. }) { 600 + round } else { 0 };
            let found = seen.next().unwrap();
            assert_eq!((&found.kind, found.at, found.stamp), (&expected, refs, stamp), "round {round}");
        }
    }
    assert_eq!(seen.map(|e| e.into_owned().kind).collect::<Vec<_>>(), [EventKind::Exit]);
}

fn thousand_threads() {
    let (_dir, out) = place();
    // All rings at once, by a process of their own so that its memory is not this one's.
    let before = peak_bytes();
    let summary = recorded(&out, &["many", "1000", "2500"]);
    assert_eq!((summary.threads, summary.refs), (1000, 2_500_000));
    let reader = open(&out);
    (0..1000).for_each(|t| assert_eq!(assert_known_prefix(&reader, t), 2500));
    let grown = peak_bytes() - before;
    assert!(grown < 256 << 20, "recording a thousand threads took {grown} bytes");
}

/// Most memory this process has had, mapped files included.
fn peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

fn limit() {
    for n in [1, 63, 64, 65_536, 100_001, 250_000] {
        let (_dir, out) = place();
        let mut options = options(&out, command(&["threads", "4", "200000"]));
        options.limit_refs = Some(n);
        let summary = record(&options, &mut ()).unwrap();
        assert_eq!((summary.refs, summary.exit_status), (n, Some(0)));
        assert!(summary.ended.contains(&n.to_string()), "{}", summary.ended);
        let reader = open(&out);
        assert!(reader.manifest().complete);
        assert_eq!((0..4).map(|t| assert_known_prefix(&reader, t)).sum::<u64>(), n);
        assert_eq!(summary.blind.dropped, 800_000 - n, "every reference is either recorded or counted");
    }
}

fn counting() {
    let (_dir, out) = place();
    let mut options = options(&out, command(&["threads", "4", "1000"]));
    options.count_only = true;
    let summary = record(&options, &mut ()).unwrap();
    assert_eq!((summary.refs, summary.path, summary.exit_status), (4000, None, Some(0)));
    assert!(!out.exists());
}

fn abort() {
    let (_dir, out) = place();
    // The first thread does not end in order; its last batch is found by its cursor.
    let summary = recorded(&out, &["threads", "2", "100001", "abort"]);
    assert_eq!((summary.refs, summary.exit_status), (200_002, Some(-6)));
    assert!(summary.ended.contains("SIGABRT"));
    let reader = open(&out);
    assert!(reader.manifest().complete, "the program's crash is no defect of the recording");
    (0..2).for_each(|t| assert_eq!(assert_known_prefix(&reader, t), 100_001));
}

fn refusals() {
    let (_dir, out) = place();
    let refused = |command| {
        let error = record(&options(&out, command), &mut ()).unwrap_err();
        assert!(!out.exists(), "{error}");
        error
    };
    assert!(matches!(refused(vec!["/no/such/program".into()]), CaptureError::Launch(LaunchError::Start { .. })));
    assert!(matches!(refused(vec!["/tmp".into()]), CaptureError::Launch(LaunchError::Start { .. })));
    assert!(matches!(refused(vec![]), CaptureError::Launch(LaunchError::NoCommand)));
    let error = refused(command(&["quiet", "7"]));
    assert!(matches!(error, CaptureError::NotInstrumented { .. }), "{error}");
    assert!(error.to_string().contains("exit status 7") && error.to_string().contains("homenode cc"));
    let mut wrong = options(&out, ["sh", "-c", "kill -SEGV $$"].map(Into::into).to_vec());
    wrong.backend = "hooks".into();
    let error = record(&wrong, &mut ()).unwrap_err();
    assert!(!out.exists() && error.to_string().contains("SIGSEGV"), "{error}");
    wrong = options(&out, command(&["events"]));
    wrong.backend = "magic".into();
    assert!(matches!(record(&wrong, &mut ()), Err(CaptureError::Backend { .. })));
    wrong = options(&out, command(&["events"]));
    wrong.roi = Some("x".repeat(100));
    assert!(matches!(record(&wrong, &mut ()), Err(CaptureError::Option(_))));
    assert!(!out.exists());
}

fn outputs() {
    let (dir, out) = place();
    recorded(&out, &["threads", "1", "10"]);
    let mut again = options(&out, command(&["threads", "1", "20"]));
    assert!(matches!(record(&again, &mut ()), Err(CaptureError::OutputExists(_))));
    again.force = true;
    assert_eq!(record(&again, &mut ()).unwrap().refs, 20);
    again.command = vec!["/no/such".into()];
    assert!(record(&again, &mut ()).is_err() && open(&out).refs(0) == 20, "a typo must not cost the old dataset");
    let file = dir.path().join("file");
    fs::write(&file, "x").unwrap();
    let beneath = options(&file.join("x.hnt"), command(&["threads", "1", "10"]));
    assert!(matches!(record(&beneath, &mut ()), Err(CaptureError::Io { .. })));
    // /proc is read-only for everybody, root included.
    let nowhere = options(Path::new("/proc/x.hnt"), command(&["threads", "1", "10"]));
    assert!(record(&nowhere, &mut ()).unwrap_err().to_string().contains("cannot create /proc/x.hnt"));
}

fn full_disk() {
    let (_dir, out) = place();
    // In a process of its own, since a limit cannot be lifted again. The frames of so many references pass it, rings and the control file do not.
    let status = crate::crash::actor(&["limited", out.to_str().unwrap(), "threads", "2", "48000000"]).status().unwrap();
    assert_eq!(status.code(), Some(0));
    let reader = open(&out);
    let manifest = reader.manifest();
    assert!(!manifest.complete && manifest.ended.contains("could not be written"), "{}", manifest.ended);
    assert_eq!(manifest.exit_status, Some(0), "the program ran to its end");
    let kept: u64 = (0..2).map(|t| assert_known_prefix(&reader, t)).sum();
    assert_eq!(kept + manifest.blind.dropped, 96_000_000);
    assert!(kept > 0 && manifest.blind.dropped > 0);
    assert_eq!(manifest.threads.iter().map(|t| t.refs).sum::<u64>(), kept);
    assert!(!out.join("rings").exists());
}

fn interrupted() {
    let (_dir, out) = place();
    let mut recorder = crate::crash::actor(&["record", out.to_str().unwrap(), "threads", "1", "50000", "sleep"]);
    let mut child = recorder.stdout(std::process::Stdio::piped()).spawn().unwrap();
    // The program has made its references.
    let mut said = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.as_mut().unwrap()), &mut said).unwrap();
    assert_eq!(said, "asleep\n");
    // Not SIGINT, which shells have ignored by what runs in the background: then it does not stop a recording either.
    assert!(homenode_sys::process::signal(child.id(), 15));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let reader = open(&out);
    assert!(reader.manifest().complete && reader.manifest().ended.contains("SIGTERM"), "{}", reader.manifest().ended);
    assert_eq!(reader.manifest().exit_status, Some(-15));
    assert_eq!(assert_known_prefix(&reader, 0), 50_000);
}

fn hostile() {
    for how in ["head", "cursor", "journal", "garbage"] {
        let (_dir, out) = place();
        let summary = recorded(&out, &["hostile", how]);
        // Garbage is recorded as the nonsense that it is, which the checker may say.
        let reader = open_unchecked(&out);
        assert!(reader.manifest().complete, "{how}");
        assert_eq!(reader.refs(0), summary.refs, "{how}");
        if how == "cursor" {
            // Only the begun batch is lost with it.
            assert!(assert_known_prefix(&reader, 0) >= 900);
        }
        assert!(how == "cursor" || !summary.blind.notes.is_empty(), "{how}");
    }
}
