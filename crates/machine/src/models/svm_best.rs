//! The cluster of Bilas and Singh with the best values of each parameter (section 1.3.1, table 1.1).
use super::{Spec, svm_achievable};
use crate::sections::Network;

pub(crate) static SPEC: Spec = Spec {
    name: "svm-best",
    summary: "svm-achievable with the best value of each parameter of communication (Bilas and Singh, table 1.1)",
    build: || svm_achievable::build(SPEC.name, "at its best", network()),
};

fn network() -> Network {
    Network { host_overhead: 0, occupancy: 200, io: 2000, interrupt: 0, ..svm_achievable::network() }
}
