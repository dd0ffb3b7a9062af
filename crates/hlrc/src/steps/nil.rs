//! NIL, locks in the network interface: GeNIMA. No processor is ever interrupted.
use super::{Locks, Step, dd};

pub(crate) static SPEC: Step = Step {
    name: "nil",
    also: "genima",
    summary: "dd, and locks are queues in memory that the requester alone changes: GeNIMA",
    locks: Locks::Queued,
    ..dd::SPEC
};
