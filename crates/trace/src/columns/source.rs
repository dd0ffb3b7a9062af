//! Where a sampled access found its data.
use super::{Column, Held};
use crate::sample::DataSource;

pub(crate) static SPEC: Column = Column {
    number: 3,
    version: 1,
    name: "source",
    summary: "data source of a sample, by its code; 0 if it is not known",
    max: DataSource::ALL.len() as u64 - 1,
    held: Held::InSample { get: |s| s.source as u64, set: |s, v| s.source = DataSource::ALL[v as usize] },
};
