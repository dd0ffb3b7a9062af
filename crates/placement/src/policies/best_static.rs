//! Each block lives where one home for ever costs least, which takes an earlier pass over the trace to know.
use super::resident::{self, Home, toucher};
use super::{Make, Spec, needs_remote_access, table};
use crate::access::Access;
use crate::policy::{BlockContext, Policy, Sink};
use homenode_base::NodeId;
use homenode_machine::Location;
use std::borrow::Cow;

pub(crate) static SPEC: Spec = Spec {
    name: Cow::Borrowed("best-static"),
    summary: Cow::Borrowed("Each block lives for ever where that costs least (needs a pass over the trace)"),
    params: &[],
    needs_homes: true,
    reported: true,
    decides_by: &[],
    period: |_| None,
    make: Make::Registered(|_, machine, block_bytes| {
        if machine.cost.global.is_none() {
            needs_remote_access(&SPEC.name, machine)?;
        }
        table(BestStatic, machine, block_bytes)
    }),
};

struct BestStatic;

impl Policy for BestStatic {
    type State = Home;
    fn begin(&self, _: &BlockContext<'_>) -> Home {
        None
    }
    fn settled(&self, _: &BlockContext<'_>, home: &Home, _: NodeId) -> Option<Location> {
        *home
    }
    #[inline]
    fn step(&self, block: &BlockContext<'_>, home: &mut Home, access: &Access, sink: &mut impl Sink) -> Location {
        resident::serve(block, home, || block.home.unwrap_or(fallback(block, access)), sink)
    }
}

/// For a block without a home: where it is first touched, unless other nodes could not reach it there.
pub(super) fn fallback(block: &BlockContext<'_>, access: &Access) -> Location {
    let alone = block.machine.nodes() == 1;
    if block.machine.cost.remote_access || alone { toucher(access) } else { Location::Global }
}
