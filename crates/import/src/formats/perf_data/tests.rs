//! Files made byte by byte and what becomes of them.
use super::testfile::{TestFile, attr, padded, pair, text, words};
use crate::report::{ExactSink, FileReport, ImportSink, Input};
use crate::{ImportError, ImportSummary, import, read};
use homenode_capture::{CaptureError, DirStore};
use homenode_sampling::{Notice, RawSample};
use homenode_symbols::Modules;
use homenode_trace::check::check;
use homenode_trace::manifest::Clock;
use homenode_trace::{DataSource, DatasetReader, EventKind, Op, SampleUnit};
use std::io::Cursor as Bytes;
use std::path::Path;
use std::sync::Arc;

// IP, TID, TIME, ADDR, ID, CPU, PERIOD, WEIGHT, DATA_SRC.
const TYPE: u64 = 0x1 | 0x2 | 0x4 | 0x8 | 0x40 | 0x80 | 0x100 | 0x4000 | 0x8000;
const REMOTE_LOAD: u64 = 2 | (2 | 0x100) << 5;
const LOCAL_STORE: u64 = 4 | (2 | 0x80) << 5;

/// Everything that a sink was given.
#[derive(Default)]
struct Seen {
    samples: Vec<RawSample>,
    notices: Vec<Notice>,
    names: Vec<(u32, String, bool)>,
}

impl ImportSink for Seen {
    fn sample(&mut self, s: &RawSample) -> Result<(), ImportError> {
        self.samples.push(*s);
        Ok(())
    }
    fn notice(&mut self, n: &Notice) -> Result<(), ImportError> {
        self.notices.push(n.clone());
        Ok(())
    }
    fn name(&mut self, pid: u32, name: &str, exec: bool) {
        self.names.push((pid, name.to_owned(), exec));
    }
    fn exact(&mut self) -> Result<&mut dyn ExactSink, ImportError> {
        panic!("samples are no exact references")
    }
}

fn sample(f: TestFile, tid: u32, time: u64, addr: u64, id: u64, src: u64) -> TestFile {
    f.add(9, 2, &words(&[0x40_1000 + time, pair(7, tid), time, addr, id, pair(3, 0), 1000, 250, src]))
}

/// Two events with ids, a process with two threads, one of which moves between processors so that its samples are out of
/// order in the file; the last sample is of the kernel, one has no address.
fn two_events() -> TestFile {
    let mut loads = attr(4, 0x1cd, 1000, TYPE, 0);
    loads[56..64].copy_from_slice(&30_u64.to_le_bytes());
    let map = [words(&[pair(7, 7), 0x40_0000, 0x2000, 0x1000, 0, 0, 0, pair(5, 2)]), padded("/usr/bin/lu")].concat();
    let mut f = TestFile::default()
        .event(loads, &[11, 12])
        .event(attr(4, 0x2cd, 1000, TYPE, 0), &[21])
        .add(3, 1 << 13, &[words(&[pair(7, 7)]), padded("lu")].concat())
        .add(10, 2, &map);
    for (tid, time, addr, id, src) in [
        (7, 100, 0x7000_0000, 11, REMOTE_LOAD),
        (8, 300, 0x7000_1000, 21, LOCAL_STORE),
        (7, 200, 0x7000_2000, 12, REMOTE_LOAD | 0x10 << 19),
    ] {
        f = sample(f, tid, time, addr, id, src);
    }
    f = f.add(68, 0, &[]);
    f = sample(f, 7, 310, 0, 11, 0);
    f = sample(f, 7, 320, 0xffff_8800_0000_0000, 11, 0);
    f = sample(f, 8, 305, 0x7000_1008, 12, REMOTE_LOAD);
    f.add(4, 0, &words(&[pair(7, 7), pair(8, 7), 400])).add(2, 0, &words(&[11, 5]))
}

fn names() -> TestFile {
    let desc = |config: u64, name: &str, ids: &[u64]| {
        let ids_count = (ids.len() as u32).to_le_bytes().to_vec();
        [attr(4, config, 1000, TYPE, 0), ids_count, text(name), words(ids)].concat()
    };
    let head = [2_u32.to_le_bytes(), 112_u32.to_le_bytes()].concat();
    let all = [head, desc(0x1cd, "cpu/mem-loads,ldlat=30/P", &[11, 12]), desc(0x2cd, "cpu/mem-stores/P", &[21])];
    two_events()
        .feature(12, all.concat())
        .feature(4, text("6.1.0"))
        .feature(7, [8_u32.to_le_bytes(), 4_u32.to_le_bytes()].concat())
        .feature(11, [2_u32.to_le_bytes().to_vec(), text("perf"), text("mem")].concat())
}

fn seen(bytes: &[u8]) -> Result<(Seen, FileReport), String> {
    let mut sink = Seen::default();
    let (_, report) =
        read(Path::new("x"), Input::File(&mut Bytes::new(bytes)), &mut sink).map_err(|e| e.to_string())?;
    Ok((sink, report))
}

#[test]
fn file_and_pipe_say_the_same_in_order_of_time() {
    let (file, report) = seen(&names().file()).unwrap();
    let (pipe, of_pipe) = seen(&names().pipe()).unwrap();
    assert_eq!(file.samples, pipe.samples);
    assert_eq!((file.notices.clone(), file.names.clone(), report.counts), (pipe.notices, pipe.names, of_pipe.counts));
    let times: Vec<u64> = file.samples.iter().map(|s| s.time_ns).collect();
    assert_eq!(times, [100, 200, 300, 305]);
    let s = file.samples[0];
    assert_eq!((s.pid, s.tid, s.cpu, s.ip, s.addr), (7, 7, Some(3), 0x40_1064, 0x7000_0000));
    assert_eq!((s.op, s.weight, s.latency_cycles, s.source), (Op::Read, 1000, Some(250), DataSource::RemoteMemory));
    assert_eq!(file.samples[1].source, DataSource::RemoteModified);
    assert_eq!((file.samples[2].op, file.samples[2].source), (Op::Write, DataSource::LocalMemory));
    let c = report.counts;
    assert_eq!((c.seen, c.delivered, c.unaddressed, c.kernel, c.lost, c.damaged), (6, 4, 1, 1, 5, 0));
    assert_eq!(report.sampling.event, "cpu/mem-loads,ldlat=30/P, cpu/mem-stores/P");
    assert_eq!((report.sampling.unit, report.sampling.sees_writes), (SampleUnit::Miss, true));
    assert_eq!((report.sampling.lost, report.sampling.unaddressed), (5, 2));
    assert_eq!((report.facts.kernel.as_str(), report.facts.cpus), ("6.1.0", 4));
    assert_eq!(report.facts.command, ["perf", "mem"]);
    assert_eq!(file.names, [(7, "lu".to_owned(), true)]);
}

#[test]
fn the_dataset_has_processes_threads_mappings_weights_and_passes_the_checker() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (dir.path().join("perf.data"), dir.path().join("x.hnt"));
    std::fs::write(&file, names().file()).unwrap();
    let summary = import(&file, &out, false).unwrap();
    assert_eq!((summary.samples, summary.threads, summary.processes), (4, 2, 1));
    let store = Arc::new(DirStore::open(&out).unwrap());
    let data = DatasetReader::open(store).unwrap();
    let m = data.manifest();
    assert_eq!((m.clock, m.synchronised, m.complete, m.backend.as_str()), (Clock::Ns, false, true, "perf.data"));
    assert_eq!(m.sampling.as_ref().unwrap().period, 1000);
    assert_eq!(m.processes[0].executable, "/usr/bin/lu");
    assert_eq!(m.threads.iter().map(|t| (t.tid, t.refs)).collect::<Vec<_>>(), [(7, 2), (8, 2)]);
    let kinds: Vec<EventKind> = data.events().iter().map(|e| e.into_owned().kind).collect();
    assert!(matches!(kinds[0], EventKind::Process { pid: 7, .. }));
    assert!(matches!(kinds[1], EventKind::Map { addr: 0x40_0000, bytes: 0x2000, prot: 5, .. }));
    assert!(matches!(&kinds[2], EventKind::Module { bias: 0x3f_f000, path, .. } if path == "/usr/bin/lu"));
    assert_eq!(kinds[3], EventKind::Exit);
    let site = &data.symbols().sites[0];
    assert_eq!((site.module.as_str(), site.offset), ("/usr/bin/lu", 0x2064));
    let report = check(&data);
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    assert!(matches!(import(&file, &out, false), Err(ImportError::Dataset(CaptureError::OutputExists(_)))));
    std::fs::write(&file, b"PERFILE2 no more").unwrap();
    assert!(
        import(&file, &out, true).is_err() && out.join("manifest.json").exists(),
        "a refused file replaces nothing"
    );
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "no litter");
}

#[test]
fn what_is_no_evidence_is_refused_with_the_reason() {
    let plain = TestFile::default().event(attr(1, 0, 1000, 0xf, 0), &[]);
    let say = |bytes: &[u8]| seen(bytes).err().expect("refused");
    let zero = plain.clone().add(9, 2, &words(&[1, pair(7, 7), 5, 0]));
    assert!(say(&zero.file()).contains("none of its 1 samples has a data address"));
    let kernel = plain.clone().add(9, 2, &words(&[1, pair(7, 7), 5, 1 << 63]));
    assert!(say(&kernel.file()).contains("0 have none, 1 are of the kernel"));
    assert!(say(&plain.clone().add(68, 0, &[]).file()).contains("no samples"));
    assert!(say(&plain.file()).contains("killed before"));
    assert!(say(b"").contains("too short") && say(b"\x7fELF............").contains("no other format"));
    assert!(say(b"2ELIFREP\0\0\0\0\0\0\0\x10").contains("byte order"));
    let mixed = plain.event(attr(1, 1, 1000, 0x1f, 0), &[5]).add(9, 2, &words(&[0; 5]));
    assert!(say(&mixed.file()).contains("which is which"));
    let none = TestFile::default().add(9, 2, &words(&[0; 5]));
    assert!(say(&none.pipe()).contains("before it describes any event"));
}

#[test]
fn layouts_are_told_apart_by_the_identifier_and_trace_data_is_passed_over() {
    let f = TestFile::default()
        .event(attr(1, 0, 7, 0x1_0001, 0), &[5])
        .event(attr(1, 2, 3, 0x1_000f, 0), &[6])
        .add(71, 0, &words(&[16, 0, 0, 0, 0]))
        .raw(&[0xff; 16])
        .add(9, 2, &words(&[5, 0x1000]))
        .add(9, 2, &words(&[6, 0x1000, pair(1, 2), 9, 0x5000]))
        .add(9, 2, &words(&[99, 0x1000, pair(1, 2), 9, 0x5000]));
    let (sink, report) = seen(&f.file()).unwrap();
    assert_eq!(sink.samples.iter().map(|s| (s.tid, s.addr, s.weight)).collect::<Vec<_>>(), [(2, 0x5000, 3)]);
    assert_eq!((report.counts.unaddressed, report.counts.damaged), (1, 1));
    assert!(report.notes.iter().any(|n| n.contains("passed over")));
}

/// Two loads through the second register and the first, something else, and code that is not there; all at `at` of a file.
fn with_registers(code: &Path, machine: &str, at: [u64; 3], precise: u64) -> TestFile {
    let map = [words(&[pair(7, 7), 0x40_0000, 0x1000, 0]), padded(code.to_str().unwrap())].concat();
    // IP, TID, TIME and the first two registers of user space.
    let mut event = attr(4, 0xc0, 100, 0x1007, precise << 15);
    event[80..88].copy_from_slice(&3_u64.to_le_bytes());
    let mut f = TestFile::default().event(event, &[]).feature(6, text(machine)).add(1, 2, &map);
    for (time, offset) in (1..).zip(at.into_iter().chain([0x10_0000])) {
        f = f.add(9, 2, &words(&[0x40_0000 + offset, pair(7, 8), time, 2, 0x3000, 0x5000]));
    }
    f
}

#[test]
fn addresses_are_rebuilt_from_registers_and_code_where_the_file_has_only_those() {
    let dir = tempfile::tempdir().unwrap();
    let code = dir.path().join("code");
    // At offset 16: mov 8(%rbx),%rax; mov (%rax),%rax; nop. At offset 24: ldr x0, [x1, #8]; ldr x0, [x0]; nop.
    let x86 = [0x48, 0x8b, 0x43, 0x08, 0x48, 0x8b, 0x00, 0x90];
    let arm = [0xf940_0420_u32, 0xf940_0000, 0xd503_201f].map(u32::to_le_bytes).concat();
    std::fs::write(&code, [&[0xcc; 16][..], &x86, &arm].concat()).unwrap();
    for (machine, at) in [("x86_64", [16, 20, 23]), ("aarch64", [24, 28, 32])] {
        for (precise, wanted) in [(0, vec![0x5008, 0x3000]), (2, vec![0x5008])] {
            let (sink, report) = seen(&with_registers(&code, machine, at, precise).file()).unwrap();
            let found: Vec<_> = sink.samples.iter().map(|s| s.addr).collect();
            assert!(sink.samples.iter().all(|s| (s.size, s.op) == (8, Op::Read)));
            // Behind the fact both loads have overwritten their destination, but only one of them needs it.
            let lost = 2 - wanted.len();
            assert_eq!((found, report.counts.unaddressed), (wanted, 2 + lost as u64));
            let note = report.notes.iter().find(|n| n.contains("from registers")).unwrap();
            assert!(note.contains("1 without code") && note.contains("1 not referring to data"), "{note}");
            assert!(note.contains(&format!("{lost} whose registers were overwritten")), "{note}");
        }
    }
    // The bytes are not taken for what they are not.
    for machine in ["", "ppc64le", "i686"] {
        let refused = seen(&with_registers(&code, machine, [16, 20, 23], 0).file()).err().unwrap();
        assert!(refused.contains("none of its 4 samples has a data address"), "{refused}");
    }
}

/// The file says where the code is. Somebody may have put something else there.
#[test]
fn code_that_is_no_regular_file_is_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for code in [&fifo, dir.path(), Path::new("/dev/zero")] {
        let refused = seen(&with_registers(code, "x86_64", [16, 20, 23], 0).file()).err().unwrap();
        assert!(refused.contains("none of its 4 samples has a data address"), "{refused}");
        assert!(Modules::default().mapped(1, 0x40_0000, 0, 4, code.to_str().unwrap()).is_none());
    }
}

#[test]
fn the_ids_of_an_only_event_need_not_be_in_its_samples() {
    let f = TestFile::default().event(attr(1, 2, 1, 0x800f, 0), &[187, 188]);
    let f = f.add(9, 2, &words(&[0x1000, pair(7, 8), 5, 0x7000, LOCAL_STORE]));
    let (sink, report) = seen(&f.file()).unwrap();
    assert_eq!((sink.samples.len(), report.counts.damaged, report.sampling.unit), (1, 0, SampleUnit::Window));
}

#[test]
fn packets_of_arm_become_samples_with_thread_time_and_process() {
    let text_name = text("arm_spe_0/load_filter=1,store_filter=1/");
    let event = attr(8, 0, 1024, 0x1_0087, 0);
    let desc = [&[1_u32.to_le_bytes(), 112_u32.to_le_bytes()].concat(), &event, &[1, 0, 0, 0][..], &text_name].concat();
    let desc = [desc, words(&[5])].concat();
    let packets = |context: Option<u32>, addr: u64, op: u8, ticks: u64| {
        let context = context.map_or_else(Vec::new, |c| [&[0x65][..], &c.to_le_bytes()].concat());
        let time = [&[0x71][..], &ticks.to_le_bytes()].concat();
        let pc = [&[0xb0][..], &0x40_1000_u64.to_le_bytes()].concat();
        let data = [&[0xb2][..], &addr.to_le_bytes()].concat();
        // Remote, 300 cycles in all.
        [pc, context, vec![0x49, op], vec![0x52, 0x00, 0x04], vec![0x98, 0x2c, 0x01], data, time].concat()
    };
    let mut trace = [
        packets(Some(8), 0x7000, 1, 20),
        packets(None, 0x8000, 0, 10),
        packets(Some(8), 0xff_8000_0000_1000, 0, 30),
        packets(Some(8), 0, 0, 40),
        vec![0xff],
    ]
    .concat();
    trace.resize(trace.len().next_multiple_of(8), 0);
    let info = |kind: u64| words(&[kind, 0]);
    let piece = |tid: u32| words(&[trace.len() as u64, 0, 0, pair(0, tid), pair(3, 0)]);
    let file = |kind: u64, tid: u32| {
        let name = [words(&[pair(7, 8)]), b"lu\0\0\0\0\0\0".to_vec(), words(&[pair(7, 8), 1, pair(0, 0), 5])].concat();
        let f = TestFile::default().event(event.clone(), &[5]).feature(12, desc.clone());
        let f = f.add(70, 0, &info(kind)).add(79, 0, &words(&[2, 40, 1000])).add(3, 0, &name);
        f.add(71, 0, &piece(tid)).raw(&trace).add(68, 0, &[]).file()
    };
    let (sink, report) = seen(&file(4, 9)).unwrap();
    let found: Vec<_> = sink.samples.iter().map(|s| (s.time_ns, s.pid, s.tid, s.addr, s.op)).collect();
    // 10 ticks are 100 ns; thread 9 is known from the piece only.
    assert_eq!(found, [(1100, 9, 9, 0x8000, Op::Read), (1200, 7, 8, 0x7000, Op::Write)]);
    let s = sink.samples[1];
    assert_eq!((s.cpu, s.ip, s.weight, s.latency_cycles), (Some(3), 0x40_1000, 1024, Some(300)));
    assert_eq!((s.source, report.sampling.sees_writes), (DataSource::RemoteMemory, true));
    let c = report.counts;
    assert_eq!((c.seen, c.delivered, c.kernel, c.unaddressed), (4, 2, 1, 1));
    assert!(report.notes.iter().any(|n| n.starts_with("1 bytes of ARM SPE")), "{:?}", report.notes);
    let (sink, report) = seen(&file(4, u32::MAX)).unwrap();
    assert_eq!(sink.samples.len(), 1, "nobody knows whose the other one is");
    assert!(report.notes.iter().any(|n| n.contains("CONFIG_PID_IN_CONTEXTIDR")), "{:?}", report.notes);
    // Intel PT: passed over.
    assert!(seen(&file(1, 9)).err().unwrap().contains("no samples"));
}

#[test]
fn compressed_records_say_the_same_wherever_they_are_cut() {
    let (plain, report) = seen(&names().file()).unwrap();
    for bytes in [1, 2, 7, 30, 1000] {
        for padded in [false, true] {
            for file in [names().packed(bytes, padded).file(), names().packed(bytes, padded).pipe()] {
                let (packed, of_packed) = seen(&file).unwrap();
                assert_eq!(
                    (&packed.samples, &packed.notices, &packed.names),
                    (&plain.samples, &plain.notices, &plain.names)
                );
                assert_eq!((of_packed.counts, of_packed.notes), (report.counts, report.notes.clone()));
            }
        }
    }
}

#[test]
fn a_folder_of_files_says_the_same_as_one_file() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(dir.path().join("f").join(name), bytes).unwrap();
    let imported = || {
        let out = dir.path().join("x.hnt");
        import(&dir.path().join("f"), &out, true).map_err(|e| e.to_string())
    };
    std::fs::create_dir(dir.path().join("f")).unwrap();
    std::fs::write(dir.path().join("one"), names().file()).unwrap();
    let one = import(&dir.path().join("one"), &dir.path().join("one.hnt"), false).unwrap();
    let whole = names();
    // A name and a mapping with the header, everything else in two files, of which the second is compressed.
    let (first, rest) = whole.split(2);
    let (second, third) = rest.split(4);
    let format = words(&[1]);
    write("data", &first.feature(24, format).file());
    let alone = |name: &str| {
        let out = dir.path().join("alone.hnt");
        import(&dir.path().join("f").join(name), &out, false).unwrap_err().to_string()
    };
    assert!(alone("data").contains("import the folder in which it lies"), "{}", alone("data"));
    write("data.0", second.records());
    write("data.1", third.packed(50, false).records());
    assert!(alone("data.0").contains("import the folder in which it lies"), "{}", alone("data.0"));
    let folder = imported().unwrap();
    let facts = |s: &ImportSummary| (s.samples, s.threads, s.processes, s.counts, s.notes.clone());
    assert_eq!(facts(&folder), facts(&one));
    std::fs::rename(dir.path().join("f/data.0"), dir.path().join("f/data.7")).unwrap();
    assert!(imported().unwrap().notes.iter().any(|n| n.contains("data.0 is not there")));
    std::fs::create_dir(dir.path().join("f/data.9")).unwrap();
    assert!(imported().unwrap_err().contains("data.9"));
    std::fs::remove_file(dir.path().join("f/data")).unwrap();
    assert!(imported().unwrap_err().contains("not a"));
}

#[test]
fn damage_within_compressed_records_loses_what_follows_and_bombs_are_refused() {
    let event = TestFile::default().event(attr(1, 0, 1000, 0xf, 0), &[]);
    let one = || words(&[1, pair(7, 7), 5, 0x7000]);
    let damage = |f: TestFile| {
        let (sink, report) = seen(&f.add(9, 2, &one()).file()).unwrap();
        (sink.samples.len(), report.counts.damaged, report.notes.concat())
    };
    let good = event.clone().add(9, 2, &one()).packed(1000, false);
    let (samples, _, notes) = damage(good.clone().add(81, 0, b"no stream").add(81, 0, &[0]));
    assert!(samples == 2 && notes.contains("compressed records are damaged"), "{samples} {notes}");
    let (samples, _, notes) = damage(event.clone().add(9, 2, &one()).raw(&[9, 0, 0, 0]).packed(9, false));
    assert!(samples == 2 && notes.contains("end within a record"), "{samples} {notes}");
    let (samples, _, notes) = damage(event.clone().raw(&[0; 8]).packed(1000, true));
    assert!(samples == 1 && notes.contains("are damaged"), "a record of no bytes: {samples} {notes}");
    // Compressed records within compressed ones, and what stands outside of records.
    let twice = good.packed(1000, false).add(83, 0, &words(&[u64::MAX]));
    assert_eq!(damage(twice.add(83, 0, &[1])), (1, 1, "1 records contradict themselves and were passed over".into()));
    let outside = event.clone().add(71, 0, &words(&[16, 0, 0, 0, 0])).packed(1000, true);
    assert_eq!(damage(outside).1, 1);
    let bomb = event.raw(&super::testfile::record(68, 0, &[0; 60_000]).repeat(300)).packed(60_000, false);
    let why = seen(&bomb.file()).err().expect("refused");
    assert!(why.contains("more than 256 times"), "{why}");
}

#[test]
fn every_cut_and_every_changed_byte_is_survived() {
    let whole = names().file();
    for n in 0..whole.len() {
        let _ = seen(&whole[..n]);
    }
    let (pipe, packed) = (names().pipe(), names().packed(90, true).file());
    let mut rng = homenode_base::Rng::new(1);
    for _ in 0..4000 {
        let mut bytes = [&whole, &pipe, &packed][rng.below(3) as usize].clone();
        for _ in 0..=rng.below(3) {
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] = rng.next_u64() as u8;
        }
        let _ = seen(&bytes);
    }
}
