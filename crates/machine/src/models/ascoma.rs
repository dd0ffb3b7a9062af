//! The machine of the AS-COMA study (Kuo, Carter, Kuramkote, Swanson 1998, section 4.1, tables 3 and 4).
use super::Spec;
use crate::costs::{CopyCost, Costs, Matrix};
use crate::model::{Machine, Unit};
use crate::sections::{Hybrid, Sections};
use crate::shape::Shape;
use homenode_base::Cost;

pub(crate) static SPEC: Spec = Spec {
    name: "ascoma",
    summary: "8 nodes with RAC and page cache (Kuo and others 1998): `homenode sim memory`",
    build,
};

fn build() -> Machine {
    let hybrid = Hybrid {
        cache_bytes: 8192,
        line_bytes: 32,
        chunk_bytes: 128,
        banks: 4,
        bus: 6,
        bank: 52,
        fill: 5,
        engine: 12,
        network: 15,
        port: 6,
        fault: 2000,
        interrupt: 2000,
        relocation: 6000,
        daemon: [2000, 20],
        daemon_gap: [1_000_000, 64_000_000],
        free_percent: [5, 7],
        threshold: [32, 8],
        threshold_steps: 16,
        break_even: 16,
        evaluation: 2,
        readings: Default::default(),
    };
    let near_far = Matrix::uniform(8, Cost(hybrid.local() as i64), Cost(hybrid.remote() as i64));
    Machine {
        name: SPEC.name.into(),
        title: "8 nodes with remote access cache and page cache at 120 MHz".into(),
        sources: vec![
            "cache 8 KiB with lines of 32 B, chunks of 128 B, 4 banks, 58 and 147 cycles: Kuo and others 1998, section 4.1, tables 3, 4".into(),
            "interrupt 2000, relocation 6000 cycles: section 5.1; 5 and 7 % of the frames, threshold 32 + 8: section 4.1".into(),
            "break-even 16 refetches, 2 replacements per cached page: sections 4.1 and 5.2".into(),
            "147 = bus 6, engine 12, network 15, port 6, engine 12, DRAM 58, network 15, port 6, engine 12, fill 5: our split".into(),
            "fault 2000, daemon 2000 + 20 per page every 1 M to 64 M cycles, end of relocation after 16 steps: our choice".into(),
            "a page is copied as 32 chunks from another node: our choice; read by the placement commands only".into(),
        ],
        unit: Unit::Quantum("cycle of 120 MHz".into()),
        shape: Shape { cores: vec![1; 8], word_bytes: 4, page_bytes: 4096 },
        cost: Costs::alike(&near_far, CopyCost { fixed: Cost(hybrid.relocation as i64), per_word: Cost(5), at_most: None }),
        sections: Sections { hybrid: Some(hybrid), ..Sections::default() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_those_of_table_4() {
        let hybrid = build().sections.hybrid.expect("a section");
        assert_eq!((hybrid.rac(), hybrid.local(), hybrid.remote(), hybrid.hop()), (23, 58, 147, 33));
    }
}
