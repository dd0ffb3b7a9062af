//! Nodes emulated on an Origin2000, which share memory by copying alone (Bilas and Singh, section 1.5.1, tables 1.5 and 1.10).
use super::{Spec, svm_achievable};
use crate::costs::{CopyCost, Costs, Matrix};
use crate::model::{Machine, Unit};
use crate::sections::{Handlers, Network, Sections};
use crate::shape::Shape;
use homenode_base::Cost;

pub(crate) static SPEC: Spec = Spec {
    name: "svm-origin",
    summary: "8 nodes of 4 R12000 emulated on an Origin2000 (Bilas and Singh, section 1.5.1, tables 1.5 and 1.10)",
    build,
};

fn network() -> Network {
    let study = svm_achievable::network();
    Network {
        mhz: 300,
        line_bytes: 64,
        l1_bytes: 32 << 10,
        l2_bytes: 4 << 20,
        piece_bytes: 64,
        queue_bytes: 0,
        bus: 2600,
        io: 1950,
        link: 0,
        host_overhead: 33,
        occupancy: 0,
        latency: 20,
        interrupt: 7000,
        handlers: Handlers {
            fault: 11_100,
            local: 2100,
            protect: [12_000, 100],
            shootdown: 0,
            concurrent: 100,
            ..study.handlers
        },
        ..study
    }
}

fn build() -> Machine {
    let network = network();
    let far = Cost((network.host_overhead + network.latency + network.memory) as i64);
    Machine {
        name: SPEC.name.into(),
        title: "32 processors of 300 MHz of an Origin2000 as 8 nodes".into(),
        sources: vec![
            "caches, buses of 780 MB/s, pages of 16 KB: Bilas and Singh, section 1.5.1; lines are 64 B, not 128".into(),
            "0.11 us for a word, 7 us for 4 KB, 7 us for a lock in the node, 47 us for a notification: table 1.5; copying by the processor itself is not modelled".into(),
            "a fault 37 us (section 1.5.1); protection of a page 40 us, and as much again for each other call of the node at the same time (figure 1.13, table 1.10)".into(),
            "the rest as in svm-achievable: our choice".into(),
            "costs of references: memory, and a word from another node; read by the placement commands only".into(),
        ],
        unit: Unit::Quantum("cycle of 300 MHz".into()),
        shape: Shape { cores: vec![4; 8], word_bytes: 4, page_bytes: 16_384 },
        cost: Costs::alike(
            &Matrix::uniform(8, Cost(network.memory as i64), far),
            CopyCost { fixed: far, per_word: Cost(2), at_most: None },
        ),
        sections: Sections { network: Some(network), ..Sections::default() },
    }
}
