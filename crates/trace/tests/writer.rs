//! What is handed to the writer is read back, however frames and chunks were cut and wherever the sink gave up.
use homenode_base::Rng;
use homenode_trace::events::CHUNK_EVENTS_MAX;
use homenode_trace::frame::{DecodedFrame, FRAME_REFS_MAX, RawRef};
use homenode_trace::framing::Codec;
use homenode_trace::manifest::{Manifest, Process, Thread};
use homenode_trace::store::{Append, MemFile, MemStore, Sink};
use homenode_trace::writer::Writer;
use homenode_trace::{DatasetReader, Event, EventKind, Op};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

fn manifest(threads: usize) -> Manifest {
    let (processes, threads) = (vec![Process::default()], vec![Thread::default(); threads]);
    Manifest { complete: true, processes, threads, ..Manifest::default() }.of_format()
}

fn reference(i: u64) -> RawRef {
    let op = Op::ALL[(i % 4) as usize];
    RawRef { addr: 0x1000 + i * i % 4096 * 8, size: 8, op, pc: 0x40_0000 + i % 7 * 4 }
}

fn references(data: &DatasetReader, thread: u32) -> Vec<RawRef> {
    let (mut bytes, mut frame, mut out) = (Vec::new(), DecodedFrame::default(), Vec::new());
    for i in 0..data.frames(thread).len() {
        data.read_frame(thread, i, &mut bytes, &mut frame).expect("whole");
        out.extend((0..frame.len()).map(|i| {
            let r = frame.get(i);
            RawRef { addr: r.addr, size: r.size, op: r.op, pc: frame.pcs[r.site as usize] }
        }));
    }
    out
}

#[test]
fn threads_in_any_turn_and_frames_cut_anywhere_are_read_back() {
    for seed in 0..50 {
        let (mut rng, store) = (Rng::new(seed), Arc::new(MemStore::default()));
        let mut writer = Writer::new(store.clone(), Codec::Lz4).expect("memory");
        let (mut expected, mut events) = ([Vec::new(), Vec::new(), Vec::new()], 0);
        for i in 0..3000u64 {
            let thread = rng.below(3) as u32;
            match rng.below(40) {
                0 => writer.end_frame(thread, i).expect("memory"),
                1 => writer.flush().expect("memory"),
                2..8 => {
                    let at = writer.refs(thread);
                    writer.event(Event { thread, at, stamp: i, kind: EventKind::Free { addr: i } }).expect("memory");
                    events += 1;
                }
                8..12 => writer.stamp(thread, i).expect("memory"),
                _ => {
                    writer.push(thread, reference(i)).expect("memory");
                    expected[thread as usize].push(reference(i));
                }
            }
        }
        writer.finish(manifest(3)).expect("memory");
        let data = DatasetReader::open(store).expect("valid");
        assert_eq!(data.events().len(), events);
        for (thread, expected) in (0..).zip(&expected) {
            assert_eq!(&references(&data, thread), expected, "seed {seed}, thread {thread}");
            let spins = expected.iter().filter(|r| r.op == Op::Spin).count() as u64;
            assert_eq!(data.manifest().threads[thread as usize].spins, spins);
        }
    }
}

#[test]
fn full_frames_and_full_chunks_are_written_without_being_asked_for() {
    let store = Arc::new(MemStore::default());
    let mut writer = Writer::new(store.clone(), Codec::Lz4).expect("memory");
    writer.stamp(0, 1).expect("memory");
    (0..FRAME_REFS_MAX as u64 + 1).for_each(|i| writer.push(0, reference(i)).expect("memory"));
    assert_eq!((writer.pending(0), writer.refs(0)), (1, FRAME_REFS_MAX as u64 + 1));
    let before = writer.bytes();
    for i in 0..CHUNK_EVENTS_MAX as u64 {
        let event = Event { thread: 0, at: writer.refs(0), stamp: i, kind: EventKind::Free { addr: i } };
        writer.event(event).expect("memory");
    }
    assert!(before > 0 && writer.bytes() > before);
    writer.finish(manifest(1)).expect("memory");
    let data = DatasetReader::open(store).expect("valid");
    assert_eq!((data.frames(0).len(), data.refs(0)), (2, FRAME_REFS_MAX as u64 + 1));
}

#[test]
fn threads_that_are_not_in_the_manifest_are_refused() {
    let mut writer = Writer::new(Arc::new(MemStore::default()), Codec::Lz4).expect("memory");
    writer.push(1, reference(0)).expect("memory");
    assert_eq!(writer.finish(manifest(1)).expect_err("two threads").kind(), io::ErrorKind::InvalidInput);
}

/// Memory that takes so many bytes.
#[derive(Clone)]
struct Small(Arc<MemStore>, Arc<AtomicI64>);

struct SmallFile(MemFile, Arc<AtomicI64>);

impl Append for SmallFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.1.fetch_sub(bytes.len() as i64, Ordering::Relaxed) < bytes.len() as i64 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.0.append(bytes)
    }
    fn bytes(&self) -> u64 {
        self.0.bytes()
    }
}

impl Sink for Small {
    type File = SmallFile;
    fn create(&self, name: &str) -> io::Result<SmallFile> {
        Ok(SmallFile(self.0.create(name)?, self.1.clone()))
    }
    fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.0.replace(name, bytes)
    }
}

#[test]
fn what_was_flushed_before_the_sink_gave_up_is_a_dataset() {
    for room in (0..20_000).step_by(997) {
        let sink = Small(Arc::new(MemStore::default()), Arc::new(AtomicI64::new(room)));
        let mut writer = Writer::new(sink.clone(), Codec::Raw).expect("nothing is written yet");
        let mut i = 0;
        let failed = loop {
            let thread = (i % 3) as u32;
            writer.push(thread, reference(i)).expect("the frame has room");
            i += 1;
            if i % 100 == 0
                && let Err(error) = writer.flush()
            {
                break error;
            }
        };
        assert_eq!(failed.kind(), io::ErrorKind::StorageFull);
        let held: u64 = (0..3).map(|t| writer.refs(t)).sum();
        // There is room again.
        sink.1.store(1 << 40, Ordering::Relaxed);
        writer.begin(2).expect("memory");
        writer.finish(manifest(3)).expect("memory");
        let data = DatasetReader::open(sink.0).expect("whole frames");
        assert_eq!((0..3).map(|t| data.refs(t)).sum::<u64>(), held);
        assert!(held + 100 >= i, "room {room}: {held} of {i}");
    }
}
