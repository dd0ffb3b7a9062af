//! Each block lives where it is first touched (the default of Linux).
use super::resident::{self, Home, toucher};
use super::{Make, Spec, needs_remote_access, table};
use crate::access::Access;
use crate::policy::{BlockContext, Policy, Sink};
use homenode_base::NodeId;

use homenode_machine::Location;
use std::borrow::Cow;

pub(crate) static SPEC: Spec = Spec {
    name: Cow::Borrowed("first-touch"),
    summary: Cow::Borrowed("Each block lives where it is first touched (the default of Linux)"),
    params: &[],
    needs_homes: false,
    reported: true,
    decides_by: &[],
    period: |_| None,
    make: Make::Registered(|_, machine, block_bytes| {
        needs_remote_access(&SPEC.name, machine)?;
        table(FirstTouch, machine, block_bytes)
    }),
};

struct FirstTouch;

impl Policy for FirstTouch {
    type State = Home;
    fn begin(&self, _: &BlockContext<'_>) -> Home {
        None
    }
    fn settled(&self, _: &BlockContext<'_>, home: &Home, _: NodeId) -> Option<Location> {
        *home
    }
    #[inline]
    fn step(&self, block: &BlockContext<'_>, home: &mut Home, access: &Access, sink: &mut impl Sink) -> Location {
        resident::serve(block, home, || toucher(access), sink)
    }
}
