//! Everything on one node, as `numactl --membind` has it.
use super::resident::{self, Home};
use super::{Make, Param, PolicyError, Spec, needs_remote_access, table};
use crate::access::Access;
use crate::policy::{BlockContext, Policy, Sink};
use homenode_base::NodeId;
use homenode_machine::Location;
use std::borrow::Cow;

static NODE: Param =
    Param { name: "node", summary: "the node", default: 0, min: 0, max: u16::MAX as u32, variant: false };

pub(crate) static SPEC: Spec = Spec {
    name: Cow::Borrowed("fixed"),
    summary: Cow::Borrowed("Every block lives on one node (numactl --membind)"),
    params: &[NODE],
    needs_homes: false,
    reported: true,
    decides_by: &[],
    period: |_| None,
    make: Make::Registered(|values, machine, block_bytes| {
        needs_remote_access(&SPEC.name, machine)?;
        let max = machine.nodes() as u32 - 1;
        if values[0] > max {
            let value = values[0].to_string();
            return Err(PolicyError::Range { policy: &SPEC.name, param: NODE.name, value, min: 0, max });
        }
        table(Fixed(Location::Node(NodeId(values[0] as u16))), machine, block_bytes)
    }),
};

struct Fixed(Location);

impl Policy for Fixed {
    type State = Home;
    fn begin(&self, _: &BlockContext<'_>) -> Home {
        None
    }
    fn settled(&self, _: &BlockContext<'_>, home: &Home, _: NodeId) -> Option<Location> {
        *home
    }
    #[inline]
    fn step(&self, block: &BlockContext<'_>, home: &mut Home, _: &Access, sink: &mut impl Sink) -> Location {
        resident::serve(block, home, || self.0, sink)
    }
}
