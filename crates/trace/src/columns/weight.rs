//! How many occurrences a sample stands for.
use super::{Column, Held};

pub(crate) static SPEC: Column = Column {
    number: 1,
    version: 1,
    name: "weight",
    summary: "weight of a sample less one",
    max: u32::MAX as u64 - 1,
    held: Held::InSample { get: |s| u64::from(s.weight.max(1) - 1), set: |s, v| s.weight = v as u32 + 1 },
};
