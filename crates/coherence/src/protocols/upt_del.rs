//! UPT.DEL: UPT, but a processor copies a page only at its c-th read of it; before that it references the master copy.
use super::copies::Copies;
use super::counters::{C, Counter, Counters, EVERY};
use super::{MASTER, Spec, Timing, pages};
use crate::effects::{Effect, Effects};
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

/// State of a page.
#[derive(Clone, Debug, Default)]
pub struct State {
    copies: Copies,
    counters: Counters,
}

impl Protocol for UptDel {
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
            if !copies.update(access, self.master, effects) {
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
