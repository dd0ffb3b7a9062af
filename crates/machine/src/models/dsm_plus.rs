//! Distributed shared memory with remote references by traps (Bolosky 1993, table 6.3).
use super::{Spec, family};

pub(crate) static SPEC: Spec = Spec {
    name: family::DSM_PLUS.name,
    summary: "distributed shared memory with remote references by traps (Bolosky 1993, chapter 6)",
    build: || family::default_of(family::DSM_PLUS),
};
