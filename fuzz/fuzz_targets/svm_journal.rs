//! Any bytes as the journal of a node: it is refused, or its operations are carried out again to some end.
#![no_main]
use homenode_hlrc::journal::replay;
use homenode_svm::journal::Journal;
use homenode_sys::words::memory_file;
use libfuzzer_sys::fuzz_target;
use std::os::unix::fs::FileExt;
use std::sync::Once;

/// The protocol may stop at what no host gives, which a replay catches; the fuzzer would take that for a crash.
static CAUGHT: Once = Once::new();

fuzz_target!(|data: &[u8]| {
    CAUGHT.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    let file = memory_file("journal", data.len() as u64).expect("a file in memory");
    file.write_all_at(data, 0).expect("it has room");
    let Ok(journal) = Journal::open(file) else { return };
    for tape in &journal.tapes {
        let records = journal.records(tape).expect("it lies in the file");
        match replay(&journal.cluster, &records) {
            Ok(replayed) => assert!(replayed.compared + replayed.given <= records.len() as u64),
            Err(difference) => assert!(difference.at <= records.len() && !difference.to_string().is_empty()),
        }
    }
});
