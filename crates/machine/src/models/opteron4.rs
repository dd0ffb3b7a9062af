//! The four-node Opteron of Thakkar 2008 (table 4.1): a ring of HyperTransport links, two hops at most.
//!
//! The measured diagonal is the least of each row, so the table is used as it stands. Caches are not modelled: what the
//! thesis counts, and what its affinity works on, are misses.
use super::Spec;
use crate::costs::{CopyCost, Costs, Matrix};
use crate::model::{Machine, Unit};
use crate::sections::Sections;
use crate::shape::Shape;
use homenode_base::Cost;

pub(crate) static SPEC: Spec =
    Spec { name: "opteron4", summary: "4-node Opteron (Thakkar 2008, table 4.1): ring, picoseconds, no caches", build };

/// Load latency in nanoseconds, row = processor's node, column = memory node.
pub(crate) const RAW_NS: [[i64; 4]; 4] =
    [[102, 138, 172, 140], [143, 107, 141, 172], [179, 141, 102, 141], [141, 175, 142, 108]];

/// Moving a 4 KiB page by mbind: 0.82 s for 130,000 pages, in picoseconds.
pub(super) const MOVE: Cost = Cost(6_307_692);

fn build() -> Machine {
    let rows: Vec<Vec<Cost>> = RAW_NS.iter().map(|r| r.iter().map(|ns| Cost(ns * 1000)).collect()).collect();
    opteron(SPEC.name, "AMD Opteron, 4 nodes in a ring", &rows, 1, "table 4.1")
}

/// What both machines of the thesis share.
pub(super) fn opteron(name: &str, title: &str, rows: &[Vec<Cost>], cores: u16, table: &str) -> Machine {
    let matrix = Matrix::from_rows(rows).expect("the tables are square");
    Machine {
        name: name.into(),
        title: title.into(),
        sources: vec![
            format!("load latencies: Thakkar 2008, {table} (mean of 10 runs, deviation below 5 %)"),
            "stores and write-backs cost what loads cost: only loads were measured".into(),
            "4 KiB pages; moving one 6.3 us: mbind of 130,000 interleaved pages in 0.82 s, Thakkar 2008, section 4.1.3"
                .into(),
        ],
        unit: Unit::Picoseconds,
        shape: Shape { cores: vec![cores; rows.len()], word_bytes: 8, page_bytes: 4096 },
        cost: Costs::alike(&matrix, CopyCost { fixed: MOVE, per_word: Cost(0), at_most: None }),
        sections: Sections::default(),
    }
}
