//! What a thread does, one thing after the other, as far as waiting is concerned.
use crate::record::Op;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A read-modify-write that left memory as it was, or an atomic read.
    Poll,
    /// A plain read.
    Read,
    /// A write that is a release: an atomic store.
    Store,
    /// A read-modify-write.
    Modify,
    /// A lock taken in the library.
    Lock,
    /// A lock given back.
    Unlock,
    /// Anything else: no part of a round.
    Other,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    /// Code that made the reference; of an event without one the epoch.
    pub(super) pc: u64,
    pub(super) addr: u64,
    pub(super) op: Op,
    /// Ordinal of the reference, if it is one.
    pub(super) at: Option<u64>,
    pub(super) event: Option<u32>,
    /// Marked as waiting by the recorder, or stands for such a one.
    pub(super) marked: bool,
    /// What stood between it and the one that it stands for, hashed; 0 for nothing.
    pub(super) gap: u64,
    /// A release, and the thread had written something since the one before.
    pub(super) publishes: bool,
}

impl Node {
    pub(super) fn same(&self, other: &Node) -> bool {
        let reads = |n: &Node| matches!(n.kind, Kind::Poll | Kind::Read);
        let alike = self.kind == other.kind || (reads(self) && reads(other));
        alike && self.at.is_some() == other.at.is_some() && (self.pc, self.addr) == (other.pc, other.addr)
    }
}
