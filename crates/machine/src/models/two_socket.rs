//! A two-socket x86 server of the Skylake-SP generation, with caches: what the demo and most readers have in mind.
//!
//! Latencies are those that Intel's Memory Latency Checker measured on a two-socket Skylake-SP server and the FD.io
//! project published with its test beds; sizes are those of a common 8-core part of that generation. Loads and stores
//! cost the idle latency of the memory they reach (a store misses like a load: it reads the line for ownership).
//!
//! A write-back delays nobody by its latency; what it takes is bandwidth, and so time from the cores that share the
//! memory. It is charged as line / (bandwidth of a node under equal reads and writes) x cores of the node: the core
//! time lost where memory is saturated. To the other node the link allows 1 / 2.13 of the local read bandwidth, so it
//! costs 2.13 times as much.
//!
//! A dirty line coming from another node's cache takes 108.6 ns if its home is the writer's node and 172 ns if it is the
//! reader's. Transfers are charged alike whatever the home, hence the mean.
//!
//! A core has twelve line fill buffers, so misses that do not depend on each other cost a twelfth of the latency each; a prefetcher fills the
//! second level from a queue of sixteen, so a line of a stream costs a sixteenth (Little's law; one core alone).
use super::Spec;
use crate::costs::{CopyCost, Costs, Distances, Matrix};
use crate::model::{Machine, Unit};
use crate::sections::{Bandwidth, CacheGeometry, Caches, HitCosts, Hits, Misses, Rates, Sections};
use crate::shape::Shape;
use homenode_base::Cost;

pub(crate) static SPEC: Spec = Spec {
    name: "two-socket",
    summary: "two-socket x86 server (2017): 2 nodes of 8 cores, caches, picoseconds",
    build,
};

/// Idle latency of local memory: 81.1 ns.
const LOCAL: Cost = Cost(81_100);
/// Idle latency of the other node's memory: mean of 144.5 and 139.6 ns.
const REMOTE: Cost = Cost(142_050);
/// 64 B / (90,591.7 MB/s / 2 nodes) x 8 cores = 11.3 ns.
const WRITE_BACK_LOCAL: Cost = Cost(11_300);
/// Times 108,034.1 / 50,657.1 (local and remote read bandwidth, MB/s) = 24.1 ns.
const WRITE_BACK_REMOTE: Cost = Cost(24_100);
/// Dirty line from another core of the node: 50.3 ns.
const TRANSFER_NEAR: Cost = Cost(50_300);
/// Dirty line from a core of the other node: mean of 108.6, 108.5, 170.8 and 173.2 ns.
const TRANSFER_FAR: Cost = Cost(140_275);
/// 0.4 us for the bytes of 4 KiB (10 GB/s, one core): 0.8 ns per word of 8 bytes.
const COPY_WORD: Cost = Cost(800);
/// The rest of 1.6 us a page, see the sources.
const COPY_FIXED: Cost = Cost(1_200_000);

/// Hit in the last level: mean of 25 and 27 ns.
const HIT: Cost = Cost(26_000);
/// Reads of the memory of the node with all its channels in use, by its own processors and by those of the other, MB/s.
const READ_MBS: [u64; 2] = [108_034, 50_657];
/// Lines written back there: of 90,591.7 MB/s of both nodes together, half of them writes, this one has 108,034.1 / (108,034.1 + 19,468.8).
const WRITE_MBS: u64 = 59_500;
/// Line fill buffers of a core, and entries of the queue behind its second level.
const FILL_BUFFERS: i64 = 12;
const QUEUE: i64 = 16;

/// Latencies over how many lines are under way.
fn over(lines: i64) -> Distances {
    Distances::of(&Matrix::uniform(2, Cost(LOCAL.0 / lines), Cost(REMOTE.0 / lines)))
}

fn build() -> Machine {
    Machine {
        name: SPEC.name.into(),
        title: "Two-socket x86 server, 2 x 8 cores, 1 MiB private and 11 MiB shared cache".into(),
        sources: SOURCES.iter().map(|s| (*s).into()).collect(),
        unit: Unit::Picoseconds,
        shape: Shape { cores: vec![8; 2], word_bytes: 8, page_bytes: 4096 },
        cost: Costs {
            read: Matrix::uniform(2, LOCAL, REMOTE),
            write: Matrix::uniform(2, LOCAL, REMOTE),
            write_back: Matrix::uniform(2, WRITE_BACK_LOCAL, WRITE_BACK_REMOTE),
            remote_access: true,
            copy: CopyCost::linear(COPY_FIXED, COPY_WORD),
            global: None,
        },
        sections: Sections {
            caches: Some(Caches {
                line_bytes: 64,
                private: CacheGeometry { bytes: 1 << 20, ways: 16 },
                shared: CacheGeometry { bytes: 11 << 20, ways: 11 },
                transfer_near: TRANSFER_NEAR,
                transfer_far: TRANSFER_FAR,
            }),
            bandwidth: Some(Bandwidth {
                read: Rates { near: Some(READ_MBS[0]), far: Some(READ_MBS[1]), matrix: None },
                write: Some(Rates { near: Some(WRITE_MBS), far: None, matrix: None }),
            }),
            misses: Some(Misses { streamed: over(QUEUE), overlapped: over(FILL_BUFFERS) }),
            hits: Some(Hits {
                shared: HitCosts { waited: HIT, overlapped: Cost(HIT.0 / FILL_BUFFERS), streamed: Cost(HIT.0 / QUEUE) },
            }),
            ..Sections::default()
        },
    }
}

const SOURCES: [&str; 8] = [
    "idle latencies 81.1 ns local, 144.5 and 139.6 ns remote; cache-to-cache (HITM) 50.3 ns near, 108.6 and 108.5 ns \
     (home at the writer), 170.8 and 173.2 ns (home at the reader) far; bandwidths 90,591.7 MB/s (1:1 reads and writes, \
     both nodes), 108,034.1 MB/s local and 50,657.1 MB/s remote reads: Intel Memory Latency Checker 3.5 on two Xeon \
     Platinum 8180, FD.io CSIT, Calibration Data - Skylake, \
     github.com/FDio/csit docs/report/introduction/test_environment_sut_calib_skx.rst",
    "8 cores, 11 MiB last level: Intel Xeon Silver 4110 (Skylake-SP, 2017); 1 MiB 16-way private L2, 1.375 MiB 11-way \
     last-level slice a core, 64-byte lines: Intel 64 and IA-32 Architectures Optimization Reference Manual, \
     Skylake Server microarchitecture",
    "cross-check, low-load local latency of a Xeon Silver 4110 with the same tool: 82.0 ns, Intel community forum, \
     Software Tuning, Intel Memory Latency Checker v3.5 test, post 1126268",
    "write-back 11.3 and 24.1 ns: derived from the bandwidths above as core time taken, not measured",
    "misses that overlap or are streamed: derived, not measured, as latency over 12 line fill buffers and over 16 entries of the queue behind the \
     second level of a core, P. Cordes, stackoverflow.com/questions/39260020",
    "bandwidth of a node: the reads above, of node 0, whose channels are all in use (node 1 read its own memory at 19,468.8 MB/s); write-backs \
     59,500 MB/s: derived from equal reads and writes as node 0's part of both",
    "hits in the last level 25 to 27 ns when waited for (16 to 32 MB of a Skylake-SP, LMBench, random loads): AnandTech 2017, Sizing Up Servers: \
     Intel's Skylake-SP Xeon versus AMD's EPYC 7000, page 13, anandtech.com/show/11544; others derived as for misses",
    "page copy 1.6 us for 4 KiB: derived, not measured; migration in Linux leaves up to 95 % of the bandwidth unused \
     (Yan et al. 2019, Nimble page management, ASPLOS, abstract), so 4096 B / (5 % of 50,657.1 MB/s)",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The derived constants follow from the measured ones as the comments say.
    #[test]
    fn derived_costs_follow_from_the_measured_ones() {
        let write_back = 64.0 / (90_591.7e6 / 2.0) * 8.0 * 1e12;
        assert!((write_back - WRITE_BACK_LOCAL.0 as f64).abs() < 50.0, "{write_back}");
        let remote = write_back * 108_034.1 / 50_657.1;
        assert!((remote - WRITE_BACK_REMOTE.0 as f64).abs() < 50.0, "{remote}");
        let mixed = 90_591.7 * 108_034.1 / (108_034.1 + 19_468.8);
        let write = 1.0 / (2.0 / mixed - 1.0 / 108_034.1);
        assert!((write - WRITE_MBS as f64).abs() < 100.0, "{write}");
        let one_core_mbs = 64.0 / (LOCAL.0 as f64 / QUEUE as f64) * 1e6;
        assert!(
            one_core_mbs < 108_034.1 / 2.0 && one_core_mbs > 108_034.1 / 16.0,
            "{one_core_mbs}: between a core and all of a node"
        );
        assert_eq!(REMOTE, Cost((144_500 + 139_600) / 2));
        assert_eq!(TRANSFER_FAR, Cost((108_600 + 108_500 + 170_800 + 173_200) / 4));
        let page = 4096.0 / (0.05 * 50_657.1e6) * 1e12;
        let copy = build().single_remote(4096).expect("two nodes").copy.0 as f64;
        assert!((page / copy - 1.0).abs() < 0.01, "{page} {copy}");
    }
}
