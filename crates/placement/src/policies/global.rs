//! Every block in global memory: the base that the ACE's policies are measured against (Bolosky 1993, section 5.4).
use super::resident::{self, Home};
use super::{Make, Spec, needs_global, table};
use crate::access::Access;
use crate::policy::{BlockContext, Policy, Sink};
use homenode_base::NodeId;
use homenode_machine::Location;
use std::borrow::Cow;

pub(crate) static SPEC: Spec = Spec {
    name: Cow::Borrowed("global"),
    summary: Cow::Borrowed("Every block lives in global memory, g each (machines that have some)"),
    params: &[],
    needs_homes: false,
    reported: false,
    decides_by: &[],
    period: |_| None,
    make: Make::Registered(|_, machine, block_bytes| {
        needs_global(&SPEC.name, machine)?;
        table(Global, machine, block_bytes)
    }),
};

struct Global;

impl Policy for Global {
    type State = Home;
    fn begin(&self, _: &BlockContext<'_>) -> Home {
        None
    }
    fn settled(&self, _: &BlockContext<'_>, home: &Home, _: NodeId) -> Option<Location> {
        *home
    }
    #[inline]
    fn step(&self, block: &BlockContext<'_>, home: &mut Home, _: &Access, sink: &mut impl Sink) -> Location {
        resident::serve(block, home, || Location::Global, sink)
    }
}
