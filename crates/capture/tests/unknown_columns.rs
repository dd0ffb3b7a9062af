//! Compacting frames with columns of later versions: they stay byte for byte, and damaged ones are refused.
use homenode_capture::{CaptureError, DirStore, compact};
use homenode_synthetic::Builder;
use homenode_trace::DatasetReader;
use homenode_trace::check::check;
use homenode_trace::columns::INSTRUCTIONS;
use homenode_trace::dataset::{frames_file, scan_frames};
use homenode_trace::frame::DecodedFrame;
use homenode_trace::framing::{Codec, HEADER_BYTES};
use homenode_trace::store::Store;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

const REFS: u64 = 15;
/// The frame that gets a column of a later version, of five with three references each.
const STRANGE: usize = 2;

/// Writes a dataset of one thread, whose frames but one have instructions; gives that one the column `column` (number, version,
/// length, content), and returns the frame's place in its file.
fn dataset(folder: &Path, column: &[u8]) -> (PathBuf, std::ops::Range<usize>) {
    let mut program = Builder::new(1);
    program.codec(Codec::Raw).batch_refs(3).frame_refs(3);
    for i in 0..REFS {
        program.write(0, 8 * i);
        if i / 3 != STRANGE as u64 {
            program.column(0, INSTRUCTIONS, 10 + i);
        }
    }
    let (store, name) = (program.store(), frames_file(0));
    let old = store.get(&name).unwrap();
    let frames = scan_frames(&*old, &name, 0).unwrap().frames;
    assert_eq!((frames.len(), frames[STRANGE].columns, frames[0].columns), (5, false, true));
    let (begin, end) =
        (frames[STRANGE].offset as usize, (frames[STRANGE].offset + u64::from(frames[STRANGE].len)) as usize);
    let mut frame = [&old[begin..end], &[1], column].concat();
    frame[4] = 3;
    let bytes = ((frame.len() - HEADER_BYTES) as u32).to_le_bytes();
    frame[24..28].copy_from_slice(&bytes);
    frame[28..32].copy_from_slice(&bytes);
    let sum = xxh3_64_with_seed(&frame[HEADER_BYTES..], xxh3_64(&frame[..32]));
    frame[32..40].copy_from_slice(&sum.to_le_bytes());
    let new = [&old[..begin], &frame, &old[end..]].concat();
    let at = folder.join("x.hnt");
    for file in store.names().unwrap() {
        let to = at.join(&file);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        let content = if file == name { new.clone() } else { store.get(&file).unwrap().to_vec() };
        std::fs::write(to, content).unwrap();
    }
    (at, begin..begin + frame.len())
}

fn open(path: &Path) -> DatasetReader {
    DatasetReader::open(Arc::new(DirStore::open(path).unwrap())).unwrap()
}

/// Addresses and instructions of all references, and the bytes of the frames with columns that are not known.
fn content(path: &Path) -> (Vec<(u64, u64)>, Vec<Vec<u8>>) {
    let (reader, mut refs, mut strange) = (open(path), Vec::new(), Vec::new());
    let (mut bytes, mut frame) = (Vec::new(), DecodedFrame::default());
    for i in 0..reader.frames(0).len() {
        reader.read_frame(0, i, &mut bytes, &mut frame).unwrap();
        let column = frame.column(INSTRUCTIONS);
        refs.extend((0..frame.len()).map(|r| (frame.get(r).addr, column.get(r).copied().unwrap_or(0))));
        if frame.unknown_columns() > 0 {
            strange.push(bytes.clone());
        }
    }
    (refs, strange)
}

#[test]
fn a_frame_with_a_column_of_a_later_version_stays_as_it_is() {
    // A number that nothing has, and a known number in a version that nothing has.
    for column in [&[77, 1, 4, b'l', b'a', b't', b'e'][..], &[5, 9, 2, 7, 4]] {
        let folder = tempfile::tempdir().unwrap();
        let (path, place) = dataset(folder.path(), column);
        let file = path.join(frames_file(0));
        let (before, frame) = (content(&path), std::fs::read(&file).unwrap()[place].to_vec());
        let expected = |i: u64| (8 * i, if i / 3 == STRANGE as u64 { 0 } else { 10 + i });
        assert_eq!(before, ((0..REFS).map(expected).collect(), vec![frame]));
        let other = folder.path().join("y.hnt");
        assert_eq!(compact(&path, Some(&other), false).unwrap().refs, REFS);
        assert_eq!(compact(&path, None, false).unwrap().refs, REFS);
        for path in [&path, &other] {
            assert_eq!(content(path), before);
            assert_eq!(open(path).frames(0).len(), 3, "what lies before and behind it is joined");
            let report = check(&open(path));
            assert!(report.ok(), "{:?}", report.problems);
            assert!(report.notes.iter().any(|n| n.contains("does not know")), "{:?}", report.notes);
        }
        let bytes = std::fs::read(&file).unwrap();
        compact(&path, None, false).unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), bytes, "what is compact stays so");
    }
}

#[test]
fn a_damaged_one_is_refused_and_left() {
    let refused = |path: &Path| {
        let file = path.join(frames_file(0));
        let bytes = std::fs::read(&file).unwrap();
        let other = path.with_file_name("y.hnt");
        for out in [None, Some(other.as_path())] {
            let said = compact(path, out, false).unwrap_err();
            assert!(matches!(said, CaptureError::Trace(_)), "{said}");
            assert!(said.to_string().contains(&frames_file(0)), "{said}");
        }
        assert_eq!(std::fs::read(&file).unwrap(), bytes);
        let left = std::fs::read_dir(file.parent().unwrap()).unwrap().count();
        assert_eq!((left, other.exists()), (1, false), "nothing half done is left");
    };
    let folder = tempfile::tempdir().unwrap();
    let (path, place) = dataset(folder.path(), &[77, 1, 4, b'l', b'a', b't', b'e']);
    let whole = std::fs::read(path.join(frames_file(0))).unwrap();
    for at in place {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        std::fs::write(path.join(frames_file(0)), &bytes).unwrap();
        if DatasetReader::open(Arc::new(DirStore::open(&path).unwrap())).is_ok_and(|r| r.refs(0) == REFS) {
            refused(&path);
        }
    }
    // Damage with a checksum that fits: longer than the frame, out of order, a length without end.
    for column in [&[77, 1, 9, b'l'][..], &[0, 1, 0], &[77, 1, 0xff, 0xff]] {
        let folder = tempfile::tempdir().unwrap();
        refused(&dataset(folder.path(), column).0);
    }
}
