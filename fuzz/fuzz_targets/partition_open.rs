//! Partitions of the study engine: any bytes are opened and answered, or rejected.
#![no_main]
use homenode_base::NodeId;
use homenode_fuzz::partition::{asked, good, with_records};
use homenode_sim::ThreadBinding;
use homenode_study::{Partition, Question, answer};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use xxhash_rust::xxh3::xxh3_64;

static ASKED: LazyLock<Question> = LazyLock::new(asked);
static GOOD: LazyLock<Vec<u8>> = LazyLock::new(good);

/// The data as records and an index, with the end that makes it a partition.
fn repaired(data: &[u8]) -> Vec<u8> {
    let Some((split, rest)) = data.split_first() else { return Vec::new() };
    let index = rest.len() * usize::from(*split) / 256 / 8 * 8;
    let begin = rest.len() - index;
    let mut bytes = rest.to_vec();
    let checksum = xxh3_64(&rest[begin..]);
    for word in [begin as u64, index as u64, checksum, u64::from_le_bytes(*b"HNPART\x01\x00")] {
        bytes.extend(word.to_le_bytes());
    }
    bytes
}

fuzz_target!(|data: &[u8]| {
    for bytes in [data.to_vec(), repaired(data), with_records(&GOOD, data)] {
        if let Ok(partition) = Partition::open(Box::new(bytes)) {
            let _ = answer(&ASKED, &partition, 0..partition.regions());
            // What it says of its threads may be fewer or more than the question has bindings for.
            let bindings = vec![ThreadBinding { cpu: 0, node: NodeId(0), space: 0 }; 1];
            let few = Question { bindings: vec![bindings; ASKED.machines.len()], ..ASKED.clone() };
            let _ = answer(&few, &partition, 0..partition.regions());
        }
    }
});
