//! Reading a dataset back and comparing it with what is known.
use crate::producer::{ExpectedReference, known};
use homenode_capture::DirStore;
use homenode_trace::DatasetReader;
use homenode_trace::check::check;
use homenode_trace::frame::DecodedFrame;
use std::path::Path;
use std::sync::Arc;

/// A dataset that the checker accepts.
pub(crate) fn open(path: &Path) -> DatasetReader {
    let reader = open_unchecked(path);
    let report = check(&reader);
    assert!(report.ok(), "{:?}", report.problems);
    reader
}

/// A dataset that can be opened.
pub(crate) fn open_unchecked(path: &Path) -> DatasetReader {
    DatasetReader::open(Arc::new(DirStore::open(path).unwrap())).unwrap()
}

/// All references of a thread.
pub(crate) fn references(reader: &DatasetReader, thread: u32) -> Vec<ExpectedReference> {
    let (mut bytes, mut frame, mut all) = (Vec::new(), DecodedFrame::default(), Vec::new());
    for i in 0..reader.frames(thread).len() {
        reader.read_frame(thread, i, &mut bytes, &mut frame).unwrap();
        all.extend((0..frame.len()).map(|i| {
            let r = frame.get(i);
            ExpectedReference { addr: r.addr, size: r.size, op: r.op as u8, pc: frame.pcs[r.site as usize] }
        }));
    }
    all
}

/// Stamps never run backwards within a thread.
pub(crate) fn assert_stamps_ordered(reader: &DatasetReader, thread: u32) {
    let (mut bytes, mut frame, mut before) = (Vec::new(), DecodedFrame::default(), 0);
    for i in 0..reader.frames(thread).len() {
        reader.read_frame(thread, i, &mut bytes, &mut frame).unwrap();
        for stamp in frame.batches.iter().map(|b| b.begin).chain([frame.end]) {
            assert!(stamp >= before && stamp > 0, "thread {thread} frame {i}: {stamp} after {before}");
            before = stamp;
        }
    }
}

/// Asserts that a thread's references are the first ones of its known sequence; returns how many.
pub(crate) fn assert_known_prefix(reader: &DatasetReader, thread: u32) -> u64 {
    let all = references(reader, thread);
    for (i, r) in all.iter().enumerate() {
        assert_eq!(*r, known(thread, i as u64), "reference {i} of thread {thread}");
    }
    assert_stamps_ordered(reader, thread);
    all.len() as u64
}

/// Lock events of [`crate::actor`]'s threads must stand exactly where they were made, none twice.
pub(crate) fn assert_lock_events(reader: &DatasetReader, thread: u32) {
    use homenode_trace::EventKind::{Acquire, Release};
    let locks: Vec<_> =
        reader.thread_events(thread).filter(|e| matches!(e.kind, Acquire { .. } | Release { .. })).collect();
    for (n, event) in locks.iter().enumerate() {
        let n = n as u64;
        assert_eq!(event.at, (n + 1) * 1000, "event {n} of thread {thread}");
        let (Acquire { object, epoch, seq, .. } | Release { object, epoch, seq, .. }) = event.kind else {
            unreachable!()
        };
        assert_eq!((object, epoch, seq), (0x6000 + u64::from(thread), 0, n));
        assert!(event.stamp > 0);
    }
    let expected = reader.refs(thread) / 1000;
    let n = locks.len() as u64;
    assert!(n == expected || n + 1 == expected, "thread {thread}: {n} lock events, {expected} expected");
}

/// Batches with references, as (references, begin, end).
pub(crate) fn spans(reader: &DatasetReader, thread: u32) -> Vec<(u32, u64, u64)> {
    let (mut bytes, mut frame, mut all) = (Vec::new(), DecodedFrame::default(), Vec::new());
    for i in 0..reader.frames(thread).len() {
        reader.read_frame(thread, i, &mut bytes, &mut frame).unwrap();
        let ends = frame.batches.iter().skip(1).map(|b| b.begin).chain([frame.end]);
        all.extend(frame.batches.iter().zip(ends).filter(|(b, _)| b.refs > 0).map(|(b, end)| (b.refs, b.begin, end)));
    }
    all
}
