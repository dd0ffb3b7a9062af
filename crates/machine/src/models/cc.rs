//! Coherent caches, `r` infinite (Bolosky 1993, table 6.3).
use super::{Spec, family};

pub(crate) static SPEC: Spec = Spec {
    name: family::CC.name,
    summary: "coherent caches (Bolosky 1993, chapter 6): 8 processors, no remote references",
    build: || family::default_of(family::CC),
};
