//! INV: a processor that reads a page copies it; a write takes the copies of all others away.
//!
//! A writer without a copy sends the word to the master copy, stays without, and all copies go.
use super::copies::{Copies, Made};
use super::{MASTER, Spec, Timing, pages};
use crate::effects::{Effect, Effects};
use crate::history::Turn;
use crate::protocol::Protocol;
use homenode_base::NodeSet;
use homenode_placement::{Access, AccessKind};

pub(crate) static SPEC: Spec = Spec {
    name: "inv",
    printed: "INV",
    summary: "Copy a page at each read without a copy; a write takes the copies of all others away",
    params: &[MASTER],
    timing: |_| Timing::Order,
    make: |values, _| pages(Inv { master: values[0] != 0 }),
};

/// The protocol.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inv {
    /// Whether a write to the own copy also sends the master copy a packet.
    pub master: bool,
}

/// State of a page.
#[derive(Clone, Debug, Default)]
pub struct State(Copies);

impl Protocol for Inv {
    type State = State;
    #[inline]
    fn together(&self, page: &State, access: &Access) -> u32 {
        let fetches = access.kind == AccessKind::Read && !page.0.holders.contains(access.node);
        if fetches { 1 } else { access.weight }
    }
    #[inline]
    fn step(&self, page: &mut State, access: &Access, effects: &mut Effects) {
        match access.kind {
            AccessKind::Write => _ = page.0.invalidate(access, self.master, effects),
            AccessKind::Read if page.0.insert(access.node) => effects.add(Effect::Fetch, 1),
            AccessKind::Read => effects.add(Effect::Local, access.weight.into()),
        }
    }
    #[inline]
    fn turn(&self, page: &mut State, turn: &Turn, effects: &mut Effects) -> bool {
        let State(copies) = page;
        if copies.holders.contains(turn.node()) {
            copies.invalidate_turn(turn, self.master, effects);
        } else if turn.reads() == 0 {
            copies.invalidate_remotely(turn, effects);
        } else {
            copies.invalidate_copying(turn, 1, Made { by: Effect::Fetch, master: self.master }, effects);
        }
        true
    }
    fn holders<'s>(&self, page: &'s State) -> &'s NodeSet {
        &page.0.holders
    }
}
