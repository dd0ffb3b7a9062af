//! Any text as an agent's result: no panic, and an error is one line that says where.
#![no_main]
use homenode_base::agentresult::parse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    match parse(&text) {
        Ok(all) => assert!(all.iter().all(|p| p.items.is_sorted_by_key(|i| i.line))),
        Err(said) => assert!(!said.is_empty() && said.lines().count() == 1),
    }
});
