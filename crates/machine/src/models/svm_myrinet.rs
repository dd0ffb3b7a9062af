//! The cluster on which Bilas and Singh measured (section 1.4.2, table 1.5).
use super::{Spec, svm_achievable};
use crate::costs::{CopyCost, Costs, Matrix};
use crate::model::{Machine, Unit};
use crate::sections::{Handlers, Network, Sections};
use crate::shape::Shape;
use homenode_base::Cost;

pub(crate) static SPEC: Spec = Spec {
    name: "svm-myrinet",
    summary: "4 nodes of 4 Pentium Pro on Myrinet, as measured (Bilas and Singh, section 1.4.2, table 1.5)",
    build,
};

fn network() -> Network {
    let study = svm_achievable::network();
    Network {
        io: 480,
        link: 800,
        fetch_whole: true,
        host_overhead: 400,
        occupancy: 1100,
        interrupt: 12_500,
        handlers: Handlers { local: 2000, protect: [2400, 100], shootdown: 0, ..study.handlers },
        ..study
    }
}

fn build() -> Machine {
    let network = network();
    let far = Cost((network.host_overhead + 2 * network.occupancy + network.memory) as i64);
    Machine {
        name: SPEC.name.into(),
        title: "4 nodes of 4 Pentium Pro of 200 MHz on Myrinet".into(),
        sources: vec![
            "96 MB/s, links of 160 MB/s, a send 2 us, 14 us for a word: Bilas and Singh, section 1.4.2 and table 1.5; occupancy is what is left of that".into(),
            "a fetch has all of a packet before it sends it: 105 us for 4 KB, 46 for a send of them (table 1.5)".into(),
            "an interrupt: so that a page takes some 200 us without remote fetches (section 1.4.2), scheduling included; a notification alone is 42 us".into(),
            "protection of a page 10 to 15 us (section 1.4.2), a lock in the node some 10 us (table 1.5); caches, memory and the rest as in svm-achievable".into(),
            "costs of references: memory, and a word from another node; read by the placement commands only".into(),
        ],
        unit: Unit::Quantum("cycle of 200 MHz".into()),
        shape: Shape { cores: vec![4; 4], word_bytes: 4, page_bytes: 4096 },
        cost: Costs::alike(
            &Matrix::uniform(4, Cost(network.memory as i64), far),
            CopyCost { fixed: far, per_word: Cost(10), at_most: None },
        ),
        sections: Sections { network: Some(network), ..Sections::default() },
    }
}
