//! A two-socket x86 server of the Skylake-SP generation, with caches.
use super::Spec;
use crate::model::{CacheGeometry, Caches, CopyCost, Machine, Matrix, Unit};
use homenode_base::Cost;

pub(crate) static SPEC: Spec = Spec {
    name: "two-socket",
    summary: "two-socket x86 server (2017): 2 nodes of 8 cores, caches, picoseconds",
    build,
};

fn ns(n: i64) -> Cost {
    Cost(n * 1000)
}

fn build() -> Machine {
    Machine {
        name: SPEC.name.into(),
        title: "Two-socket x86 server, 2 x 8 cores, 1 MiB private and 11 MiB shared cache".into(),
        sources: vec!["Skylake-SP geometry: Intel Xeon Silver 4110 product page".into()],
        unit: Unit::Picoseconds,
        cores: vec![8; 2],
        word_bytes: 8,
        page_bytes: 4096,
        read: Matrix::uniform(2, ns(81), ns(141)),
        write: Matrix::uniform(2, ns(81), ns(141)),
        write_back: Matrix::uniform(2, ns(5), ns(10)),
        remote_access: true,
        copy: CopyCost::linear(ns(1000), Cost(1000)),
        global: None,
        caches: Some(Caches {
            line_bytes: 64,
            private: CacheGeometry { bytes: 1 << 20, ways: 16 },
            shared: CacheGeometry { bytes: 11 << 20, ways: 11 },
            transfer_near: ns(50),
            transfer_far: ns(110),
        }),
    }
}
