//! Base: home-based lazy release consistency whose hosts serve each other's requests.
use super::{Diffs, Intervals, Locks, Notices, Pages, Step};

pub(crate) static SPEC: Step = Step {
    name: "base",
    also: "base",
    summary: "hosts are interrupted for pages, diffs and locks; notices come with the lock",
    notices: Notices::WithLock,
    intervals: Intervals::Lazy,
    pages: Pages::Requested,
    diffs: Diffs::Sent,
    locks: Locks::Managed,
};
