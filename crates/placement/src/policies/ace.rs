//! The policy of the ACE (Bolosky 1993, sections 3.1.3 and 5.1): replicate what is read, move what is written, and
//! give up on a block after k invalidations.
//!
//! With global memory a read-only block has copies on any nodes and a valid one in global memory; a written block has
//! one copy on its writer's node, and global memory is stale; a block given up lives in global memory for ever.
//! Without global memory every copy costs R, and a block given up keeps one copy that the other nodes reference
//! remotely. Decisions are made on faults only: first touch, read without a copy, write unless the only copy is the
//! writer's. A write-back is no fault where the block has one copy that the node can reach.
use super::{Param, Spec, place_somewhere, table};
use crate::access::{Access, AccessKind};
use crate::policy::{BlockContext, Outcome, Policy, Sink};
use homenode_base::{NodeId, NodeSet};
use homenode_machine::{AccessClass, Location};

static K: Param = Param {
    name: "k",
    summary: "invalidations after which a block is given up (pinned in global memory, or frozen)",
    default: 4,
    min: 0,
    max: u32::MAX,
};

pub(crate) static SPEC: Spec = Spec {
    name: "ace",
    summary: "Replicates on read, moves on write, gives up after k invalidations (IBM ACE)",
    params: &[K],
    needs_homes: false,
    make: |values, machine, block_bytes| {
        // Freezing needs remote references or global memory; without either the block goes on moving for ever.
        let can_freeze = machine.global.is_some() || machine.remote_access;
        table(Ace { k: if can_freeze { values[0] } else { u32::MAX } }, machine, block_bytes)
    },
};

struct Ace {
    k: u32,
}

/// What is known to hold the block.
#[derive(Clone, Default)]
struct State {
    copies: NodeSet,
    /// Whether global memory holds a valid copy.
    global: bool,
    /// Given up: no more faults.
    frozen: bool,
    invalidations: u32,
    /// Node that wrote last (or touched first): its copy stays when the block is given up.
    keeper: NodeId,
}

impl State {
    fn holds(&self, at: Location) -> bool {
        match at {
            Location::Node(n) => self.copies.contains(n),
            Location::Global => self.global,
        }
    }
    fn set(&mut self, at: Location, held: bool) {
        match at {
            Location::Node(n) if held => _ = self.copies.insert(n),
            Location::Node(n) => _ = self.copies.remove(n),
            Location::Global => self.global = held,
        }
    }
    fn count(&self) -> usize {
        self.copies.len() + usize::from(self.global)
    }
    /// A valid copy to read from: the node's own, global, the keeper's, any. `None` only before the first placement.
    fn nearest(&self, node: NodeId) -> Option<Location> {
        let global = self.global.then_some(Location::Global);
        let held = |n: NodeId| self.copies.contains(n).then_some(Location::Node(n));
        held(node).or(global).or(held(self.keeper)).or(self.copies.first().map(Location::Node))
    }
    /// Adds a copy at `to` unless there is one; false if that failed.
    fn add(&mut self, to: Location, sink: &mut impl Sink) -> bool {
        if self.holds(to) {
            return true;
        }
        let from = match self.global {
            true => Location::Global,
            false => match self.nearest(self.keeper) {
                Some(from) => from,
                None => return false,
            },
        };
        let done = sink.replicate(from, to) == Outcome::Done;
        self.set(to, self.holds(to) || done);
        done
    }
    /// Drops every copy but the one at `kept`; what cannot be dropped stays known.
    fn keep_only(&mut self, kept: Location, sink: &mut impl Sink) {
        let nodes: Vec<Location> = self.copies.iter().map(Location::Node).collect();
        for at in nodes.into_iter().chain(self.global.then_some(Location::Global)) {
            if at != kept && sink.drop_copy(at) == Outcome::Done {
                self.set(at, false);
            }
        }
    }
    /// Moves the only copy to `to`; false if that failed.
    fn relocate(&mut self, from: Location, to: Location, sink: &mut impl Sink) -> bool {
        let done = sink.migrate(from, to) == Outcome::Done;
        if done {
            self.set(from, false);
            self.set(to, true);
        }
        done
    }
}

impl Policy for Ace {
    type State = State;
    fn begin(&self, _: &BlockContext<'_>) -> State {
        State::default()
    }
    #[inline]
    fn step(&self, block: &BlockContext<'_>, state: &mut State, access: &Access, sink: &mut impl Sink) -> Location {
        let here = Location::Node(access.node);
        let held = state.copies.contains(access.node);
        let fault = match access.kind {
            AccessKind::Read => !held && !state.frozen,
            AccessKind::Write => state.count() != 1 || !(held || state.frozen),
        };
        if fault {
            return self.fault(block, state, access, sink);
        }
        if held { here } else { state.nearest(access.node).unwrap_or(here) }
    }
}

impl Ace {
    fn fault(&self, block: &BlockContext<'_>, state: &mut State, access: &Access, sink: &mut impl Sink) -> Location {
        let here = Location::Node(access.node);
        let has_global = block.machine.global.is_some();
        if state.count() == 0 {
            return first_touch(block, state, access, sink);
        }
        let reachable = block.machine.remote_access || state.copies.contains(access.node);
        if access.class == AccessClass::WriteBack && state.count() == 1 && (reachable || state.global) {
            return state.nearest(access.node).unwrap_or(here);
        }
        if state.frozen || state.invalidations >= self.k {
            give_up(has_global, state, sink);
        } else {
            match access.kind {
                AccessKind::Read => replicate(has_global, state, here, sink),
                AccessKind::Write => self.take(state, access.node, sink),
            }
        }
        state.nearest(access.node).unwrap_or(here)
    }

    /// The writer becomes the only holder. An invalidation counts unless it was the only node with a copy.
    fn take(&self, state: &mut State, writer: NodeId, sink: &mut impl Sink) {
        let here = Location::Node(writer);
        let invalidates = state.copies.len() != 1 || !state.copies.contains(writer);
        let only = if state.count() == 1 { state.nearest(state.keeper) } else { None };
        let taken = match only {
            Some(from) if from != here => state.relocate(from, here, sink),
            _ => state.add(here, sink),
        };
        if !taken {
            // The write must still find one copy only.
            if let Some(kept) = state.nearest(state.keeper) {
                state.keep_only(kept, sink);
            }
            return;
        }
        state.keep_only(here, sink);
        state.keeper = writer;
        state.invalidations += u32::from(invalidates);
    }
}

/// A read by a node without a copy: global memory is brought up to date first if there is some.
fn replicate(has_global: bool, state: &mut State, here: Location, sink: &mut impl Sink) {
    if !has_global || state.add(Location::Global, sink) {
        state.add(here, sink);
    }
}

/// Pins the block in global memory, or on its keeper's node.
fn give_up(has_global: bool, state: &mut State, sink: &mut impl Sink) {
    let place = match (has_global, state.count() == 1) {
        (false, _) => state.nearest(state.keeper),
        (true, true) if !state.global => {
            let moved = state.nearest(state.keeper).is_some_and(|from| state.relocate(from, Location::Global, sink));
            moved.then_some(Location::Global).or(state.nearest(state.keeper))
        }
        (true, _) => state.add(Location::Global, sink).then_some(Location::Global).or(state.nearest(state.keeper)),
    };
    if let Some(kept) = place {
        state.keep_only(kept, sink);
        state.frozen = kept == Location::Global || !has_global;
    }
}

/// Untouched: a read places a copy here and in global memory, a write here alone.
fn first_touch(block: &BlockContext<'_>, state: &mut State, access: &Access, sink: &mut impl Sink) -> Location {
    let here = Location::Node(access.node);
    let Some(at) = place_somewhere(block.machine, here, sink) else { return here };
    state.set(at, true);
    state.keeper = access.node;
    let reads = access.kind == AccessKind::Read;
    if reads && block.machine.global.is_some() && at != Location::Global {
        state.global = sink.place(Location::Global) == Outcome::Done;
    }
    at
}
