//! DW, direct write: notices are deposited into the memory of all nodes.
use super::{Intervals, Notices, Step, base};

pub(crate) static SPEC: Step = Step {
    name: "dw",
    also: "dw",
    summary: "base, and notices are deposited at all nodes at each release",
    notices: Notices::Pushed,
    intervals: Intervals::Released,
    ..base::SPEC
};
