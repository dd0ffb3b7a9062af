//! Each block on a random node for ever: the base that the Butterfly's policies are measured against (Bolosky 1993,
//! section 5.4).
//!
//! The node is a function of block number and seed, not of the order of accesses, so any part of a trace gives the same
//! homes. A reference costs 1/p + (p - 1) r / p on average.
use super::resident::{self, Home};
use super::{Make, Param, Spec, needs_remote_access, table};
use crate::access::Access;
use crate::policy::{BlockContext, Policy, Sink};
use homenode_base::{NodeId, Rng};
use homenode_machine::Location;
use std::borrow::Cow;

static SEED: Param =
    Param { name: "seed", summary: "seed of the homes", default: 1, min: 0, max: u32::MAX, variant: false };

pub(crate) static SPEC: Spec = Spec {
    name: Cow::Borrowed("random"),
    summary: Cow::Borrowed("Each block lives on a random node (by block number and seed)"),
    params: &[SEED],
    needs_homes: false,
    reported: false,
    decides_by: &[],
    period: |_| None,
    make: Make::Registered(|values, machine, block_bytes| {
        needs_remote_access(&SPEC.name, machine)?;
        table(Random(values[0].into()), machine, block_bytes)
    }),
};

struct Random(u64);

impl Policy for Random {
    type State = Home;
    fn begin(&self, _: &BlockContext<'_>) -> Home {
        None
    }
    fn settled(&self, _: &BlockContext<'_>, home: &Home, _: NodeId) -> Option<Location> {
        *home
    }
    #[inline]
    fn step(&self, block: &BlockContext<'_>, home: &mut Home, _: &Access, sink: &mut impl Sink) -> Location {
        resident::serve(block, home, || Location::Node(self.home(block)), sink)
    }
}

impl Random {
    /// The seed picks a stream and the block number a place in it: one number per block, never the same for two streams.
    fn home(&self, block: &BlockContext<'_>) -> NodeId {
        let stream = Rng::new(self.0).next_u64();
        NodeId(Rng::new(stream ^ block.block).below(block.machine.nodes() as u64) as u16)
    }
}
