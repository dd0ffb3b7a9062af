//! The cluster of Bilas and Singh if communication and protocol took no time: what is left is computing, local memory and imbalance.
use super::{Spec, svm_achievable};
use crate::sections::{Handlers, Network};

pub(crate) static SPEC: Spec = Spec {
    name: "svm-ideal",
    summary: "svm-achievable if communication and protocol took no time",
    build: || svm_achievable::build(SPEC.name, "that takes no time", network()),
};

fn network() -> Network {
    Network {
        host_overhead: 0,
        occupancy: 0,
        io: 0,
        link: 0,
        interrupt: 0,
        handlers: Handlers::default(),
        ..svm_achievable::network()
    }
}
