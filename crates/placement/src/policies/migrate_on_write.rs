//! The block follows its writers: a write by another node moves it there, reads leave it where it is.
use super::resident::{self, Home, toucher};
use super::{Make, Spec, needs_remote_access, table};
use crate::access::{Access, AccessKind};
use crate::policy::{BlockContext, Outcome, Policy, Sink};
use homenode_base::NodeId;
use homenode_machine::{AccessClass, Location};
use std::borrow::Cow;

pub(crate) static SPEC: Spec = Spec {
    name: Cow::Borrowed("migrate-on-write"),
    summary: Cow::Borrowed("A block moves to each node that writes it; reads do not move it"),
    params: &[],
    needs_homes: false,
    reported: true,
    decides_by: &[],
    period: |_| None,
    make: Make::Registered(|_, machine, block_bytes| {
        needs_remote_access(&SPEC.name, machine)?;
        table(MigrateOnWrite, machine, block_bytes)
    }),
};

struct MigrateOnWrite;

impl Policy for MigrateOnWrite {
    type State = Home;
    fn begin(&self, _: &BlockContext<'_>) -> Home {
        None
    }
    fn settled(&self, _: &BlockContext<'_>, home: &Home, node: NodeId) -> Option<Location> {
        home.filter(|at| *at == Location::Node(node))
    }
    #[inline]
    fn step(&self, block: &BlockContext<'_>, home: &mut Home, access: &Access, sink: &mut impl Sink) -> Location {
        let at = resident::serve(block, home, || toucher(access), sink);
        // A write-back is the cache's doing, no page fault: the store behind it had its chance to move the block.
        let store = access.kind == AccessKind::Write && access.class != AccessClass::WriteBack;
        let to = toucher(access);
        if home.is_none() || !store || at == to || sink.migrate(at, to) != Outcome::Done {
            return at;
        }
        *home = Some(to);
        to
    }
}
