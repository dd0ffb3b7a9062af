//! Any bytes as an executable: its build id, variables, functions, lines and segments are read or it is refused.
#![no_main]
use homenode_symbols::image::resolve;
use homenode_symbols::{Modules, read_module};
use libfuzzer_sys::fuzz_target;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;
use tempfile::TempDir;

static FOLDER: LazyLock<TempDir> = LazyLock::new(homenode_fuzz::folder);

fuzz_target!(|data: &[u8]| {
    let path = FOLDER.path().join("program");
    fs::write(&path, data).expect("memory takes it");
    let _ = read_module(&path);
    if let Ok(answers) =
        resolve(&path, &[0, 0x1000, 0x40_1000, u64::MAX], &[0x1000, 0x40_1000], Some(Path::new("/nonexistent")))
    {
        assert_eq!(answers.places.len(), 4);
        assert!(answers.globals.is_sorted_by_key(|g| g.address));
    }
    let mut modules = Modules::default();
    let name = path.to_string_lossy();
    for (addr, offset) in [(0x7f00_0000_0000, 0), (0x40_1000, 0x1000), (u64::MAX - 0xfff, 0), (0, u64::MAX)] {
        let _ = modules.mapped(1, addr, offset, 5, &name);
    }
});
