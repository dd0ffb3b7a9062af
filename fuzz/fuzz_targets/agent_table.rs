//! Any bytes as an agent's table, as they are and with their length and checksum mended: no panic, an error is one line,
//! and what is accepted is what lies there. The reader makes the checks that the agent makes in C.
#![no_main]
use homenode_base::agenttable::{read, seal};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut mended = data.to_vec();
    seal(&mut mended);
    for table in [data, &mended] {
        match read(table) {
            Ok(all) => {
                assert_eq!(all.bytes(), table);
                assert!(all.items.iter().all(|i| (i.line as usize) < all.items.len()));
            }
            Err(said) => assert!(!said.is_empty() && said.lines().count() == 1),
        }
    }
});
