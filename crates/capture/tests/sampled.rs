//! The sampled recorder with a source whose every sample is known: one of each live thread at each poll, at an address made
//! of the thread's number.
mod support;

use homenode_capture::sampled::{self, Sampler, Subject};
use homenode_capture::{CaptureError, DirStore, RecordOptions, RecordSummary, recover};
use homenode_sampling::{Notice, RawSample, SampleSource, SamplingError};
use homenode_sys::clock::monotonic_ns;
use homenode_trace::{DataSource, DatasetReader, EventKind, Op, SampleUnit};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::open;

/// Samples every thread of the program at every poll.
struct EveryThread(u32);

struct Source {
    pid: u32,
    lost: u64,
    samples: usize,
}

/// A file that is made once so many samples of the program itself were taken, for who waits for them.
const SEEN_ENV: &str = "HN_TEST_SEEN";
const SEEN: usize = 60;

fn addr_of(tid: u32) -> u64 {
    0x10_0000_0000 + u64::from(tid) * 4096
}

impl Sampler for EveryThread {
    fn name(&self) -> &'static str {
        "test"
    }
    fn open(&mut self, subject: &Subject) -> Result<Box<dyn SampleSource>, CaptureError> {
        self.0 = subject.pid;
        Ok(Box::new(Source { pid: subject.pid, lost: 0, samples: 0 }))
    }
}

impl SampleSource for Source {
    fn unit(&self) -> SampleUnit {
        SampleUnit::Window
    }
    fn event(&self) -> String {
        "every thread".into()
    }
    fn sees_writes(&self) -> bool {
        true
    }
    fn poll(
        &mut self,
        _timeout: Duration,
        samples: &mut Vec<RawSample>,
        notices: &mut Vec<Notice>,
    ) -> Result<bool, SamplingError> {
        std::thread::sleep(Duration::from_millis(5));
        let waiting = samples.len();
        let Ok(tasks) = std::fs::read_dir(format!("/proc/{}/task", self.pid)) else { return Ok(false) };
        for tid in tasks.flatten().filter_map(|t| t.file_name().to_str()?.parse().ok()) {
            let (time_ns, cpu, ip) = (monotonic_ns(), Some(1), 0x40);
            let (source, latency_cycles) = (DataSource::LocalMemory, Some(9));
            let sample = RawSample {
                time_ns,
                pid: self.pid,
                tid,
                cpu,
                ip,
                addr: addr_of(tid),
                size: 8,
                op: Op::Write,
                weight: 3,
                latency_cycles,
                source,
            };
            samples.push(sample);
            samples.push(RawSample { addr: 0, ..sample });
        }
        self.lost += 1;
        let (before, fresh) = (self.samples, samples.len() - waiting);
        // The program has three threads, whoever starts it one.
        self.samples += if fresh < 3 { 0 } else { fresh };
        if before < SEEN
            && SEEN <= self.samples
            && let Some(seen) = std::env::var_os(SEEN_ENV)
        {
            std::fs::write(seen, "").unwrap();
        }
        notices.extend([Notice::Throttled, Notice::Lost(1)]);
        Ok(true)
    }
    fn set_rate(&mut self, _per_second: u64) -> Result<(), SamplingError> {
        Ok(())
    }
    fn lost(&self) -> u64 {
        self.lost
    }
    fn unaddressed(&self) -> u64 {
        1_000_000
    }
    fn notes(&self) -> Vec<String> {
        vec!["noted".into()]
    }
    fn kernel_moves(&self) -> Option<u64> {
        Some(5)
    }
}

fn build(dir: &Path, hooks: bool, flags: &[&str]) -> PathBuf {
    let program = dir.join(format!("phased{}{}", u8::from(hooks), flags.join("")));
    support::build(program, &support::source("tests/c/phased.c"), hooks, &[&["-O1"], flags].concat())
}

fn options(program: &Path, out: &Path) -> RecordOptions {
    RecordOptions { command: vec![program.into()], out: out.to_owned(), backend: "test".into(), ..Default::default() }
}

/// Times of a thread's samples; each must be at the thread's own address.
fn times(reader: &DatasetReader, thread: u32) -> Vec<u64> {
    let (mut bytes, mut frame, mut times) = (Vec::new(), Default::default(), Vec::new());
    let tid = reader.manifest().threads[thread as usize].tid;
    for i in 0..reader.frames(thread).len() {
        reader.read_frame(thread, i, &mut bytes, &mut frame).unwrap();
        for batch in &frame.batches {
            times.extend(std::iter::repeat_n(batch.begin, batch.refs as usize));
        }
        for i in 0..frame.len() {
            let r = frame.get(i);
            assert_eq!((r.addr, r.size, r.op), (addr_of(tid), 8, Op::Write), "a sample of another thread");
            assert_eq!((frame.samples()[i].weight, frame.samples()[i].cpu), (3, Some(1)));
        }
    }
    assert!(times.is_sorted());
    times
}

/// Stamped events stand where the stamps of the samples say.
fn assert_in_order(reader: &DatasetReader) -> usize {
    let mut stamped = 0;
    for thread in 0..reader.threads() {
        let times = times(reader, thread);
        for e in reader.thread_events(thread) {
            let (before, after) = times.split_at(e.at as usize);
            if e.stamp > 0 {
                stamped += 1;
                assert!(before.last().is_none_or(|&t| t <= e.stamp) && after.first().is_none_or(|&t| t >= e.stamp));
            }
        }
    }
    stamped
}

/// How many samples of the thread stand before each allocation of a block.
fn blocks(reader: &DatasetReader, thread: u32) -> Vec<u64> {
    reader
        .thread_events(thread)
        .filter(|e| matches!(e.kind, EventKind::Alloc { bytes: 16_384, .. }))
        .map(|e| e.at)
        .collect()
}

fn record(program: &Path, out: &Path) -> RecordSummary {
    sampled::record(&mut EveryThread(0), &options(program, out), &mut ()).unwrap()
}

#[test]
fn samples_and_ring_events_of_one_thread_are_one_thread_in_order_of_time() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("x.hnt");
    let summary = record(&build(dir.path(), true, &[]), &out);
    assert_eq!((summary.exit_status, summary.threads, summary.processes), (Some(3), 3, 1));
    let reader = open(&out);
    assert!(assert_in_order(&reader) > 4);
    let m = reader.manifest();
    let sampling = m.sampling.clone().unwrap();
    assert_eq!((sampling.unit, sampling.period, sampling.kernel_moves), (SampleUnit::Window, 3, Some(5)));
    // Those that the source dropped, and those that it delivered without an address; a loss is told twice and counted once.
    assert!(sampling.unaddressed > 1_000_000 && sampling.lost > 0 && m.complete && !m.synchronised);
    let throttled = format!("throttled sampling {} times", sampling.lost);
    assert!(m.blind.notes.iter().any(|n| n.contains(&throttled)), "{:?}", m.blind.notes);
    assert!(m.blind.notes.iter().any(|n| n.contains("two clocks")), "{:?}", m.blind.notes);
    assert!(m.blind.notes.iter().any(|n| n == "noted"));
    for (thread, t) in (0u32..).zip(&m.threads) {
        assert!(t.refs > 10 && (t.tid > m.threads[0].tid || thread == 0) && t.parent == (thread > 0).then_some(0));
        assert_eq!(blocks(&reader, thread).len(), 12, "thread {thread}");
    }
    // 12 rounds of 30 ms: the blocks are met one after the other, not all at the begin or the end.
    let distinct: std::collections::BTreeSet<u64> = blocks(&reader, 0).into_iter().collect();
    assert!(distinct.len() >= 6, "{distinct:?}");
}

#[test]
fn a_process_is_one_however_slowly_its_libraries_start() {
    let dir = tempfile::tempdir().unwrap();
    let slow = dir.path().join("libslow.so");
    let slow = support::build(slow, &support::source("tests/c/slow_start.c"), false, &["-shared", "-fPIC"]);
    let flags = ["-Wl,--no-as-needed".to_owned(), slow.display().to_string()];
    let program = build(dir.path(), false, &[]).with_extension("slow");
    let flags: Vec<&str> = ["-O1"].into_iter().chain(flags.iter().map(String::as_str)).collect();
    let program = support::build(program, &support::source("tests/c/phased.c"), false, &flags);
    // As it is, and by a script that starts it.
    let script = dir.path().join("wrap.sh");
    std::fs::write(&script, format!("#!/bin/sh\n{}\nexit $?\n", program.display())).unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    for command in [program, script] {
        let out = dir.path().join("slow.hnt");
        let mut options = options(&command, &out);
        options.force = true;
        let summary = sampled::record(&mut EveryThread(0), &options, &mut ()).unwrap();
        let reader = open(&out);
        let m = reader.manifest();
        let wrapped = command.extension().is_some_and(|e| e == "sh");
        assert_eq!((summary.exit_status, summary.processes), (Some(3), 1 + u32::from(wrapped)), "{:?}", m.processes);
        assert_eq!(m.threads.len(), 3 + usize::from(wrapped), "{:?}", m.threads);
        if !wrapped {
            // About 900 ms of samples at 5 ms or more apart came before the library reported.
            assert!(m.threads[0].refs > 40 && blocks(&reader, 0).len() == 12);
            assert!(blocks(&reader, 0)[0] > 20, "{:?}", blocks(&reader, 0));
        }
    }
}

#[test]
fn a_dynamic_program_gets_the_library_and_a_static_one_is_recorded_without() {
    let dir = tempfile::tempdir().unwrap();
    for flags in [&[][..], &["-static"]] {
        let out = dir.path().join(format!("x{}.hnt", flags.len()));
        let summary = record(&build(dir.path(), false, flags), &out);
        assert_eq!((summary.exit_status, summary.threads, summary.processes), (Some(3), 3, 1));
        let reader = open(&out);
        (0..3).for_each(|t| assert!(times(&reader, t).len() > 40));
        let notes = &reader.manifest().blind.notes;
        let without = notes.iter().any(|n| n.contains("without the preloaded library"));
        assert_eq!(without, !flags.is_empty(), "{notes:?}");
        for thread in 0..3 {
            assert_eq!(blocks(&reader, thread).len(), if without { 0 } else { 12 }, "thread {thread}");
        }
        if !without {
            let tree = |t: &homenode_trace::manifest::Thread| t.parent;
            assert_eq!(reader.manifest().threads.iter().map(tree).collect::<Vec<_>>(), [None, Some(0), Some(0)]);
            assert!(reader.symbols().globals.iter().any(|g| g.name == "table"));
            let distinct: std::collections::BTreeSet<u64> = blocks(&reader, 0).into_iter().collect();
            assert!(distinct.len() >= 6, "blocks are met one after the other: {distinct:?}");
        }
    }
}

/// What the kernel made huge is in the manifest, and nothing else; where it makes none, nothing is.
#[test]
fn memory_in_huge_pages_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let (out, told) = (dir.path().join("x.hnt"), dir.path().join("told"));
    let program = support::build(dir.path().join("huge"), &support::source("tests/c/huge.c"), false, &["-O1"]);
    let mut o = options(&program, &out);
    o.command.push(told.clone().into());
    assert_eq!(sampled::record(&mut EveryThread(0), &o, &mut ()).unwrap().exit_status, Some(3));
    let text = std::fs::read_to_string(told).unwrap();
    let at: Vec<u64> = text.split(' ').map(|n| n.parse().unwrap()).collect();
    let reader = open(&out);
    let found = &reader.manifest().huge_pages;
    let holds = |addr: u64| found.iter().any(|h| h.addr <= addr && addr < h.addr + h.bytes);
    // The kernel may be told to make none, or have none left: the program says what it got.
    assert_eq!((holds(at[0]), holds(at[1])), (at[2] > 4096, false), "{at:?}: {found:?}");
    assert!(found.iter().all(|h| h.process == 0 && h.page_bytes.is_power_of_two() && h.page_bytes >= 2 << 20));
}

#[test]
fn a_running_process_is_joined_for_a_while_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("x.hnt");
    let mut child = Command::new(build(dir.path(), false, &[])).arg("60").spawn().unwrap();
    let threads = || std::fs::read_dir(format!("/proc/{}/task", child.id())).map_or(0, Iterator::count);
    wait_for("three threads", || threads() == 3);
    let mut o = options(Path::new("x"), &out);
    (o.command, o.pid, o.duration) = (Vec::new(), Some(child.id()), Some(Duration::from_millis(200)));
    let summary = sampled::record(&mut EveryThread(0), &o, &mut ()).unwrap();
    assert!(child.try_wait().unwrap().is_none(), "it runs on");
    assert_eq!((summary.exit_status, summary.threads), (None, 3));
    assert!(summary.ended.contains("time asked for"), "{}", summary.ended);
    let reader = open(&out);
    assert!(reader.manifest().command[0].ends_with("phased0"));
    let globals = &reader.symbols().globals;
    assert!(globals.iter().any(|g| g.name == "table" && g.bytes == 16_384), "its modules are known");
    let tids: Vec<u32> = reader.manifest().threads.iter().map(|t| t.tid).collect();
    assert!(tids.is_sorted() && tids[0] == child.id());
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

#[test]
fn limits_are_exact_and_what_cannot_be_done_is_refused_before_anything_is_created() {
    let dir = tempfile::tempdir().unwrap();
    let (out, program) = (dir.path().join("x.hnt"), build(dir.path(), false, &[]));
    let o = RecordOptions { limit_refs: Some(17), ..options(&program, &out) };
    let summary = sampled::record(&mut EveryThread(0), &o, &mut ()).unwrap();
    assert_eq!((summary.refs, summary.exit_status), (17, Some(3)));
    assert!(summary.ended.contains("17 samples"), "{}", summary.ended);
    std::fs::remove_dir_all(&out).unwrap();
    let base = options(&program, &out);
    for (o, word) in [
        (RecordOptions { roi: Some("solve".into()), ..base.clone() }, "phase"),
        (RecordOptions { count_only: true, ..base.clone() }, "counts"),
        (RecordOptions { pid: Some(1), ..base.clone() }, "not both"),
        (RecordOptions { command: Vec::new(), ..base.clone() }, "no command"),
        (RecordOptions { command: Vec::new(), pid: Some(u32::MAX), ..base.clone() }, "no process"),
        (RecordOptions { command: vec!["/no/such".into()], ..base.clone() }, "no such file"),
    ] {
        let said = sampled::record(&mut EveryThread(0), &o, &mut ()).unwrap_err().to_string();
        assert!(said.contains(word) && !out.exists(), "{said}");
    }
}

/// Not a test of its own: the recorder that the next test kills.
#[test]
fn recorder_to_be_killed() {
    if let Some(words) = std::env::var_os("HN_TEST_SAMPLED") {
        let words = words.into_string().unwrap();
        let (program, out) = words.split_once(' ').unwrap();
        record(Path::new(program), Path::new(out));
    }
}

fn wait_for(what: &str, mut there: impl FnMut() -> bool) {
    let began = Instant::now();
    while !there() {
        assert!(began.elapsed() < Duration::from_secs(30), "no {what} in 30 s");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn script(dir: &Path, text: &str) -> PathBuf {
    let script = dir.join("script");
    std::fs::write(&script, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    script
}

/// A recorder of that program as a process of its own.
fn recorder(program: &Path, out: &Path) -> std::process::Child {
    let mut recorder = Command::new(std::env::current_exe().unwrap());
    let words = format!("{} {}", program.display(), out.display());
    recorder.args(["--exact", "recorder_to_be_killed"]).env("HN_TEST_SAMPLED", words);
    recorder.env(SEEN_ENV, out.with_extension("seen"));
    recorder.stdout(std::process::Stdio::null()).spawn().unwrap()
}

#[test]
fn a_stop_signal_ends_the_recording_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("x.hnt");
    let long = script(dir.path(), &format!("exec {} 1000", build(dir.path(), false, &[]).display()));
    let mut recorder = recorder(&long, &out);
    wait_for("samples", || out.with_extension("seen").exists());
    // Not SIGINT, which shells have ignored by what runs in the background.
    const SIGTERM: i32 = 15;
    assert!(homenode_sys::process::signal(recorder.id(), SIGTERM));
    assert!(recorder.wait().unwrap().success());
    let reader = open(&out);
    let m = reader.manifest();
    assert!(m.complete && m.ended.contains("SIGTERM") && m.exit_status == Some(-SIGTERM), "{m:?}");
    // The shell is a thread of its own, and so is what it became.
    assert!((0..reader.threads()).map(|t| reader.refs(t)).sum::<u64>() > 20);
    assert_in_order(&reader);
}

#[test]
fn a_killed_recorder_leaves_a_dataset_that_recover_completes_and_the_program_runs_on() {
    let dir = tempfile::tempdir().unwrap();
    let (out, mark) = (dir.path().join("x.hnt"), dir.path().join("mark"));
    let program = build(dir.path(), true, &[]);
    // The program, then a mark: it went on to its end without the recorder.
    let text = format!("for i in 1 2 3 4 5; do {}; done\necho done >{}", program.display(), mark.display());
    let mut recorder = recorder(&script(dir.path(), &text), &out);
    let bytes = |name| std::fs::metadata(out.join(name)).map_or(0, |m| m.len());
    wait_for("frames and events in files", || bytes("threads/0.frames") > 400 && bytes("events.bin") > 400);
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    let before = DatasetReader::open(Arc::new(DirStore::open(&out).unwrap()));
    assert!(matches!(before, Err(homenode_trace::TraceError::Unfinished)), "{before:?}");
    let done = recover(&out).unwrap();
    assert!(done.changed && done.refs > 20 && done.events > 20, "{done:?}");
    let reader = open(&out);
    assert!(reader.manifest().sampling.is_some() && reader.manifest().ended.contains("recovered"));
    assert_in_order(&reader);
    assert!(!recover(&out).unwrap().changed);
    wait_for("the program that goes on", || mark.exists());
}
