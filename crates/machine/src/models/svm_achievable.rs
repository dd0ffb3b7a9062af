//! The cluster of Bilas and Singh with what its authors think can be achieved (section 1.3.1, table 1.1).
use super::Spec;
use crate::costs::{CopyCost, Costs, Matrix};
use crate::model::{Machine, Unit};
use crate::sections::{Handlers, Network, Sections};
use crate::shape::Shape;
use homenode_base::Cost;

pub(crate) static SPEC: Spec = Spec {
    name: "svm-achievable",
    summary: "4 nodes of 4 processors without shared memory (Bilas and Singh, table 1.1): `homenode sim cluster`",
    build: || build(SPEC.name, "achievable", network()),
};

/// The network and the handlers of table 1.1, as achievable.
pub(super) fn network() -> Network {
    Network {
        mhz: 200,
        line_bytes: 32,
        l1_bytes: 8 << 10,
        l2_bytes: 512 << 10,
        l2_ways: 2,
        l2_hit: 10,
        memory: 100,
        arbitration: 4,
        bus: 2000,
        io: 500,
        link: 2000,
        latency: 0,
        packet_bytes: 4096,
        piece_bytes: 32,
        queue_bytes: 1 << 20,
        fetch_whole: false,
        header_bytes: 16,
        host_overhead: 600,
        occupancy: 1000,
        interrupt: 500,
        round_robin: false,
        seen: None,
        sleep: [0, 0],
        handlers: Handlers {
            fault: 500,
            request: 400,
            local: 100,
            leader: 500,
            notices: [100, 20],
            protect: [1000, 50],
            shootdown: 50,
            concurrent: 0,
            first: [0, 0],
            twin: 10,
            diff: [10, 10],
        },
    }
}

/// A machine of the study with such a network.
pub(super) fn build(name: &str, set: &str, network: Network) -> Machine {
    let far = network.host_overhead + 2 * network.occupancy + network.memory;
    Machine {
        name: name.into(),
        title: format!("16 processors of 200 MHz in 4 nodes, communication {set}"),
        sources: vec![
            "caches, buses, links, TLB and diffs: Bilas and Singh, section 1.3.1; host overhead, occupancy, I/O bus, interrupts: table 1.1".into(),
            "a packet is on its next bus or link after its first line: section 1.4.2 says that its cluster does so; table 1.5 has 46 us for 4 KB at 96 MB/s".into(),
            "memory 100 cycles, handlers, 50 cycles a processor for the shoot-down, a twin's word 10 cycles: our choice, the paper has none".into(),
            "costs of references: memory, and a word from another node; read by the placement commands only".into(),
        ],
        unit: Unit::Quantum("cycle of 200 MHz".into()),
        shape: Shape { cores: vec![4; 4], word_bytes: 4, page_bytes: 4096 },
        cost: Costs::alike(
            &Matrix::uniform(4, Cost(network.memory as i64), Cost(far as i64)),
            CopyCost { fixed: Cost(far as i64), per_word: Cost(10), at_most: None },
        ),
        sections: Sections { network: Some(network), ..Sections::default() },
    }
}
