//! What a placement sees of a program: per block, a sequence of accesses.
use homenode_base::{NodeId, VirtualTime};
use homenode_machine::AccessClass;

/// What the block's state must allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// Any copy will do.
    Read,
    /// There must be exactly one copy.
    Write,
}

/// One access to a block, or `weight` consecutive equal ones. Costs `weight * machine.access(class, node, place)`.
/// A write-back is `Write` with class `WriteBack`; a first-read or write-intent event has class `Free`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Node of the processor.
    pub node: NodeId,
    /// Read or write.
    pub kind: AccessKind,
    /// What is charged.
    pub class: AccessClass,
    /// Number of consecutive equal accesses.
    pub weight: u32,
    /// Virtual time of the access.
    pub t: VirtualTime,
}
