//! Coherent caches with remote references (Bolosky 1993, table 6.3).
use super::{Spec, family};

pub(crate) static SPEC: Spec = Spec {
    name: family::CC_PLUS.name,
    summary: "coherent caches with remote references in hardware (Bolosky 1993, chapter 6)",
    build: || family::default_of(family::CC_PLUS),
};
