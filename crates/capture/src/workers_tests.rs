//! Several workers on the same rings: machines with more processors than those that usually run these tests.
#[path = "../tests/recording/producer.rs"]
#[allow(dead_code, reason = "the integration test uses the rest")]
mod producer;

use crate::control::{Control, RINGS};
use crate::drain::Ledger;
use crate::store::{DirStore, NewDataset};
use crate::workers::Recording;
use homenode_base::ring::{EVENT_RELEASE, RING_BYTES_MAX, SLOT_BYTES};
use homenode_trace::dataset::{frames_file, scan_events, scan_frames};
use homenode_trace::frame::{DecodedFrame, decode_frame};
use homenode_trace::framing::Codec;
use homenode_trace::store::Store;
use homenode_trace::writer::EventFile;
use producer::{Attached, ExpectedReference, known};

const REFS: u64 = 2 * RING_BYTES_MAX / SLOT_BYTES;
const THREADS: u32 = 8;

fn produce(control: &Attached) {
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            let mut ring = control.create(control.claim(None));
            scope.spawn(move || {
                for i in 0..REFS {
                    ring.reference(known(ring.index, i));
                    if i % 100 == 99 {
                        ring.event(EVENT_RELEASE, 0x6000, i, &[[0, i + 1]]);
                    }
                }
                ring.done();
            });
        }
    });
}

#[test]
fn three_workers_record_what_one_would() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("x.hnt");
    let new = NewDataset::create(&root, false).unwrap();
    let control = Control::create(&new.dir.sub(RINGS).unwrap(), false, None).unwrap();
    let attached = Attached::open(&control.path());
    let ledger = Ledger::new(EventFile::create(&DirStore::of(&new.dir), Codec::Lz4).unwrap(), None);
    let recording = Recording::new(new.dir.clone(), control, ledger, 3);
    std::thread::scope(|scope| {
        recording.start(scope);
        produce(&attached);
        recording.finish();
    });
    let store = DirStore::of(&new.dir);
    let (events, _, fault) = scan_events(&std::fs::read(root.join("events.bin")).unwrap());
    assert!(fault.is_none() && recording.troubles().rings.is_empty());
    for thread in 0..THREADS {
        let own: Vec<u64> = events.iter().filter(|e| e.thread == thread && e.stamp > 0).map(|e| e.at).collect();
        // The last event is the end of the thread.
        assert!(own[..own.len() - 1].iter().copied().eq((1..=REFS / 100).map(|n| n * 100)), "thread {thread}");
        assert_eq!(recording.counts()[thread as usize].refs, REFS);
        let name = frames_file(thread);
        let (file, mut frame, mut next) = (store.open(&name).unwrap(), DecodedFrame::default(), 0);
        for entry in scan_frames(&*file, &name, thread).unwrap().frames {
            let mut bytes = vec![0; entry.len as usize];
            file.read_at(entry.offset, &mut bytes).unwrap();
            decode_frame(&bytes, &mut frame).unwrap();
            for i in 0..frame.len() {
                let r = frame.get(i);
                let found =
                    ExpectedReference { addr: r.addr, size: r.size, op: r.op as u8, pc: frame.pcs[r.site as usize] };
                assert_eq!(found, known(thread, next), "reference {next} of thread {thread}");
                next += 1;
            }
        }
        assert_eq!(next, REFS);
    }
    new.abandon();
}
