//! The policy of the ACE (Bolosky 1993, sections 3.1.3 and 5.1): replicate what is read, move what is written, and
//! give up on a block after k invalidations.
//!
//! With global memory a read-only block has copies on any nodes and a valid one in global memory; a written block has
//! one copy on its writer's node, and global memory is stale; a block given up lives in global memory for ever.
//! Without global memory every copy costs R, and a block given up keeps one copy that the other nodes reference
//! remotely. Decisions are made on faults only: first touch, read without a copy, write unless the only copy is the
//! writer's. A write-back is no fault where the block has one copy that the node can reach.
//!
//! | state, request by q | k not used up | k used up |
//! |---|---|---|
//! | untouched | q's copy, for a read global too: 0 | the same |
//! | read-only, read without a copy | copy: G (R without global memory) | given up |
//! | read-only, write by the sole node with a copy | global stale: 0, not counted | given up |
//! | read-only, other write | others dropped; G (R) if q had none; counted | given up |
//! | one copy at p, read by q | write back and copy: 2 G (R) | given up: G (0) |
//! | one copy at p, write by q | moves: R; counted | given up: G (0) |
//! | given up | | g (r for all but the holder) each |
//!
//! Variants that the text leaves open are the parameters after k.
use super::copies::Copies;
use super::{Make, Param, PolicyError, Spec, needs_global, needs_remote_access, table};
use crate::access::{Access, AccessKind};
use crate::policy::{BlockContext, Policy, Sink};
use homenode_base::NodeId;
use homenode_machine::{Location, Machine};
use std::borrow::Cow;

/// The policy's parameters, also those of `delay`.
pub(super) static PARAMS: [Param; 4] = [
    Param {
        name: "k",
        summary: "invalidations after which a block is given up (pinned in global memory, or frozen)",
        default: 4,
        min: 0,
        max: u32::MAX,
        variant: false,
    },
    Param::variant("freeze", "given up 0: at the first fault with k used up, 1: by the write that is the k-th", 0, 1),
    Param::variant("path", "a move between nodes goes 0: directly (R), 1: through global memory (2 G)", 0, 1),
    Param::variant("place", "given up 0: in global memory if there is some, 1: where it is", 0, 1),
];

pub(crate) static SPEC: Spec = Spec {
    name: Cow::Borrowed("ace"),
    summary: Cow::Borrowed("Replicates on read, moves on write, gives up after k invalidations (IBM ACE)"),
    params: &PARAMS,
    needs_homes: false,
    reported: true,
    decides_by: &[],
    period: |_| None,
    make: Make::Registered(|values, machine, block_bytes| {
        table(Ace::new(&SPEC.name, values, machine)?, machine, block_bytes)
    }),
};

/// The policy with its parameters.
pub(super) struct Ace {
    /// `None`: never given up.
    k: Option<u32>,
    at_kth: bool,
    through_global: bool,
    in_place: bool,
}

/// What the policy knows of a block.
#[derive(Clone, Default)]
pub(super) struct State {
    pub(super) copies: Copies,
    /// Given up: no more faults.
    pub(super) frozen: bool,
    invalidations: u32,
}

impl Policy for Ace {
    type State = State;
    fn begin(&self, _: &BlockContext<'_>) -> State {
        State::default()
    }
    fn settled(&self, _: &BlockContext<'_>, state: &State, node: NodeId) -> Option<Location> {
        let given_up = || state.copies.nearest(node).filter(|_| state.frozen && state.copies.count() == 1);
        state.copies.only_of(node).or_else(given_up)
    }
    #[inline]
    fn step(&self, block: &BlockContext<'_>, state: &mut State, access: &Access, sink: &mut impl Sink) -> Location {
        let here = Location::Node(access.node);
        let held = state.copies.nodes.contains(access.node);
        let fault = match access.kind {
            AccessKind::Read => !held && !state.frozen,
            AccessKind::Write => state.copies.count() != 1 || !(held || state.frozen),
        };
        if fault {
            return self.fault(block, state, access, sink);
        }
        if held { here } else { state.copies.nearest(access.node).unwrap_or(here) }
    }
}

impl Ace {
    /// From [`PARAMS`], for this machine.
    pub(super) fn new(policy: &'static str, values: &[u32], machine: &Machine) -> Result<Ace, PolicyError> {
        let (has_global, in_place) = (machine.cost.global.is_some(), values[3] == 1);
        if in_place {
            needs_remote_access(policy, machine)?;
        }
        if values[2] == 1 {
            needs_global(policy, machine)?;
        }
        // Giving up needs remote references or global memory; without either the block goes on moving for ever.
        let can_freeze = has_global || machine.cost.remote_access;
        Ok(Ace {
            k: Some(values[0]).filter(|k| can_freeze && *k < u32::MAX),
            at_kth: values[1] == 1,
            through_global: values[2] == 1,
            in_place: in_place || !has_global,
        })
    }

    fn used_up(&self, invalidations: u32) -> bool {
        self.k.is_some_and(|k| invalidations >= k)
    }

    /// Decides on a fault, whoever finds that it is one.
    pub(super) fn fault(
        &self,
        block: &BlockContext<'_>,
        state: &mut State,
        access: &Access,
        sink: &mut impl Sink,
    ) -> Location {
        let here = Location::Node(access.node);
        let has_global = block.machine.cost.global.is_some();
        if state.copies.count() == 0 {
            return first_touch(block, &mut state.copies, access, sink);
        }
        if state.copies.takes_write_back(block, access) {
            return state.copies.nearest(access.node).unwrap_or(here);
        }
        let invalidates = access.kind == AccessKind::Write && state.copies.invalidated_by(access.node);
        let counted = state.invalidations.saturating_add(u32::from(invalidates));
        if self.at_kth {
            state.invalidations = counted;
        }
        if state.frozen || self.used_up(state.invalidations) {
            self.give_up(state, sink);
        } else if access.kind == AccessKind::Read {
            replicate(has_global, &mut state.copies, here, sink);
        } else if state.copies.take(access.node, self.through_global, sink) {
            state.invalidations = counted;
        }
        state.copies.nearest(access.node).unwrap_or(here)
    }

    /// Pins the block in global memory, or on its keeper's node.
    fn give_up(&self, state: &mut State, sink: &mut impl Sink) {
        state.frozen = if self.in_place { state.copies.stay(sink) } else { state.copies.retire(sink) };
    }

    /// An access by a node without a copy that is no reason to decide anything: served by the copy that stays. A write
    /// drops the others, and that is an invalidation if they were on nodes.
    pub(super) fn serve_remotely(&self, state: &mut State, access: &Access, sink: &mut impl Sink) -> Location {
        if access.kind == AccessKind::Write && state.copies.count() > 1 {
            let invalidates = state.copies.nodes.len() > 1;
            state.invalidations = state.invalidations.saturating_add(u32::from(invalidates));
            if self.at_kth && invalidates && self.used_up(state.invalidations) {
                self.give_up(state, sink);
            } else {
                state.copies.stay(sink);
            }
        }
        state.copies.kept().unwrap_or(Location::Node(access.node))
    }
}

/// A read by a node without a copy: global memory is brought up to date first if there is some.
fn replicate(has_global: bool, copies: &mut Copies, here: Location, sink: &mut impl Sink) {
    if !has_global || copies.add(Location::Global, sink) {
        copies.add(here, sink);
    }
}

/// Untouched: a read places a copy here and in global memory, a write here alone.
fn first_touch(block: &BlockContext<'_>, copies: &mut Copies, access: &Access, sink: &mut impl Sink) -> Location {
    let at = copies.place(block, access.node, sink);
    let reads = access.kind == AccessKind::Read;
    if reads && block.machine.cost.global.is_some() && at.is_some_and(|at| at != Location::Global) {
        copies.place_global(sink);
    }
    at.unwrap_or(Location::Node(access.node))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_k_never_gives_up() {
        let machine = homenode_machine::models::find("butterfly").expect("in the registry");
        let ace = |k| Ace::new("ace", &[k, 0, 0, 0], &machine).expect("runs there");
        assert!(ace(0).used_up(0) && ace(4).used_up(4) && !ace(4).used_up(3));
        assert!(!ace(u32::MAX).used_up(u32::MAX), "a count that saturates is no reason");
    }
}
