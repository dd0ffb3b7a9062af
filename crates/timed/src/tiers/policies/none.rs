//! No policy: pages stay where they were first touched.
use super::{Spec, TierPolicy};

pub(crate) static SPEC: Spec = Spec {
    name: "none",
    summary: "first touch: DRAM while frames are free, then the expander; nothing moves",
    params: &[],
    make: |_| Box::new(FirstTouch),
};

struct FirstTouch;

impl TierPolicy for FirstTouch {}
