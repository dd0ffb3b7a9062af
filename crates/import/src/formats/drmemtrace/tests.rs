//! Traces made record by record and what becomes of them.
use super::entry::{BYTES, file_type, kind, marker};
use super::testfile::{NS, TestFile, folder, gzip, lz4, zip};
use crate::testing::{Imported, counted, imported, imported_bytes, refused};
use homenode_trace::manifest::Clock;
use homenode_trace::{EventKind, Op};

/// Some references of a thread, the first of them at an address of its own.
fn work(file: TestFile, tid: u64) -> TestFile {
    let base = tid << 20;
    file.at(10)
        .instruction(0x40_1000)
        .instruction(0x40_1004)
        .load(base)
        .store(base + 8)
        .at(20)
        .instruction(0x40_1008)
        .store(base + 16)
}

fn thread(tid: u64) -> Vec<u8> {
    work(TestFile::of(100, tid, 0), tid).ended(tid)
}

fn worked(found: &Imported, thread: u32, tid: u64) {
    let base = tid << 20;
    let (first, second) = (0x40_1004, 0x40_1008);
    let all = [(base, 8, Op::Read, first, 3), (base + 8, 8, Op::Write, first, 1), (base + 16, 8, Op::Write, second, 2)];
    assert_eq!(found.refs(thread), all, "thread {tid}");
}

#[test]
fn every_container_gives_the_same_references_counts_and_times() {
    let plain = thread(5);
    // Both chunks of a zip but the last end with a marker.
    let chunked = work(TestFile::of(100, 5, 0), 5).mark(marker::CHUNK_END, 0);
    let records = chunked.clone().bytes().len() / BYTES;
    for bytes in [plain.clone(), gzip(&plain), lz4(&plain), zip(&chunked.ended(5), records)] {
        let found = imported_bytes(&bytes).unwrap();
        worked(&found, 0, 5);
        let counts = ["instructions", "loads", "stores", "threads", "processors"].map(|name| found.counted(name));
        assert_eq!(counts, [3, 1, 2, 1, 1]);
        let m = found.data.manifest();
        assert_eq!((m.complete, m.clock, m.synchronised, m.backend.as_str()), (true, Clock::Ns, false, "drmemtrace"));
        assert_eq!((m.processes[0].pid, m.threads[0].tid), (100, 5));
        let exit = found.data.thread_event(0, 1).unwrap();
        assert_eq!((exit.at, exit.stamp, &exit.kind), (3, NS + 20_000, &EventKind::Exit));
    }
}

#[test]
fn a_folder_has_a_file_a_thread_and_others_that_are_no_trace() {
    let dir = folder(&[
        ("trace/drmemtrace.app.x.5.0001.trace.gz", gzip(&thread(5))),
        ("trace/drmemtrace.app.x.6.0002.trace.zip", zip(&thread(6), 1 << 20)),
        ("trace/cpu_schedule.bin.zip", b"none".to_vec()),
        ("raw/modules.log", b"none".to_vec()),
    ]);
    for path in [dir.path().to_owned(), dir.path().join("trace")] {
        let found = imported(&path).unwrap();
        worked(&found, 0, 5);
        worked(&found, 1, 6);
        assert_eq!((found.counted("threads"), found.summary.processes), (2, 1));
        assert_eq!(found.data.manifest().processes[0].executable, "app.x");
    }
}

#[test]
fn a_thread_goes_on_from_window_to_window_and_what_lies_between_is_missing() {
    let dir = folder(&[
        ("trace/window.0000/drmemtrace.a.5.1.trace", thread(5)),
        ("trace/window.0001/drmemtrace.a.5.1.trace", work(TestFile::of(100, 5, 0).at(50), 5).ended(5)),
    ]);
    let found = imported(dir.path()).unwrap();
    assert_eq!((found.refs(0).len(), found.counted("threads"), found.counted("windows")), (6, 1, 2));
    let m = found.data.manifest();
    assert!(!m.complete && m.ended.contains("2 windows"), "{}", m.ended);
    assert_eq!(found.data.thread_events(0).filter(|e| e.kind == EventKind::Exit).count(), 1);
    assert!(found.summary.notes.iter().any(|n| n.contains("stamps lie before")), "{:?}", found.summary.notes);
}

#[test]
fn threads_alternate_in_the_legacy_format() {
    let mut file = TestFile::default().add(kind::HEADER, 0, 1).thread(5, 100).instruction(0x40_1000);
    file = file.thread(6, 100).instruction(0x40_2000).instruction(0x40_2004).load(0x600);
    // The process of a thread is said once; instructions count on where it was left.
    file = file.add(kind::THREAD, 4, 5).instruction(0x40_1004).add(kind::BUNDLE, 2, 0x0305).store(0x500);
    let found = imported_bytes(&file.ended(5)).unwrap();
    assert_eq!(found.refs(0), [(0x500, 8, Op::Write, 0x40_100d, 5)]);
    assert_eq!(found.refs(1), [(0x600, 8, Op::Read, 0x40_2004, 3)]);
    assert_eq!(found.counted("instructions"), 6);
    assert_eq!(found.data.manifest().clock, Clock::Logical);
}

#[test]
fn a_thread_moves_from_processor_to_processor_and_keeps_its_order() {
    let bits = file_type::BY_CORE;
    let first = TestFile::of(100, 5, bits).at(10).instruction(0x40_1000).load(0x1).thread(6, 100).at(30).load(0x6);
    // The next stamp says when the thread came here, though there is none where it came.
    let first = first.thread(5, 100).load(0x4).at(60).load(0x5);
    let second = TestFile::of(100, 7, bits).at(15).load(0x7).thread(5, 100).load(0x2).at(40).load(0x3);
    let dir = folder(&[("drmemtrace.core.0.trace", first.footed()), ("drmemtrace.core.1.trace", second.footed())]);
    let found = imported(dir.path()).unwrap();
    let tids: Vec<u32> = found.data.manifest().threads.iter().map(|t| t.tid).collect();
    let of = |tid: u32| tids.iter().position(|&t| t == tid).unwrap() as u32;
    let addrs = |tid: u32| found.refs(of(tid)).iter().map(|r| r.0).collect::<Vec<_>>();
    assert_eq!((addrs(5), addrs(6), addrs(7)), (vec![1, 2, 3, 4, 5], vec![6], vec![7]));
    assert!(found.summary.notes.iter().all(|n| !n.contains("stamps lie")), "{:?}", found.summary.notes);
}

#[test]
fn who_wakes_comes_before_who_was_woken_and_a_joined_thread_ends_before() {
    let (word, tid_word) = (0x7000, 0x9000);
    let waiter = TestFile::of(100, 5, 0).at(1).load(0x10).futex((2, 30), [word, 128, 1], 0).load(0x11);
    // Of a call that failed, or that woke nobody, nothing follows; a thread's number as value is a join.
    let waiter = waiter.futex((31, 32), [word, 0, 1], -11).futex((33, 90), [tid_word, 0x109, 6], 0).load(0x12);
    let waker = TestFile::of(100, 6, 0).at(1).store(0x20).futex((20, 21), [word, 129, 1], 1).store(0x21);
    let waker = waker.futex((40, 41), [word, 129, 1], 0).store(0x22);
    let dir = folder(&[("a.trace", waiter.ended(5)), ("b.trace", waker.ended(6))]);
    let found = imported(dir.path()).unwrap();
    let events: Vec<_> = found.data.events().iter().map(|e| (e.thread, e.at, e.kind.clone())).collect();
    let of = |thread: u32| events.iter().filter(|e| e.0 == thread).map(|e| (e.1, &e.2)).collect::<Vec<_>>();
    let [
        _,
        (1, EventKind::Acquire { object, seq, .. }),
        (2, EventKind::Acquire { object: joined, seq: after, .. }),
        (3, EventKind::Exit),
    ] = of(0)[..]
    else {
        panic!("{events:?}")
    };
    let [
        (1, EventKind::Release { seq: before, .. }),
        (3, EventKind::Release { object: end, seq: last, .. }),
        (3, EventKind::Exit),
    ] = of(1)[..]
    else {
        panic!("{events:?}")
    };
    assert_eq!((*object, *joined, *end), (word, tid_word, tid_word));
    assert!(before < seq && last < after);
    assert!(found.summary.notes[0].contains("2 waits") && !found.data.manifest().synchronised);
}

#[test]
fn a_wait_and_a_wake_at_the_same_time_never_form_a_circle() {
    // Two threads that each wait for the other, woken and waking within one microsecond.
    let file = |tid, a, b| {
        let file = TestFile::of(100, tid, 0).at(1).load(0x10).futex((2, 9), [a, 0, 1], 0);
        file.futex((9, 9), [b, 1, 1], 1).load(0x11).ended(tid)
    };
    let dir = folder(&[("a.trace", file(5, 0x70, 0x80)), ("b.trace", file(6, 0x80, 0x70))]);
    // The checker merges all threads.
    assert_eq!(imported(dir.path()).unwrap().summary.references, 4);
}

#[test]
fn the_kernel_tags_and_unknown_sizes_are_kept_apart_and_said() {
    let file = TestFile::of(100, 5, file_type::AARCH64).at(1).instruction(0x40_1000).load(0xb4 << 56 | 0x1230);
    let file = file.add(kind::READ, 0, 0x1240).mark(marker::KERNEL_BEGIN, 1).load(0x10).mark(marker::KERNEL_END, 1);
    let file = file.load(0xffff_0000_0000_0000).mark(77, 0).mark(77, 0).mark(240, 0).add(kind::PREFETCH, 8, 0x40);
    let found = imported_bytes(&file.add(kind::NOT_FETCHED, 4, 0x40_1000).ended(5)).unwrap();
    assert_eq!(found.refs(0).iter().map(|r| (r.0, r.1)).collect::<Vec<_>>(), [(0x1230, 8), (0x1240, 1)]);
    assert_eq!(["loads", "prefetches", "instructions not fetched"].map(|c| found.counted(c)), [4, 1, 1]);
    let notes = found.data.manifest().blind.notes.join("\n");
    for part in [
        "2 loads and stores of the kernel",
        "1 loads and stores have no size",
        "2 markers of type 77",
        "1 markers of type 240",
    ] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
}

#[test]
fn damage_and_what_is_not_read_is_refused_with_the_reason() {
    let good = thread(5);
    let versions = |version| TestFile::headed(version, 0).thread(5, 100).load(0x10).ended(5);
    let typed = |bits| TestFile::of(100, 5, bits).load(0x10).ended(5);
    for (bytes, why) in [
        (good[..good.len() - 5].to_vec(), "cut off"),
        (good[..good.len() - BYTES].to_vec(), "without its footer"),
        (versions(8), "version 8"),
        (versions(0), "not a drmemtrace"),
        (typed(file_type::X86_32), "32-bit"),
        (typed(file_type::TEMPLATES), "templates"),
        (TestFile::of(1 << 40, 5, 0).load(0x10).ended(5), "cannot be the numbers"),
        (TestFile::of(100, 1 << 33, 0).load(0x10).footed(), "cannot be the numbers"),
        (TestFile::headed(7, 0).load(0x10).footed(), "before the records"),
        (TestFile::of(100, 5, 0).add(99, 0, 0).ended(5), "of type 99"),
        (TestFile::of(100, 5, 0).add(kind::BUNDLE, 9, 0).ended(5), "bundle of 9"),
        (TestFile::of(100, 5, 0).mark(marker::CHUNK_END, 1).ended(5), "a chunk is missing"),
        ([&[7, 0, 0, 0, 0, 0, 8, 0xc4][..], &[0; 64]].concat(), "drraw2trace"),
        ([&[25, 0, 0, 0, 7, 0, 0, 0, 28, 0, 12, 0][..], &[0; 64]].concat(), "32-bit"),
        (gzip(&good)[..60].to_vec(), "cannot be unpacked"),
    ] {
        let said = refused(&bytes);
        assert!(said.contains(why), "{why}: {said}");
    }
}

#[test]
fn more_threads_than_a_dataset_has_files_are_refused_and_many_are_not() {
    let threads = |n: u64| {
        let file = TestFile::headed(7, 0);
        (1..=n)
            .chain(1..=n)
            .fold(file, |file, tid| file.thread(tid, 100).instruction(0x40_1000).load(tid << 12))
            .footed()
    };
    assert!(refused(&threads(65_537)).contains("more than 65536 threads"));
    let found = imported_bytes(&threads(300)).unwrap();
    assert_eq!((found.summary.threads, found.summary.references, found.refs(299).len()), (300, 600, 2));
}

#[test]
fn a_folder_is_refused_with_the_file_that_is_at_fault() {
    let says = |dir: &tempfile::TempDir, why: &str| {
        let said = imported(dir.path()).err().expect("a bad folder was imported").to_string();
        assert!(said.contains(why), "{why}: {said}");
    };
    says(&folder(&[("raw/drmemtrace.a.5.1.raw.zip", b"PK".to_vec())]), "drraw2trace");
    says(&folder(&[("trace/cpu_schedule.bin.zip", b"PK".to_vec())]), "no trace file");
    says(&folder(&[("a.trace", thread(5)), ("b.trace", b"short".to_vec())]), "b.trace: it ends 5 bytes");
    says(&folder(&[("a.trace", thread(5)), ("b.trace", Vec::new())]), "b.trace: it is empty");
    let dir = folder(&[("a.trace", thread(5))]);
    std::os::unix::fs::symlink(dir.path().join("a.trace"), dir.path().join("b.trace")).unwrap();
    says(&dir, "b.trace: it is a symbolic link");
    let dir = folder(&[("a.trace", thread(5)), ("b.trace/c", Vec::new())]);
    says(&dir, "b.trace: not a regular file");
}

#[test]
fn every_cut_and_every_changed_byte_is_survived() {
    let file = work(TestFile::of(100, 5, 0), 5).futex((30, 40), [0x70, 0, 1], 0);
    let bytes = work(file.thread(6, 100), 6).ended(6);
    for cut in 0..bytes.len() {
        assert!(counted(&bytes[..cut]).is_err(), "cut at {cut}");
    }
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x41;
        // Accepted or refused; what is accepted passes the checker.
        if counted(&changed).is_ok() && at % 5 == 0 {
            imported_bytes(&changed).unwrap();
        }
    }
}
