//! A small sound partition, from which fuzzing begins, and the same with other records.
use homenode_base::NodeId;
use homenode_machine::models;
use homenode_placement::policies::Choice;
use homenode_sim::ThreadBinding;
use homenode_study::{Layout, Partitioner, Question, Want};
use homenode_trace::{DataSource, Merged, Op};
use xxhash_rust::xxh3::xxh3_64;

/// Bytes behind the index: where it begins, its bytes, its checksum, magic.
const TRAILER_BYTES: usize = 32;

/// What is asked of partitions: a machine whose accesses are words and one that has caches, with everything that reads records.
pub fn asked() -> Question {
    let machines: Vec<_> = ["ace", "two-socket"].iter().filter_map(|name| models::find(name)).collect();
    let binding = |i: u16| ThreadBinding { cpu: i, node: NodeId(i), space: 0 };
    let bindings = machines.iter().map(|m| (0..4).map(|i| binding(i % m.nodes() as u16)).collect()).collect();
    let mut q = Question::new(machines, bindings, vec![64, 4096]);
    q.policies = ["ace", "delay", "platinum"].iter().filter_map(|text| Choice::parse(text).ok()).collect();
    (q.best_static, q.without_replication, q.with_replication) = (Want::Cost, Want::Cost, Want::Parts);
    q
}

/// The partition of a few references by four threads.
pub fn good() -> Vec<u8> {
    let reference = |i: u64| Merged {
        addr: 0x1000_0000 + i * 9973 % 600_000,
        size: 4,
        site: 0,
        thread: (i * 7 % 4) as u32,
        weight: 1,
        op: if i.is_multiple_of(5) { Op::Write } else { Op::Read },
        source: DataSource::Unknown,
        cpu_code: 0,
        latency_code: 0,
    };
    let refs: Vec<Merged> = (0..200).map(reference).collect();
    let mut partitioner = Partitioner::new(&asked(), Layout::default()).expect("a sound question");
    partitioner.refs(&refs).expect("memory takes all");
    let mut bytes = Vec::new();
    let write = |b: &[u8]| {
        bytes.extend_from_slice(b);
        Ok(())
    };
    partitioner.finish().expect("memory takes all").write(&mut { write }).expect("memory takes all");
    bytes
}

/// `good` with its records overwritten by `data`, over and over, and all checksums right.
pub fn with_records(good: &[u8], data: &[u8]) -> Vec<u8> {
    let mut bytes = good.to_vec();
    let end = bytes.len() - TRAILER_BYTES;
    let word = |b: &[u8], at: usize| u64::from_le_bytes(b[at..at + 8].try_into().expect("eight bytes"));
    let (begin, regions_end) = (word(&bytes, end) as usize, end);
    if data.is_empty() {
        return bytes;
    }
    for (to, from) in bytes[..begin].iter_mut().zip(data.iter().cycle()) {
        *to = *from;
    }
    // The index ends with the words of records and the checksum of every stream of every region.
    let (streams, regions) = (word(&bytes, begin + 32), word(&bytes, begin + 40));
    let extents = (streams * regions) as usize;
    let mut offset = 0;
    for at in (0..extents).map(|i| regions_end - (extents - i) * 16) {
        let next = offset + word(&bytes, at) as usize * 4;
        let sum = xxh3_64(&bytes[offset..next]);
        bytes[at + 8..at + 16].copy_from_slice(&sum.to_le_bytes());
        offset = next;
    }
    let sum = xxh3_64(&bytes[begin..end]);
    bytes[end + 16..end + 24].copy_from_slice(&sum.to_le_bytes());
    bytes
}
