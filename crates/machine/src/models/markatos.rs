//! The multiprocessor of Markatos and Chronaki: pages with a master copy that is remote to everybody, made coherent by
//! updates or invalidations.
use super::Spec;
use crate::costs::{CopyCost, Costs, Matrix};
use crate::model::{Machine, Unit};
use crate::sections::{Coherence, Sections};
use crate::shape::Shape;
use homenode_base::Cost;

pub(crate) static SPEC: Spec = Spec {
    name: "markatos",
    summary: "Markatos and Chronaki: 64 processors, pages made coherent by updates or invalidations",
    build,
};

const NODES: usize = 64;

/// Table 1, in cycles.
const PRICES: Coherence = Coherence {
    local: Cost(5),
    remote_read: Cost(100),
    remote_write: Cost(10),
    round_trip: Cost(90),
    word: Cost(4),
    fault: Cost(500),
};

fn build() -> Machine {
    let p = PRICES;
    let matrix = |far: Cost| Matrix::uniform(NODES, p.local, far);
    let mut cost = Costs::alike(&matrix(p.remote_read), CopyCost::linear(p.round_trip + p.fault, p.word));
    (cost.write, cost.write_back) = (matrix(p.remote_write), matrix(p.remote_write));
    Machine {
        name: SPEC.name.into(),
        title: "Markatos and Chronaki: 64 processors with parts of a shared memory".into(),
        sources: vec![
            "64 processors; 5, 100, 10 cycles a reference, 90 + 4 a word to copy a page, 500 a fault: Markatos and \
             Chronaki, Trace-driven simulation of data-alignment and other factors affecting update and invalidate based \
             coherent memory, table 1"
                .into(),
            "a word is four bytes: the traffic of their tables".into(),
        ],
        unit: Unit::Quantum("cycle".into()),
        shape: Shape { cores: vec![1; NODES], word_bytes: 4, page_bytes: 4096 },
        cost,
        sections: Sections { coherence: Some(p), ..Sections::default() },
    }
}
