//! Partitions of the study engine: any bytes are opened and answered, or rejected.
#![no_main]
use homenode_base::NodeId;
use homenode_sim::Seat;
use homenode_study::{Partition, Question, Want, answer};
use libfuzzer_sys::fuzz_target;
use xxhash_rust::xxh3::xxh3_64;

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
    let machine = homenode_machine::models::find("ace").expect("in the registry");
    let seats = vec![Seat { cpu: 0, node: NodeId(0), space: 0 }; 4];
    let mut q = Question::new(vec![machine], vec![seats], vec![4, 64]);
    q.with_replication = Want::Cost;
    for bytes in [data.to_vec(), repaired(data)] {
        if let Ok(partition) = Partition::open(Box::new(bytes)) {
            let _ = answer(&q, &partition, 0..partition.regions());
        }
    }
});
