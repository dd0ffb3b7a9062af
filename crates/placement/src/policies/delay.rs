//! The policy of the ACE, delayed (Bolosky 1993, section 5.1): a node without a copy references the block remotely for n
//! accesses before it faults and the policy of the ACE decides.
//!
//! Each node without a copy has a counter, which starts at n, falls by one with each of its accesses and is forgotten when
//! the node gets a copy; all are forgotten when the block moves (a write leaves it on a node that held no copy) and when
//! it is given up. These accesses are served by the copy that stays if only one can, at r each. A write among them drops
//! the other copies, which counts as an invalidation if several nodes had one. With n = 0 this is the policy of the ACE.
//!
//! | state, request by q without a copy | counter of q above 0 | counter at 0 |
//! |---|---|---|
//! | read | r; counter falls | as `ace` |
//! | write, one copy | r; counter falls | as `ace` |
//! | write, several copies | all but one dropped, counted if on nodes; r; counter falls | as `ace` |
//! | given up | as `ace` | as `ace` |
//!
//! Requests by nodes with a copy, and the first touch, are those of `ace`. Hits and write-backs of caches neither count
//! nor fault.
use super::ace::{self, Ace};
use super::{Make, Param, Spec, needs_remote_access, table};
use crate::access::Access;
use crate::policy::{BlockContext, Policy, Sink};
use homenode_base::NodeId;
use homenode_machine::{AccessClass, Location};
use std::borrow::Cow;

static N: Param = Param {
    name: "n",
    summary: "remote accesses of a node before it faults",
    default: 100,
    min: 0,
    max: u32::MAX,
    variant: false,
};

static PARAMS: [Param; 5] = [N, ace::PARAMS[0], ace::PARAMS[1], ace::PARAMS[2], ace::PARAMS[3]];

pub(crate) static SPEC: Spec = Spec {
    name: Cow::Borrowed("delay"),
    summary: Cow::Borrowed("As ace, but each node makes n remote accesses before anything is decided for it"),
    params: &PARAMS,
    needs_homes: false,
    reported: false,
    decides_by: &[],
    period: |_| None,
    make: Make::Registered(|values, machine, block_bytes| {
        needs_remote_access(&SPEC.name, machine)?;
        table(Delay { n: values[0], ace: Ace::new(&SPEC.name, &values[1..], machine)? }, machine, block_bytes)
    }),
};

struct Delay {
    n: u32,
    ace: Ace,
}

/// What `ace` knows, and the counters of the nodes that have begun to count.
#[derive(Clone, Default)]
struct State {
    ace: ace::State,
    left: Vec<(NodeId, u32)>,
}

impl State {
    fn counter(&self, node: NodeId) -> Option<u32> {
        self.left.iter().find(|(n, _)| *n == node).map(|(_, left)| *left)
    }
    fn set(&mut self, node: NodeId, left: u32) {
        match self.left.iter_mut().find(|(n, _)| *n == node) {
            Some(counter) => counter.1 = left,
            None => self.left.push((node, left)),
        }
    }
    /// Whether the access is one of a node without a copy on a block that is placed and not given up.
    #[inline]
    fn unmapped(&self, access: &Access) -> bool {
        let copies = &self.ace.copies;
        !self.ace.frozen && !copies.nodes.contains(access.node) && copies.count() > 0
    }
}

/// Whether the access counts: hits do not reach memory, and a write-back is a cache's doing.
fn counts(access: &Access) -> bool {
    matches!(access.class.at_latency(), AccessClass::Read | AccessClass::Write)
}

impl Policy for Delay {
    type State = State;
    fn begin(&self, _: &BlockContext<'_>) -> State {
        State::default()
    }
    #[inline]
    fn together(&self, _: &BlockContext<'_>, state: &State, access: &Access) -> u32 {
        if !counts(access) || !state.unmapped(access) {
            return access.weight;
        }
        match state.counter(access.node).unwrap_or(self.n) {
            0 => access.weight,
            left => left.min(access.weight),
        }
    }
    fn settled(&self, block: &BlockContext<'_>, state: &State, node: NodeId) -> Option<Location> {
        // Its own copy or none that counts: with neither, accesses are counted.
        self.ace.settled(block, &state.ace, node)
    }
    #[inline]
    fn step(&self, block: &BlockContext<'_>, state: &mut State, access: &Access, sink: &mut impl Sink) -> Location {
        if !state.unmapped(access) {
            let at = self.ace.step(block, &mut state.ace, access, sink);
            if state.ace.frozen {
                state.left.clear();
            }
            return at;
        }
        self.unmapped(block, state, access, sink)
    }
}

impl Delay {
    fn unmapped(&self, block: &BlockContext<'_>, state: &mut State, access: &Access, sink: &mut impl Sink) -> Location {
        let left = state.counter(access.node).unwrap_or(self.n);
        let at = match counts(access) {
            true if left == 0 => return self.fault(block, state, access, sink),
            true => {
                state.set(access.node, left.saturating_sub(access.weight));
                self.ace.serve_remotely(&mut state.ace, access, sink)
            }
            false => self.ace.serve_remotely(&mut state.ace, access, sink),
        };
        if state.ace.frozen {
            state.left.clear();
        }
        at
    }

    /// The counter has run out.
    fn fault(&self, block: &BlockContext<'_>, state: &mut State, access: &Access, sink: &mut impl Sink) -> Location {
        let at = self.ace.fault(block, &mut state.ace, access, sink);
        let moved = access.kind == crate::AccessKind::Write && state.ace.copies.nodes.contains(access.node);
        if moved || state.ace.frozen {
            state.left.clear();
        }
        state.left.retain(|(node, _)| *node != access.node);
        at
    }
}
