//! Compacting keeps the content and the dataset whole.
use crate::actor::{command, options};
use crate::cases::place;
use crate::dataset::{assert_known_prefix, assert_stamps_ordered, open, spans};
use homenode_capture::{CaptureError, compact, record};
use std::fs;

/// The cases of this file.
pub(crate) const ALL: &[crate::Case] =
    &[("compacting_keeps_everything_and_joins_frames", content), ("compacting_refuses_what_it_would_harm", refusals)];

fn content() {
    let (dir, out) = place();
    // So many threads that rings, and with them frames, are small.
    record(&options(&out, command(&["many", "300", "8000"])), &mut ()).unwrap();
    let before = open(&out);
    let frames = before.frames(299).len();
    let other = dir.path().join("y.hnt");
    let summary = compact(&out, Some(&other), false).unwrap();
    assert_eq!((summary.refs, &summary.path), (2_400_000, &other));
    assert!(summary.bytes_after < summary.bytes_before, "{summary:?}");
    let in_place = compact(&out, None, false).unwrap();
    assert_eq!(in_place.bytes_after, summary.bytes_after);
    for path in [&out, &other] {
        let after = open(path);
        assert_eq!(after.manifest(), before.manifest());
        assert_eq!(after.events(), before.events());
        assert!(frames > 1 && after.frames(299).len() == 1, "{frames} frames became {}", after.frames(299).len());
        for thread in (0..300).step_by(7) {
            assert_eq!(assert_known_prefix(&after, thread), 8_000);
            assert_stamps_ordered(&after, thread);
        }
    }
    assert_eq!(spans(&open(&out), 5), spans(&open(&other), 5));
    // Compacting what is compact changes nothing.
    let bytes = fs::read(out.join("threads/5.frames")).unwrap();
    compact(&out, None, false).unwrap();
    assert_eq!(fs::read(out.join("threads/5.frames")).unwrap(), bytes);
    let hidden = fs::read_dir(out.join("threads"))
        .unwrap()
        .filter(|e| e.as_ref().unwrap().file_name().to_string_lossy().starts_with('.'));
    assert_eq!(hidden.count(), 0);
}

fn refusals() {
    let (dir, out) = place();
    assert!(matches!(compact(&out, None, false), Err(CaptureError::NotADataset { .. })));
    record(&options(&out, command(&["threads", "2", "200000"])), &mut ()).unwrap();
    let other = dir.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("thesis.tex"), "mine").unwrap();
    assert!(matches!(compact(&out, Some(&other), false), Err(CaptureError::OutputExists(_))));
    assert!(matches!(compact(&out, Some(&other), true), Err(CaptureError::NotReplaceable(_))));
    let path = out.join("threads/1.frames");
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, &bytes).unwrap();
    assert!(matches!(compact(&out, None, false), Err(CaptureError::Trace(_))));
    assert_eq!(fs::read(&path).unwrap(), bytes, "a damaged file is left as it is");
}
