//! INV.FREEZ: INV, but a page of which a copy was taken away recently is frozen instead of being copied again.
//!
//! At a read without a copy: frozen, a remote read; else invalidated recently, the page is frozen, and a remote read; else
//! a copy. Copies that exist stay until the next write. Freezing costs nothing beyond the remote read: the source prints
//! neither a cost nor a table.
use super::copies::{Copies, Made};
use super::freezer::{DEFROST, Freezer, RECENT, Windows};
use super::{MASTER, Spec, Timing, pages};
use crate::effects::{Effect, Effects};
use crate::history::Turn;
use crate::protocol::Protocol;
use homenode_base::NodeSet;
use homenode_placement::{Access, AccessKind};

pub(crate) static SPEC: Spec = Spec {
    name: "inv-freez",
    printed: "INV.FREEZ",
    summary: "As inv, but pages invalidated recently are frozen: read from afar until all pages thaw",
    params: &[RECENT, DEFROST, MASTER],
    timing: |values| Timing::Period(values[1].into()),
    make: |values, _| {
        let windows = Windows { recent: values[0].into(), defrost: values[1].into() };
        pages(InvFreez { windows, master: values[2] != 0 })
    },
};

/// The protocol.
#[derive(Clone, Copy, Debug)]
pub struct InvFreez {
    /// When pages freeze and thaw.
    pub windows: Windows,
    /// Whether a write to the own copy also sends the master copy a packet.
    pub master: bool,
}

/// State of a page.
#[derive(Clone, Debug, Default)]
pub struct State {
    copies: Copies,
    freezer: Freezer,
}

impl InvFreez {
    /// Whether the first read of a turn, by a processor without a copy, finds the page frozen or freezes it: to the end of the turn.
    #[inline]
    fn stays_away(&self, copies: &Copies, freezer: &mut Freezer, turn: &Turn) -> bool {
        if turn.lead() > 0 && !copies.none() {
            freezer.invalidation(turn.first);
        }
        let freezes = freezer.freezes(self.windows, turn.read());
        if freezes {
            freezer.freeze(self.windows, turn.read());
        }
        freezes
    }
}

impl Protocol for InvFreez {
    type State = State;
    #[inline]
    fn together(&self, page: &State, access: &Access) -> u32 {
        let without = access.kind == AccessKind::Read && !page.copies.holders.contains(access.node);
        if without && !page.freezer.freezes(self.windows, access.t.0) { 1 } else { access.weight }
    }
    #[inline]
    fn step(&self, page: &mut State, access: &Access, effects: &mut Effects) {
        let State { copies, freezer } = page;
        if access.kind == AccessKind::Write {
            if copies.invalidate(access, self.master, effects).1 {
                freezer.invalidation(access.t.0);
            }
        } else if copies.holders.contains(access.node) {
            effects.add(Effect::Local, access.weight.into());
        } else if freezer.freezes(self.windows, access.t.0) {
            freezer.freeze(self.windows, access.t.0);
            effects.add(Effect::RemoteRead, access.weight.into());
        } else {
            copies.insert(access.node);
            effects.add(Effect::Fetch, 1);
        }
    }
    #[inline]
    fn turn(&self, page: &mut State, turn: &Turn, effects: &mut Effects) -> bool {
        let State { copies, freezer } = page;
        let taken = if copies.holders.contains(turn.node()) {
            copies.invalidate_turn(turn, self.master, effects)
        } else if turn.reads() == 0 || self.stays_away(copies, freezer, turn) {
            copies.invalidate_remotely(turn, effects)
        } else {
            copies.invalidate_copying(turn, 1, Made { by: Effect::Fetch, master: self.master }, effects)
        };
        if taken {
            freezer.invalidation(turn.wrote());
        }
        true
    }
    fn holders<'s>(&self, page: &'s State) -> &'s NodeSet {
        &page.copies.holders
    }
}
