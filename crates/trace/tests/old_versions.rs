//! Datasets that earlier versions wrote, under `testdata`: two recordings (events of version 1 and 2, no kinds of synchronisation) and
//! an import of samples. They are read as they were.
use homenode_trace::DatasetReader;
use homenode_trace::check::check;
use homenode_trace::event::SyncKind;
use homenode_trace::order::{Order, OrderKind, rest};
use homenode_trace::store::MemStore;
use std::path::Path;
use std::sync::Arc;

fn open(name: &str) -> DatasetReader {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name);
    let store = MemStore::default();
    for folder in ["", "threads/"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap().map(Result::unwrap) {
            if entry.path().is_file() {
                store.put(
                    &format!("{folder}{}", entry.file_name().to_str().unwrap()),
                    std::fs::read(entry.path()).unwrap(),
                );
            }
        }
    }
    DatasetReader::open(Arc::new(store)).unwrap()
}

#[test]
fn they_are_sound_and_in_order_and_say_no_kind_of_synchronisation() {
    for (name, threads, refs, events, synchronising) in [
        ("version-1-barriers.hnt", 5, 32_810, 64, 38),
        ("version-1-locks.hnt", 4, 1_057, 486, 463),
        ("version-2-samples.hnt", 1, 200, 3, 0),
    ] {
        let data = open(name);
        let report = check(&data);
        assert!(report.problems.is_empty(), "{name}: {:?}", report.problems);
        let mut order = Order::new(&data, OrderKind::Model).unwrap();
        assert_eq!(rest(&mut order).unwrap().len() as u64, order.summary().refs, "{name}");
        let summary = order.summary();
        assert_eq!((data.threads(), summary.refs, summary.events), (threads, refs, events), "{name}");
        let kinds: Vec<SyncKind> = data.events().into_iter().filter_map(|e| e.kind.sync()).collect();
        assert!(
            kinds.len() == synchronising && kinds.iter().all(|k| *k == SyncKind::Unknown),
            "{name}: {}",
            kinds.len()
        );
    }
}
