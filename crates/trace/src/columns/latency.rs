//! How long a sampled access took.
use super::{Column, Held};

pub(crate) static SPEC: Column = Column {
    number: 2,
    version: 1,
    name: "latency",
    summary: "latency of a sample in processor cycles plus one; 0 if it was not measured",
    max: u32::MAX as u64 + 1,
    held: Held::InSample {
        get: |s| s.latency_cycles.map_or(0, |l| u64::from(l) + 1),
        set: |s, v| s.latency_cycles = v.checked_sub(1).map(|l| l as u32),
    },
};
