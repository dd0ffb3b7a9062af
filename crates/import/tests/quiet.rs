//! Damaged files at which the library of Parquet panics: an error, and nothing else. Alone in its process, whose panics it counts.
use homenode_import::import;
use homenode_table::{Cell, Column, Format, Kind, TableFile};
use std::panic;
use std::sync::atomic::{AtomicU32, Ordering};

static REPORTED: AtomicU32 = AtomicU32::new(0);

fn table() -> Vec<u8> {
    let columns = [("thread", Kind::Count), ("addr", Kind::Count), ("op", Kind::Text)];
    let mut out = Vec::new();
    let columns = columns.map(|(name, kind)| Column::new(name, kind)).to_vec();
    let mut file = TableFile::new(&mut out, Format::Parquet("t", 100), columns).unwrap();
    for i in 0..200 {
        file.push([Cell::Count(i % 3), Cell::Count(i * 8), Cell::from("load")]).unwrap();
    }
    file.finish().unwrap();
    out
}

#[test]
fn panics_of_the_library_are_errors_and_all_others_are_reported() {
    panic::set_hook(Box::new(|_| {
        REPORTED.fetch_add(1, Ordering::Relaxed);
    }));
    let dir = tempfile::tempdir().unwrap();
    let (file, out, whole) = (dir.path().join("t.parquet"), dir.path().join("x.hnt"), table());
    let mut panicked = 0;
    for at in 4..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        std::fs::write(&file, bytes).unwrap();
        let said = import(&file, &out, true).err().map(|e| e.to_string()).unwrap_or_default();
        panicked += u32::from(said.contains("contradict"));
        if panicked == ENOUGH {
            break;
        }
    }
    let reported = || REPORTED.load(Ordering::Relaxed);
    let (at_imports, other) = (reported(), panic::catch_unwind(|| panic!("another one")));
    let thread = std::thread::spawn(|| panic!("of another thread")).join();
    let in_all = reported();
    // Failures of this test are to be seen.
    drop(panic::take_hook());
    assert_eq!(panicked, ENOUGH, "too few files make the library panic: what is tested here?");
    assert_eq!(at_imports, 0, "panics that became errors were reported as well");
    assert_eq!((other.is_err(), thread.is_err(), in_all), (true, true, 2));
}

/// Files at which the library panics that are looked for.
const ENOUGH: u32 = 2;
