//! Block number modulo the number of nodes (numactl --interleave=all).
use super::resident::{self, Home};
use super::{Make, Spec, needs_remote_access, table};
use crate::access::Access;
use crate::policy::{BlockContext, Policy, Sink};
use homenode_base::NodeId;
use homenode_machine::Location;
use std::borrow::Cow;

pub(crate) static SPEC: Spec = Spec {
    name: Cow::Borrowed("interleave"),
    summary: Cow::Borrowed("Block number modulo the number of nodes (numactl --interleave=all)"),
    params: &[],
    needs_homes: false,
    reported: true,
    decides_by: &[],
    period: |_| None,
    make: Make::Registered(|_, machine, block_bytes| {
        needs_remote_access(&SPEC.name, machine)?;
        table(Interleave, machine, block_bytes)
    }),
};

struct Interleave;

impl Policy for Interleave {
    type State = Home;
    fn begin(&self, _: &BlockContext<'_>) -> Home {
        None
    }
    fn settled(&self, _: &BlockContext<'_>, home: &Home, _: NodeId) -> Option<Location> {
        *home
    }
    #[inline]
    fn step(&self, block: &BlockContext<'_>, home: &mut Home, _: &Access, sink: &mut impl Sink) -> Location {
        resident::serve(
            block,
            home,
            || Location::Node(NodeId((block.block % block.machine.nodes() as u64) as u16)),
            sink,
        )
    }
}
