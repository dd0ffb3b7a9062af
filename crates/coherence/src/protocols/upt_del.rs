//! UPT.DEL: UPT, but a processor copies a page only at its c-th read of it; before that it references the master copy.
use super::copies::Made;
use super::counters::{C, Counted, Counter, EVERY};
use super::{MASTER, Spec, Timing, pages};
use crate::effects::{Effect, Effects};
use crate::history::Turn;
use crate::protocol::Protocol;
use homenode_base::NodeSet;
use homenode_placement::{Access, AccessKind};

pub(crate) static SPEC: Spec = Spec {
    name: "upt-del",
    printed: "UPT.DEL",
    summary: "As upt, but a page is copied only at a processor's c-th read of it",
    params: &[C, EVERY, MASTER],
    timing: |_| Timing::Order,
    make: |values, page_bytes| {
        let counter = Counter::new(values[0], values[1] != 0, page_bytes);
        pages(UptDel { counter, master: values[2] != 0 })
    },
};

/// The protocol.
#[derive(Clone, Copy, Debug)]
pub struct UptDel {
    /// When a page is copied.
    pub counter: Counter,
    /// Whether a write to the own copy also sends the master copy a packet.
    pub master: bool,
}

impl Protocol for UptDel {
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
        if !copies.update(access, self.master, effects) {
            counters.write(access, self.counter);
        }
    }
    #[inline]
    fn turn(&self, page: &mut Counted, turn: &Turn, effects: &mut Effects) -> bool {
        let Counted { copies, counters } = page;
        if copies.holders.contains(turn.node()) {
            copies.update_turn(turn, self.master, effects);
        } else if self.counter.every {
            return false;
        } else if let Some(nth) = counters.turn(turn, self.counter) {
            copies.update_copying(turn, nth, Made { by: Effect::FetchMapped, master: self.master }, effects);
        } else {
            copies.update_remotely(turn, effects);
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
