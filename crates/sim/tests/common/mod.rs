//! Machines and small helpers that several tests share.
#![allow(dead_code, reason = "each test binary uses its own part of this module")]
pub(crate) mod estimates;
pub(crate) mod objects;

use homenode_base::Cost;
use homenode_machine::{CacheGeometry, Caches};
use homenode_machine::{CopyCost, Costs, Machine, Matrix, Sections, Shape, Unit};

/// Whether the slow tier is asked for.
pub(crate) fn slow() -> bool {
    std::env::var_os("HOMENODE_SLOW").is_some_and(|v| v == "1")
}

/// A machine with these cores per node, uniform costs and no caches.
pub(crate) fn plain(cores: &[u16]) -> Machine {
    let n = cores.len();
    Machine {
        name: "plain".into(),
        title: "test machine".into(),
        sources: vec!["made up".into()],
        unit: Unit::Quantum("local reference".into()),
        shape: Shape { cores: cores.to_vec(), word_bytes: 4, page_bytes: 4096 },
        cost: Costs {
            read: Matrix::uniform(n, Cost(10), Cost(50)),
            write: Matrix::uniform(n, Cost(11), Cost(57)),
            write_back: Matrix::uniform(n, Cost(3), Cost(13)),
            remote_access: true,
            copy: CopyCost::linear(Cost(200), Cost(1)),
            global: None,
        },
        sections: Sections::default(),
    }
}

/// The machine of [`plain`] with caches: lines of 64 bytes, private and shared as (sets, ways).
pub(crate) fn cached(cores: &[u16], private: (u64, u32), shared: (u64, u32)) -> Machine {
    let geometry = |(sets, ways): (u64, u32)| CacheGeometry { bytes: sets * u64::from(ways) * 64, ways };
    let caches = Caches {
        line_bytes: 64,
        private: geometry(private),
        shared: geometry(shared),
        transfer_near: Cost(20),
        transfer_far: Cost(70),
    };
    Machine {
        name: "cached".into(),
        sections: Sections { caches: Some(caches), ..Sections::default() },
        ..plain(cores)
    }
}
