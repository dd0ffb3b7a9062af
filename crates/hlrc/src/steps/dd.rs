//! DD, direct diff: changed words are deposited into the home's copy.
use super::{Diffs, Step, rf};

pub(crate) static SPEC: Step = Step {
    name: "dd",
    also: "dd",
    summary: "rf, and each run of changed words is deposited into the home's copy",
    diffs: Diffs::Deposited,
    ..rf::SPEC
};
