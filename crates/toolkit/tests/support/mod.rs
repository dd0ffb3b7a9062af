//! Synthetic programs as datasets on disk, and a machine with an expander.
#![allow(dead_code, reason = "each test binary uses a part")]
use homenode_synthetic::Builder;
use homenode_toolkit::ReportRequest;
use homenode_trace::order::OrderKind;
use homenode_trace::store::{MemStore, Store};
use std::path::Path;
use tempfile::TempDir;

/// A user's machine, 100 in DRAM and 250 outside: no caches, no section of tiers.
pub(crate) const OWN: &str = "name = \"own\"\nunit = \"ps\"\nword_bytes = 8\npage_bytes = 4096\ncores = [2, 0]\n\
    [read]\nmatrix = [[100, 250], [250, 250]]\n[copy]\nfixed = 1000\nper_word = 2\n";

/// Writes a dataset to the folder `root`.
pub(crate) fn write(store: &MemStore, root: &Path) {
    for name in store.names().expect("names") {
        let file = root.join(&name);
        std::fs::create_dir_all(file.parent().expect("a parent")).expect("made");
        std::fs::write(file, store.get(&name).expect("a file").as_slice()).expect("written");
    }
}

/// A folder with the dataset `x.hnt` and the machine `own.toml`.
pub(crate) fn with_expander(program: &Builder) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    write(&program.store(), &folder.path().join("x.hnt"));
    std::fs::write(folder.path().join("own.toml"), OWN).expect("written");
    folder
}

/// 80 pages once, then 20 of them five hundred times each.
pub(crate) fn hot_pages() -> Builder {
    let mut b = Builder::new(1);
    (0..80u64).chain((0..10_000).map(|i| 60 + i % 20)).for_each(|p| _ = b.read(0, 0x10_0000 + p * 4096));
    b
}

/// The report that is made of a dataset if nobody asks for more, on the machine `two-socket`.
pub(crate) fn report_of(dataset: &Path) -> ReportRequest {
    ReportRequest {
        dataset: dataset.to_owned(),
        compare: None,
        machine: "two-socket".to_owned(),
        blocks: Vec::new(),
        policies: Vec::new(),
        map: None,
        order: OrderKind::Model,
        charge_spins: false,
        model: Default::default(),
        threshold_percent: 5,
        verify: false,
        capacity: Vec::new(),
    }
}
