//! INV.DEL: INV, but a processor copies a page only at its c-th read of it; before that it references the master copy.
//!
//! A processor whose copy is taken away begins to count anew. Others, who were still counting, go on (`restart` = 0) or begin
//! anew too; the source says neither.
use super::copies::Made;
use super::counters::{C, Counted, Counter, EVERY};
use super::{MASTER, Param, Spec, Timing, pages, switch};
use crate::effects::{Effect, Effects};
use crate::history::Turn;
use crate::protocol::Protocol;
use homenode_base::NodeSet;
use homenode_placement::{Access, AccessKind};

pub(super) static RESTART: Param =
    switch("restart", "1: an invalidation lets all other processors begin to count anew, not holders alone");

pub(crate) static SPEC: Spec = Spec {
    name: "inv-del",
    printed: "INV.DEL",
    summary: "As inv, but a page is copied only at a processor's c-th read of it",
    params: &[C, EVERY, RESTART, MASTER],
    timing: |_| Timing::Order,
    make: |values, page_bytes| {
        let counter = Counter::new(values[0], values[1] != 0, page_bytes);
        pages(InvDel { counter, restart: values[2] != 0, master: values[3] != 0 })
    },
};

/// The protocol.
#[derive(Clone, Copy, Debug)]
pub struct InvDel {
    /// When a page is copied.
    pub counter: Counter,
    /// Whether an invalidation restarts the counters of processors without a copy too.
    pub restart: bool,
    /// Whether a write to the own copy also sends the master copy a packet.
    pub master: bool,
}

impl Protocol for InvDel {
    type State = Counted;
    #[inline]
    fn together(&self, page: &Counted, access: &Access) -> u32 {
        page.together(access, self.counter)
    }
    #[inline]
    fn step(&self, page: &mut Counted, access: &Access, effects: &mut Effects) {
        if access.kind == AccessKind::Read {
            return page.read(access, self.counter, effects);
        }
        let Counted { copies, counters } = page;
        let (holds, taken) = copies.invalidate(access, self.master, effects);
        if taken && self.restart {
            counters.restart(access.node);
        }
        if !holds {
            counters.write(access, self.counter);
        }
    }
    #[inline]
    fn turn(&self, page: &mut Counted, turn: &Turn, effects: &mut Effects) -> bool {
        let Counted { copies, counters } = page;
        let taken = if copies.holders.contains(turn.node()) {
            copies.invalidate_turn(turn, self.master, effects)
        } else if self.counter.every {
            return false;
        } else if let Some(nth) = counters.turn(turn, self.counter) {
            copies.invalidate_copying(turn, nth, Made { by: Effect::FetchMapped, master: self.master }, effects)
        } else {
            copies.invalidate_remotely(turn, effects)
        };
        if taken && self.restart {
            counters.restart(turn.node());
        }
        true
    }
    fn holders<'s>(&self, page: &'s Counted) -> &'s NodeSet {
        &page.copies.holders
    }
    fn reset(&self, page: &mut Counted) {
        page.reset();
    }
}
