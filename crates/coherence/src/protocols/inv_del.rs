//! INV.DEL: INV, but a processor copies a page only at its c-th read of it; before that it references the master copy.
//!
//! A processor whose copy is taken away begins to count anew. Others, who were still counting, go on (`restart` = 0) or begin
//! anew too; the source says neither.
use super::copies::Copies;
use super::counters::{C, Counter, Counters, EVERY};
use super::{MASTER, Param, Spec, Timing, pages};
use crate::effects::{Effect, Effects};
use crate::protocol::Protocol;
use homenode_base::NodeSet;
use homenode_placement::{Access, AccessKind};

pub(super) static RESTART: Param =
    Param::switch("restart", "1: an invalidation lets all other processors begin to count anew, not holders alone");

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

/// State of a page.
#[derive(Clone, Debug, Default)]
pub struct State {
    copies: Copies,
    counters: Counters,
}

impl Protocol for InvDel {
    type State = State;
    #[inline]
    fn together(&self, page: &State, access: &Access) -> u32 {
        match page.copies.holders.contains(access.node) {
            true => access.weight,
            false => page.counters.together(access, self.counter),
        }
    }
    #[inline]
    fn step(&self, page: &mut State, access: &Access, effects: &mut Effects) {
        let State { copies, counters } = page;
        if access.kind == AccessKind::Write {
            let (holds, taken) = copies.invalidate(access, self.master, effects);
            if taken && self.restart {
                counters.restart(access.node);
            }
            if !holds {
                counters.write(access, self.counter);
            }
        } else if copies.holders.contains(access.node) {
            effects.add(Effect::Local, access.weight.into());
        } else if counters.left(access.node, self.counter) > 1 {
            counters.count(access, self.counter);
            effects.add(Effect::RemoteRead, access.weight.into());
        } else {
            counters.unmap(access.node);
            copies.holders.insert(access.node);
            effects.add(Effect::FetchMapped, 1);
        }
    }
    fn holders<'s>(&self, page: &'s State) -> &'s NodeSet {
        &page.copies.holders
    }
    fn reset(&self, page: &mut State) {
        page.copies.holders.clear();
        page.counters.reset();
    }
}
