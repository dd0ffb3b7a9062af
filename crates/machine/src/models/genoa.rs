//! A current two-socket x86 server of AMD's: two EPYC 9224 (Genoa, 2022), measured by somebody else and published.
//!
//! Each socket is two nodes there (NPS2). Here it is one, so a reference takes the mean of what pairs of its halves take. The last level is several caches of
//! a few cores each; here it is one of their size in all, so what those cores share with others of the socket costs less than it should.
//! Write-backs are charged as on `two-socket`.
use super::Spec;
use crate::costs::{CopyCost, Costs, Distances, Matrix};
use crate::model::{Machine, Unit};
use crate::sections::{Bandwidth, CacheGeometry, Caches, Misses, Rates, Sections};
use crate::shape::Shape;
use homenode_base::Cost;

pub(crate) static SPEC: Spec = Spec {
    name: "genoa",
    summary: "two-socket EPYC 9224 server (2022): 2 nodes of 24 cores, caches, picoseconds",
    build,
};

/// Idle latency of local memory: mean of 8 pairs of halves, 105.9 to 117.1 ns.
const LOCAL: Cost = Cost(111_400);
/// Of the other socket's memory: mean of 8 pairs, 199.0 to 200.7 ns.
const REMOTE: Cost = Cost(199_900);
/// 64 B / (457,350.0 MB/s / 2 nodes) x 24 cores = 6.7 ns.
pub(super) const WRITE_BACK_LOCAL: Cost = Cost(6_700);
/// Times 100,596 / 77,021 (mean read bandwidth from halves of the own and of the other socket, MB/s) = 8.8 ns.
const WRITE_BACK_REMOTE: Cost = Cost(8_800);

/// A line of a stream: 64 B / 45 GB/s (one thread); of the other socket times 50 / 41 (four threads that read in order, GB/s).
pub(super) const STREAMED: [Cost; 2] = [Cost(1_420), Cost(1_730)];
/// A random access beside others of its thread: 64 B / (56.6 GB/s / 4 threads), and 34.6 GB/s to the other socket; two reads to one write.
pub(super) const OVERLAPPED: [Cost; 2] = [Cost(4_520), Cost(7_400)];
/// Reads of a socket: half of 398,309.1 MB/s.
pub(super) const READ_MBS: u64 = 199_155;
/// Lines written back, where equal reads and writes come to half of 457,350.0 MB/s: 1 / (2 / 228,675 - 1 / 199,155).
pub(super) const WRITE_MBS: u64 = 268_400;

/// Caches of a socket; a dirty line of another core takes as long as memory that is as far.
pub(super) fn caches(far: Cost) -> Caches {
    Caches {
        line_bytes: 64,
        private: CacheGeometry { bytes: 1 << 20, ways: 8 },
        shared: CacheGeometry { bytes: 64 << 20, ways: 16 },
        transfer_near: LOCAL,
        transfer_far: far,
    }
}

fn build() -> Machine {
    Machine {
        name: SPEC.name.into(),
        title: "Two-socket server of EPYC 9224, 2 x 24 cores, 1 MiB private and 64 MiB shared cache".into(),
        sources: [MEASURED].into_iter().chain(SOURCES).chain(CACHES).map(|s| s.into()).collect(),
        unit: Unit::Picoseconds,
        shape: Shape { cores: vec![24; 2], word_bytes: 8, page_bytes: 4096 },
        cost: Costs {
            read: Matrix::uniform(2, LOCAL, REMOTE),
            write: Matrix::uniform(2, LOCAL, REMOTE),
            write_back: Matrix::uniform(2, WRITE_BACK_LOCAL, WRITE_BACK_REMOTE),
            remote_access: true,
            copy: CopyCost::linear(Cost(1_200_000), Cost(800)),
            global: None,
        },
        sections: Sections {
            caches: Some(caches(REMOTE)),
            misses: Some(Misses {
                streamed: Distances::of(&Matrix::uniform(2, STREAMED[0], STREAMED[1])),
                overlapped: Distances::of(&Matrix::uniform(2, OVERLAPPED[0], OVERLAPPED[1])),
            }),
            bandwidth: Some(Bandwidth {
                read: Rates { near: Some(READ_MBS), far: None, matrix: None },
                write: Some(Rates { near: Some(WRITE_MBS), far: None, matrix: None }),
            }),
            ..Sections::default()
        },
    }
}

/// Where both machines with this processor were measured.
pub(super) const MEASURED: &str = "latencies, bandwidths and bytes of memory: Intel Memory Latency Checker on two EPYC 9224 with two nodes each and a \
     CXL expander, K. Manaouil, github.com/karim-manaouil/virtiofs-cxl-experiments results/MLC.md (commit d19a99f8); means over halves of a \
     socket are ours";
/// What is known of its caches, and what is not.
pub(super) const CACHES: [&str; 2] = [
    "24 cores: the same place; 1 MiB of 8 ways a core and 16 ways of the last level: those of Zen 4, qeeebo.com, How does Zen 5's cache architecture \
     differ from Zen 4's; 64 MiB of last level a socket: our choice, as no published figure of this processor was found; chiplets of the series have \
     32 MiB for up to 8 cores (xda-developers.com, AMD Bergamo and Genoa-X, 2023-06-13)",
    "a dirty line from another core as long as memory that is as far: our choice, not measured; an EPYC 7R13, the generation before, took 107 ns \
     within a socket and 197 ns between two (N. Viennot, github.com/nviennot/core-to-core-latency), 23 ns where cores share a last level",
];
const SOURCES: [&str; 4] = [
    "write-back 6.7 and 8.8 ns: derived from the bandwidths above as core time taken, as on `two-socket`, not measured",
    "a line of a stream 1.42 ns: 45 GB/s by one thread, the first place; of the other socket 1.73 ns: derived, as 41 to 50 GB/s by four; a miss beside others \
     4.52 and 7.40 ns: 56.6 and 34.6 GB/s at random by four threads, two reads to one write, the same place",
    "bandwidth of a socket 199,155 MB/s of reads, and 268,400 MB/s of write-backs: derived from both sockets' 398,309.1 (reads) and 457,350.0 (equal reads and \
     writes); what the wires between sockets carry in all was not measured",
    "page copy 1.6 us for 4 KiB: as on `two-socket`, derived there, not measured on this machine",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The figures are means of those that were published.
    #[test]
    fn figures_are_means_over_halves_of_sockets() {
        let mean = |ns: [f64; 8]| ns.iter().sum::<f64>() / 8.0;
        let close = |cost: Cost, ns: f64| assert!((cost.0 as f64 / 1000.0 - ns).abs() < 0.06, "{cost:?} {ns}");
        close(LOCAL, mean([107.5, 117.1, 115.8, 106.8, 106.8, 115.8, 115.6, 105.9]));
        close(REMOTE, mean([200.7, 200.7, 199.9, 199.9, 200.0, 200.1, 199.0, 199.0]));
        close(STREAMED[0], 64.0 / 45.0);
        close(STREAMED[1], 64.0 / 45.0 * 50.0 / 41.0);
        close(OVERLAPPED[0], 64.0 / (56.6 / 4.0));
        close(OVERLAPPED[1], 64.0 / (34.6 / 4.0));
        let written = 1.0 / (2.0 / (457_350.0 / 2.0) - 2.0 / 398_309.1);
        assert!((written - WRITE_MBS as f64).abs() < 100.0, "{written}");
        let write_back = 64.0 / (457_350.0e6 / 2.0) * 24.0 * 1e9;
        close(WRITE_BACK_LOCAL, write_back);
        close(WRITE_BACK_REMOTE, write_back * 100_596.0 / 77_021.0);
    }
}
