//! Any bytes in the files of a recording that was killed: what is recovered is a dataset that opens and checks, and recovering it
//! again changes nothing.
#![no_main]
use homenode_capture::{DirStore, recover};
use homenode_fuzz::killed::Killed;
use homenode_trace::DatasetReader;
use libfuzzer_sys::fuzz_target;
use std::sync::{Arc, LazyLock};

static KILLED: LazyLock<Killed> = LazyLock::new(Killed::new);

fuzz_target!(|data: &[u8]| {
    KILLED.fill(data);
    if let Ok(summary) = recover(KILLED.root()) {
        let reader = DirStore::open(KILLED.root()).map(|s| DatasetReader::open(Arc::new(s)));
        let reader = reader.expect("there is one").expect("what was recovered can be opened");
        let refs: u64 = (0..reader.threads()).map(|t| reader.refs(t)).sum();
        assert_eq!((refs, reader.events().len() as u64), (summary.refs, summary.events));
        let again = recover(KILLED.root()).expect("what was recovered can be recovered again");
        assert!(!again.changed && again.refs == refs, "{again:?}");
    }
});
