//! One socket of `genoa` with the CXL expander that was measured with it: two memory nodes, of which the second has no processors.
use super::{Spec, genoa};
use crate::costs::{CopyCost, Costs, Distances, LinearCost, Matrix};
use crate::model::{Machine, Unit};
use crate::sections::{Bandwidth, Misses, Rates, Sections, Tiers};
use crate::shape::Shape;
use homenode_base::Cost;

pub(crate) static SPEC: Spec = Spec {
    name: "genoa-cxl",
    summary: "one EPYC 9224 (2022) with DRAM and a Samsung CXL expander, as measured: `report --capacity`, picoseconds",
    build,
};

/// Idle latency of DRAM: mean of 107.5, 117.1, 115.8 and 106.8 ns.
const DRAM: Cost = Cost(111_800);
/// Of the expander, from the socket that it is at: mean of 279.4 and 278.8 ns.
const EXPANDER: Cost = Cost(279_100);
/// 64 B / 21 GB/s x 24 cores = 73.1 ns.
const WRITE_BACK_EXPANDER: Cost = Cost(73_100);
/// As on `two-socket`: 1.6 us for 4 KiB.
const MOVE: LinearCost = LinearCost { fixed: Cost(1_200_000), per_word: Cost(800) };
/// A line of a stream out of the expander: 64 B / 17 GB/s (one thread; more get no more).
const STREAMED_EXPANDER: Cost = Cost(3_760);
/// A miss beside others of its thread: what it takes to DRAM, times the latencies.
const OVERLAPPED_EXPANDER: Cost = Cost(11_280);
/// Reads of the expander, and lines written back there, where equal reads and writes come to 21 GB/s: 1 / (2 / 21,000 - 1 / 17,594).
const EXPANDER_MBS: [u64; 2] = [17_594, 26_050];
/// 193,283 + 193,493 MiB, and 129,017 MiB.
const BYTES: [u64; 2] = [(193_283 + 193_493) << 20, 129_017 << 20];

fn build() -> Machine {
    // No processor is on node 1: its row is never used and keeps the matrices uniform.
    let references = Matrix::uniform(2, DRAM, EXPANDER);
    Machine {
        name: SPEC.name.into(),
        title:
            "One EPYC 9224, 24 cores with 1 MiB private and 64 MiB shared cache, 378 GiB of DRAM and 126 GiB behind CXL"
                .into(),
        sources: [genoa::MEASURED].into_iter().chain(SOURCES).chain(genoa::CACHES).map(|s| s.into()).collect(),
        unit: Unit::Picoseconds,
        shape: Shape { cores: vec![24, 0], word_bytes: 8, page_bytes: 4096 },
        cost: Costs {
            write_back: Matrix::uniform(2, genoa::WRITE_BACK_LOCAL, WRITE_BACK_EXPANDER),
            ..Costs::alike(&references, CopyCost::linear(MOVE.fixed, MOVE.per_word))
        },
        sections: Sections {
            caches: Some(genoa::caches(DRAM)),
            misses: Some(Misses {
                streamed: Distances::of(&Matrix::uniform(2, genoa::STREAMED[0], STREAMED_EXPANDER)),
                overlapped: Distances::of(&Matrix::uniform(2, genoa::OVERLAPPED[0], OVERLAPPED_EXPANDER)),
            }),
            bandwidth: Some(Bandwidth {
                read: from_dram_node(genoa::READ_MBS, EXPANDER_MBS[0]),
                write: Some(from_dram_node(genoa::WRITE_MBS, EXPANDER_MBS[1])),
            }),
            tiers: Some(Tiers { capacity_bytes: BYTES.to_vec(), promote: MOVE, demote: MOVE, tick: 10_000 }),
            ..Sections::default()
        },
    }
}

/// Rates from the node with processors.
fn from_dram_node(dram: u64, expander: u64) -> Rates {
    Rates { near: None, far: None, matrix: Some(vec![vec![dram, expander], vec![0, 0]]) }
}

const SOURCES: [&str; 5] = [
    "DRAM 111.8 ns, mean over halves of the socket; expander 279.1 ns from the socket that it is at (363.6 ns from the other one, which is left out): a \
     Samsung MXP behind PCIe 5.0, the same place",
    "write-back 6.7 ns as on `genoa`, and 73.1 ns to the expander: derived from its 21 GB/s of random reads and writes in equal parts there, as core \
     time taken, not measured",
    "streams, misses beside others and bandwidth of DRAM as on `genoa`; a line of a stream out of the expander 3.76 ns (17 GB/s), a miss beside others there \
     11.28 ns: derived, as its latency to DRAM's; bandwidth of the expander 17,594 MB/s of reads, and 26,050 of write-backs: derived from its 21 GB/s of both",
    "a page of 4 KiB moved either way 1.6 us: as on `two-socket`, derived there, not measured on CXL; the expander's 17.6 GB/s alone would take \
     0.23 us",
    "a decision every 10,000 accesses to memory (about a millisecond of DRAM latency): our choice",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The figures follow from those that were published.
    #[test]
    fn figures_follow_from_the_measured_ones() {
        let close = |cost: Cost, ns: f64| assert!((cost.0 as f64 / 1000.0 - ns).abs() < 0.06, "{cost:?} {ns}");
        close(DRAM, (107.5 + 117.1 + 115.8 + 106.8) / 4.0);
        close(EXPANDER, (279.4 + 278.8) / 2.0);
        close(WRITE_BACK_EXPANDER, 64.0 / 21e9 * 24.0 * 1e9);
        close(STREAMED_EXPANDER, 64.0 / 17.0);
        close(OVERLAPPED_EXPANDER, genoa::OVERLAPPED[0].0 as f64 / 1e3 * 279.1 / 111.8);
        let written = 1.0 / (2.0 / 21_000.0 - 1.0 / 17_594.0);
        assert!((written - EXPANDER_MBS[1] as f64).abs() < 100.0, "{written}");
        assert!(MOVE.of_words(512).0 as f64 / 1e3 > 1_200.0 + 4096.0 / 17.6, "no faster than the link");
        assert_eq!(build().capacity_bytes().map(|b| [b[0] >> 30, b[1] >> 30]), Some([377, 125]));
    }
}
