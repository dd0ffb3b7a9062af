//! Distributed shared memory without a decision to make (Bolosky 1993, section 6.1): a block is copied to every node that
//! reads it and moves to every node that writes it.
//!
//! | state, request by q | cost |
//! |---|---|
//! | untouched | q's copy: 0 |
//! | a copy at q, read, or the only copy and write | 1 |
//! | several copies, one at q, write | the others dropped: 0 |
//! | no copy at q, read | copy: R |
//! | no copy at q, write | copy or move: R, others dropped |
//!
//! Nothing is ever referenced remotely, except that a write-back is no fault where the block has one copy that the node can
//! reach. Where r is infinite and the first placement free this is optimal. Global memory is not used.
use super::copies::Copies;
use super::{Make, Spec, table};
use crate::access::{Access, AccessKind};
use crate::policy::{BlockContext, Policy, Sink};
use homenode_base::NodeId;
use homenode_machine::Location;
use std::borrow::Cow;

pub(crate) static SPEC: Spec = Spec {
    name: Cow::Borrowed("dsm"),
    summary: Cow::Borrowed(
        "Replicates on every read, moves on every write, never references remotely (shared virtual memory)",
    ),
    params: &[],
    needs_homes: false,
    reported: false,
    decides_by: &[],
    period: |_| None,
    make: Make::Registered(|_, machine, block_bytes| table(Dsm, machine, block_bytes)),
};

struct Dsm;

impl Policy for Dsm {
    type State = Copies;
    fn begin(&self, _: &BlockContext<'_>) -> Copies {
        Copies::default()
    }
    fn settled(&self, _: &BlockContext<'_>, copies: &Copies, node: NodeId) -> Option<Location> {
        copies.only_of(node)
    }
    #[inline]
    fn step(&self, block: &BlockContext<'_>, copies: &mut Copies, access: &Access, sink: &mut impl Sink) -> Location {
        if copies.faults(access) && !copies.takes_write_back(block, access) {
            match access.kind {
                _ if copies.count() == 0 => _ = copies.place(block, access.node, sink),
                AccessKind::Read => _ = copies.add(Location::Node(access.node), sink),
                AccessKind::Write => _ = copies.take(access.node, false, sink),
            }
        }
        copies.nearest(access.node).unwrap_or(Location::Node(access.node))
    }
}
