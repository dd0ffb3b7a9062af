//! Pages placed by software, words reached by hardware (Bolosky 1993, table 6.3).
use super::{Spec, family};

pub(crate) static SPEC: Spec = Spec {
    name: family::NUMA.name,
    summary: "software-placed pages, remote references in hardware (Bolosky 1993, chapter 6)",
    build: || family::default_of(family::NUMA),
};
