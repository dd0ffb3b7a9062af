//! RF, remote fetch: pages are read out of the home's memory.
use super::{Pages, Step, dw};

pub(crate) static SPEC: Step = Step {
    name: "rf",
    also: "rf",
    summary: "dw, and pages are read out of their home's memory without its processor",
    pages: Pages::Fetched,
    ..dw::SPEC
};
