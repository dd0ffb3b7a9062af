//! Memory that two processes share is one memory: recordings of a real program.
#[path = "../../capture/tests/support/mod.rs"]
mod support;
use homenode_base::spaces::tag;
use homenode_capture::{RecordOptions, record};
use homenode_trace::order::{Order, OrderKind, rest};
use homenode_trace::{DatasetReader, Merged};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const PAGE_SHIFT: u32 = 12;

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/shared.c")
}

fn program() -> &'static Path {
    static AT: OnceLock<PathBuf> = OnceLock::new();
    AT.get_or_init(|| {
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("shared");
        let include = format!("-I{}/../../include", env!("CARGO_MANIFEST_DIR"));
        support::build(program, &source(), true, &["-O1", &include])
    })
}

/// A checked recording.
fn recorded(memory: &str, what: &str) -> DatasetReader {
    let folder = tempfile::tempdir().unwrap();
    let command = [program().into(), memory.into(), what.into()].to_vec();
    let out = folder.path().join("x.hnt");
    let options = RecordOptions { command, out: out.clone(), backend: "hooks".into(), ..RecordOptions::default() };
    let summary = record(&options, &mut ()).unwrap();
    assert_eq!(summary.exit_status, Some(0), "{memory} {what}");
    support::open(&out)
}

/// References in order whose code is on the line with this mark, with flat addresses.
fn marked(reader: &DatasetReader, kind: OrderKind, mark: &str) -> Vec<Merged> {
    let text = std::fs::read_to_string(source()).unwrap();
    let line = text.lines().position(|l| l.contains(&format!("line: {mark}"))).unwrap() as u32 + 1;
    let site = |r: &Merged| &reader.symbols().sites[r.site as usize];
    let of_line = |r: &Merged| site(r).file.ends_with("shared.c") && site(r).line == line;
    let flat = |r: Merged| Merged { addr: r.addr ^ tag(reader.address_space(r.thread)), ..r };
    rest(&mut Order::new(reader, kind).unwrap()).unwrap().into_iter().filter(of_line).map(flat).collect()
}

/// Which threads use each page.
fn users(refs: &[Merged]) -> Vec<BTreeSet<u32>> {
    let mut pages: BTreeMap<u64, BTreeSet<u32>> = BTreeMap::new();
    refs.iter().for_each(|r| _ = pages.entry(r.addr >> PAGE_SHIFT).or_default().insert(r.thread));
    pages.into_values().collect()
}

#[test]
fn halves_of_one_page_are_one_block_of_two_processes() {
    for memory in ["memfd", "shm", "moved", "segment", "anonymous", "alloc"] {
        let reader = recorded(memory, "halves");
        let pages = users(&marked(&reader, OrderKind::Model, "halves"));
        assert_eq!((pages.len(), pages[0].len()), (1, 2), "{memory}: {pages:?}");
        assert!(!reader.shared().is_empty());
    }
}

#[test]
fn private_memory_is_two_blocks() {
    let reader = recorded("private", "halves");
    let pages = users(&marked(&reader, OrderKind::Model, "halves"));
    assert_eq!(pages.iter().map(BTreeSet::len).collect::<Vec<_>>(), [1, 1], "{pages:?}");
    assert!(reader.shared().is_empty());
}

/// In any legal order each item is read after it was written.
#[test]
fn synchronisation_in_shared_memory_orders_processes() {
    for memory in ["memfd", "shm", "moved", "segment", "anonymous", "alloc"] {
        for what in ["mutex", "semaphore", "named", "barrier", "atomic"] {
            let reader = recorded(memory, what);
            for kind in [OrderKind::Model, OrderKind::Recorded { seed: 1 }] {
                let mut refs = marked(&reader, kind, "produce");
                let made: BTreeMap<u64, usize> = refs.iter().map(|r| (r.addr, 0)).collect();
                assert_eq!(made.len(), 200, "{memory} {what}");
                refs = in_order(&reader, kind);
                let mut written = BTreeSet::new();
                let mut read = 0;
                for r in refs.iter().filter(|r| made.contains_key(&r.addr)) {
                    if r.op.writes() {
                        written.insert(r.addr);
                    } else {
                        assert!(written.contains(&r.addr), "{memory} {what} {kind:?}: read before it was written");
                        read += 1;
                    }
                }
                assert!(read >= 200, "{memory} {what}: {read} items are read where they are written");
            }
        }
    }
}

/// Writes and reads of items.
fn in_order(reader: &DatasetReader, kind: OrderKind) -> Vec<Merged> {
    let flat = |r: Merged| Merged { addr: r.addr ^ tag(reader.address_space(r.thread)), ..r };
    rest(&mut Order::new(reader, kind).unwrap()).unwrap().into_iter().map(flat).collect()
}
