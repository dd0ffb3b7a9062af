//! Where all uses together cost least (Thakkar 2008, equation 2.2).
use super::{Spec, latency, least};

pub(crate) static SPEC: Spec = Spec {
    name: "hop-sensitive",
    summary: "the node where all uses together cost least (Thakkar 2008, eq 2.2)",
    params: &[],
    decide: |_, question| least(&latency(question), question),
    price: latency,
};
