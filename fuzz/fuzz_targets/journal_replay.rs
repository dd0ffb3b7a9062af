//! Journals of the live loop and the texts of `/proc` that it reads: any bytes give an answer or an error.
#![no_main]
use homenode_migrate::process::{parse_numa_maps, parse_smaps};
use homenode_placement::live::replay;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    if let Ok(done) = replay(&text, None) {
        assert!(done.effects <= text.lines().count() as u64);
    }
    assert!(parse_smaps(&text).iter().all(|a| a.start < a.end));
    let _ = parse_numa_maps(&text);
});
