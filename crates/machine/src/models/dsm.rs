//! Distributed shared memory, `r` infinite (Bolosky 1993, table 6.3).
use super::{Spec, family};

pub(crate) static SPEC: Spec = Spec {
    name: family::DSM.name,
    summary: "distributed shared memory (Bolosky 1993, chapter 6): no remote references",
    build: || family::default_of(family::DSM),
};
