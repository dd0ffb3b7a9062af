//! A current two-socket x86 server of Intel's: Sapphire Rapids (2023), measured by somebody else and published.
//!
//! Latencies were measured with four clusters a socket, each with memory of its own (sub-NUMA clustering). Here a socket is one node, so data is spread over its
//! clusters and a reference takes the mean of what the sixteen pairs of clusters take; the other socket's likewise. Sizes are those of a 32-core part of
//! the generation, whose caches are published. Write-backs are charged as on `two-socket`.
use super::Spec;
use crate::costs::{CopyCost, Costs, Matrix};
use crate::model::{Machine, Unit};
use crate::sections::{Bandwidth, CacheGeometry, Caches, Rates, Sections};
use crate::shape::Shape;
use homenode_base::Cost;

pub(crate) static SPEC: Spec = Spec {
    name: "sapphire-rapids",
    summary: "two-socket Xeon server (2023): 2 nodes of 32 cores, caches, picoseconds",
    build,
};

/// Idle latency of local memory: mean of 32 pairs of clusters, 95.4 to 123.2 ns.
const LOCAL: Cost = Cost(108_200);
/// Of the other socket's memory: mean of 32 pairs, 186.0 to 189.2 ns.
const REMOTE: Cost = Cost(187_600);
/// 64 B / (401,275.6 MB/s / 2 nodes) x 32 cores = 10.2 ns.
const WRITE_BACK_LOCAL: Cost = Cost(10_200);
/// Times 61,042 / 56,395 (mean read bandwidth from clusters of the own and of the other socket, MB/s) = 11.1 ns.
const WRITE_BACK_REMOTE: Cost = Cost(11_100);
/// Reads of a socket: half of 491,946.4 MB/s.
const READ_MBS: u64 = 245_973;
/// Lines written back, where equal reads and writes come to half of 401,275.6 MB/s: 1 / (2 / 200,638 - 1 / 245,973).
const WRITE_MBS: u64 = 169_400;
/// Local latency x 97.5 / 116.0, the two on Granite Rapids.
const TRANSFER_NEAR: Cost = Cost(90_900);

fn build() -> Machine {
    Machine {
        name: SPEC.name.into(),
        title: "Two-socket Sapphire Rapids server, 2 x 32 cores, 2 MiB private and 60 MiB shared cache".into(),
        sources: SOURCES.iter().map(|s| (*s).into()).collect(),
        unit: Unit::Picoseconds,
        shape: Shape { cores: vec![32; 2], word_bytes: 8, page_bytes: 4096 },
        cost: Costs {
            read: Matrix::uniform(2, LOCAL, REMOTE),
            write: Matrix::uniform(2, LOCAL, REMOTE),
            write_back: Matrix::uniform(2, WRITE_BACK_LOCAL, WRITE_BACK_REMOTE),
            remote_access: true,
            copy: CopyCost::linear(Cost(1_200_000), Cost(800)),
            global: None,
        },
        sections: Sections {
            caches: Some(Caches {
                line_bytes: 64,
                private: CacheGeometry { bytes: 2 << 20, ways: 16 },
                shared: CacheGeometry { bytes: 60 << 20, ways: 15 },
                transfer_near: TRANSFER_NEAR,
                transfer_far: REMOTE,
            }),
            bandwidth: Some(Bandwidth {
                read: Rates { near: Some(READ_MBS), far: None, matrix: None },
                write: Some(Rates { near: Some(WRITE_MBS), far: None, matrix: None }),
            }),
            ..Sections::default()
        },
    }
}

const SOURCES: [&str; 7] = [
    "latencies of memory 108.2 and 187.6 ns, bandwidths: Intel Memory Latency Checker 3.11a on two Xeon Platinum 8468 with four clusters each, \
     prefetchers on, G. J. Bex, github.com/gjbex/Code-optimization info/sapphirerapids_mlc.txt (commit 35b32704); means over clusters are ours",
    "32 cores, 2 MiB a core and 60 MiB a socket: Xeon Platinum 8462Y+, FD.io CSIT, github.com/FDio/csit \
     docs/content/infrastructure/testbed_configuration/sm_spr_hw_bios_cfg.md; 16 ways of the second level: info/sapphirerapids_dmidecode_cache.txt \
     of the first source; 15 ways of the last level: our choice",
    "a dirty line of another core of the socket 90.9 ns: derived, not measured here, from the local latency as on two Xeon 6972P, the generation after \
     the next, where it took 97.5 ns (a third of 81.0 and two thirds of 105.7 ns) and memory 116.0 ns: info/granite_rapids_mlc.txt of the first \
     source (commit 44b16cbc)",
    "of the other socket as long as its memory: derived, not measured here; there 240.8 and 239.3 ns",
    "bandwidth of a socket 245,973 MB/s of reads, and 169,400 MB/s of write-backs: derived from both sockets' 491,946.4 (reads) and 401,275.6 (equal reads and \
     writes); what the wires between sockets carry in all was not measured",
    "write-back 10.2 and 11.1 ns: derived from the bandwidths above as core time taken, as on `two-socket`, not measured",
    "page copy 1.6 us for 4 KiB: as on `two-socket`, derived there, not measured on this machine",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Latencies in nanoseconds as they were published, by cluster.
    const PUBLISHED: [[f64; 8]; 8] = [
        [95.4, 106.3, 111.9, 123.2, 188.3, 188.4, 188.1, 188.3],
        [103.5, 96.3, 118.9, 113.4, 187.4, 187.6, 186.9, 187.6],
        [110.2, 120.7, 96.2, 107.7, 187.6, 187.7, 187.5, 187.8],
        [119.0, 112.5, 102.4, 96.5, 187.6, 187.8, 187.4, 187.9],
        [188.1, 189.2, 187.6, 189.2, 95.8, 105.9, 112.4, 122.6],
        [186.6, 188.0, 186.1, 188.2, 105.1, 96.8, 117.0, 110.1],
        [187.0, 188.3, 186.8, 188.2, 109.7, 120.0, 97.4, 106.8],
        [186.0, 187.5, 186.1, 187.7, 117.2, 110.2, 104.6, 96.9],
    ];

    /// The figures follow from the published ones.
    #[test]
    fn figures_are_means_over_clusters() {
        let close = |cost: Cost, ns: f64| assert!((cost.0 as f64 / 1000.0 - ns).abs() < 0.06, "{cost:?} {ns}");
        let mean = |same: bool| {
            let pairs = (0..64).map(|i| (i / 8, i % 8)).filter(|(q, j)| (q / 4 == j / 4) == same);
            pairs.map(|(q, j)| PUBLISHED[q][j]).sum::<f64>() / 32.0
        };
        close(LOCAL, mean(true));
        close(REMOTE, mean(false));
        close(TRANSFER_NEAR, mean(true) * 97.5 / 116.0);
        let write_back = 64.0 / (401_275.6e6 / 2.0) * 32.0 * 1e9;
        close(WRITE_BACK_LOCAL, write_back);
        let written = 1.0 / (2.0 / (401_275.6 / 2.0) - 2.0 / 491_946.4);
        assert!((written - WRITE_MBS as f64).abs() < 100.0, "{written}");
        close(WRITE_BACK_REMOTE, write_back * 61_042.0 / 56_395.0);
    }
}
