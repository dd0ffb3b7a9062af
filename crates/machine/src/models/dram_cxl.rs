//! One socket with DRAM and a CXL expander: two memory nodes, of which the second has no processors.
//!
//! Latencies of the expander are those that were measured across devices; the device of this machine is not one of them. What the
//! processors and their DRAM cost is as on `two-socket`.
use super::Spec;
use crate::costs::{CopyCost, Costs, LinearCost, Matrix};
use crate::model::{Machine, Unit};
use crate::sections::{CacheGeometry, Caches, Sections, Tiers};
use crate::shape::Shape;
use homenode_base::Cost;

pub(crate) static SPEC: Spec = Spec {
    name: "dram-cxl",
    summary: "one socket with DRAM and a CXL expander: `homenode sim memory`, picoseconds",
    build,
};

/// Idle latency of DRAM: 81.1 ns.
const DRAM: Cost = Cost(81_100);
/// Of the expander: 250 ns.
const EXPANDER: Cost = Cost(250_000);
/// As on `two-socket`: 64 B / 45.3 GB/s x 8 cores.
const WRITE_BACK_DRAM: Cost = Cost(11_300);
/// 64 B / 32 GB/s x 8 cores = 16 ns.
const WRITE_BACK_EXPANDER: Cost = Cost(16_000);
/// As on `two-socket`: 1.6 us for 4 KiB.
const MOVE: LinearCost = LinearCost { fixed: Cost(1_200_000), per_word: Cost(800) };

fn build() -> Machine {
    // No processor is on node 1: its row is never used and keeps the matrices uniform.
    let references = Matrix::uniform(2, DRAM, EXPANDER);
    Machine {
        name: SPEC.name.into(),
        title: "One socket, 8 cores with 1 MiB private and 11 MiB shared cache, 64 GiB of DRAM and 128 GiB behind CXL"
            .into(),
        sources: SOURCES.iter().map(|s| (*s).into()).collect(),
        unit: Unit::Picoseconds,
        shape: Shape { cores: vec![8, 0], word_bytes: 8, page_bytes: 4096 },
        cost: Costs {
            write_back: Matrix::uniform(2, WRITE_BACK_DRAM, WRITE_BACK_EXPANDER),
            ..Costs::alike(&references, CopyCost::linear(MOVE.fixed, MOVE.per_word))
        },
        sections: Sections {
            caches: Some(Caches {
                line_bytes: 64,
                private: CacheGeometry { bytes: 1 << 20, ways: 16 },
                shared: CacheGeometry { bytes: 11 << 20, ways: 11 },
                transfer_near: Cost(50_300),
                transfer_far: Cost(50_300),
            }),
            tiers: Some(Tiers { capacity_bytes: vec![64 << 30, 128 << 30], promote: MOVE, demote: MOVE, tick: 10_000 }),
            ..Sections::default()
        },
    }
}

const SOURCES: [&str; 5] = [
    "cores, caches, DRAM at 81.1 ns, write-back to it 11.3 ns, transfers 50.3 ns: as `two-socket`, see there",
    "expander 250 ns: our choice within the 140 to 410 ns that four real devices took (Liu and others 2025, Systematic CXL memory \
     characterization and performance analysis at scale, ASPLOS, abstract); pools add 70 to 90 ns to DRAM where no switch is between (Li and \
     others 2023, Pond, ASPLOS, section 1)",
    "write-back to the expander 16 ns: derived from the 32 GB/s of 8 lanes of PCIe 5.0 each way, as core time taken, not measured",
    "a page of 4 KiB moved either way 1.6 us: as on `two-socket`, derived from Yan and others 2019 (Nimble page management, ASPLOS), not \
     measured on CXL",
    "64 and 128 GiB, a decision every 10,000 accesses to memory (about a millisecond of DRAM latency): our choice",
];
