//! INV.FREEZ.DEL: INV.DEL with freezing. The source names it and draws it, and says no more; here:
//!
//! A read of an unmapped page tests first whether the page is frozen or was invalidated recently: then it is frozen, and the
//! read is a remote one. Else the page is mapped and counted as in INV.DEL. When the counter runs out, a page that is frozen
//! or was invalidated recently is frozen and unmapped instead of being copied; with `late` = 1 it is copied all the same.
use super::copies::Copies;
use super::counters::{C, Counter, Counters, EVERY};
use super::freezer::{DEFROST, Freezer, RECENT, Windows};
use super::inv_del::RESTART;
use super::{MASTER, Param, Spec, Timing, pages, switch};
use crate::effects::{Effect, Effects};
use crate::history::Turn;
use crate::protocol::Protocol;
use homenode_base::NodeSet;
use homenode_placement::{Access, AccessKind};

static LATE: Param = switch("late", "1: a page whose counter has run out is copied even if it would freeze");

pub(crate) static SPEC: Spec = Spec {
    name: "inv-freez-del",
    printed: "INV.FREEZ.DEL",
    summary: "As inv-del, but pages invalidated recently are frozen",
    params: &[C, RECENT, DEFROST, EVERY, RESTART, LATE, MASTER],
    timing: |values| Timing::Period(values[2].into()),
    make: |values, page_bytes| {
        pages(InvFreezDel {
            counter: Counter::new(values[0], values[3] != 0, page_bytes),
            windows: Windows { recent: values[1].into(), defrost: values[2].into() },
            restart: values[4] != 0,
            late: values[5] != 0,
            master: values[6] != 0,
        })
    },
};

/// The protocol.
#[derive(Clone, Copy, Debug)]
pub struct InvFreezDel {
    /// When a page is copied.
    pub counter: Counter,
    /// When pages freeze and thaw.
    pub windows: Windows,
    /// Whether an invalidation restarts the counters of processors without a copy too.
    pub restart: bool,
    /// Whether a page whose counter has run out is copied even if it would freeze.
    pub late: bool,
    /// Whether a write to the own copy also sends the master copy a packet.
    pub master: bool,
}

/// State of a page.
#[derive(Clone, Debug, Default)]
pub struct State {
    copies: Copies,
    counters: Counters,
    freezer: Freezer,
}

impl InvFreezDel {
    /// A read by a processor without a copy.
    fn remote(&self, page: &mut State, access: &Access, effects: &mut Effects) {
        let State { copies, counters, freezer } = page;
        let freezes = freezer.freezes(self.windows, access.t.0);
        let (mapped, due) = (counters.is_mapped(access.node), counters.left(access.node, self.counter) <= 1);
        if freezes && (!mapped || (due && !self.late)) {
            freezer.freeze(self.windows, access.t.0);
            counters.unmap(access.node);
            effects.add(Effect::RemoteRead, access.weight.into());
        } else if due {
            counters.unmap(access.node);
            copies.holders.insert(access.node);
            effects.add(Effect::FetchMapped, 1);
        } else {
            counters.count(access, self.counter);
            effects.add(Effect::RemoteRead, access.weight.into());
        }
    }
}

impl Protocol for InvFreezDel {
    type State = State;
    #[inline]
    fn together(&self, page: &State, access: &Access) -> u32 {
        let State { copies, counters, freezer } = page;
        // Where an unmapped page freezes, it stays frozen and unmapped to the end of the period.
        let freezes = || !counters.is_mapped(access.node) && freezer.freezes(self.windows, access.t.0);
        match access.kind == AccessKind::Write || copies.holders.contains(access.node) || freezes() {
            true => access.weight,
            false => counters.together(access, self.counter),
        }
    }
    #[inline]
    fn step(&self, page: &mut State, access: &Access, effects: &mut Effects) {
        if access.kind == AccessKind::Write {
            let (holds, taken) = page.copies.invalidate(access, self.master, effects);
            if taken {
                page.freezer.invalidation(access.t.0);
                if self.restart {
                    page.counters.restart(access.node);
                }
            }
            if !holds {
                page.counters.write(access, self.counter);
            }
        } else if page.copies.holders.contains(access.node) {
            effects.add(Effect::Local, access.weight.into());
        } else {
            self.remote(page, access, effects);
        }
    }
    #[inline]
    fn turn(&self, page: &mut State, turn: &Turn, effects: &mut Effects) -> bool {
        let State { copies, counters, freezer } = page;
        // A read of an unmapped page asks whether it freezes; a write maps it.
        let asks = turn.lead == 0 && turn.reads > 0 && !counters.is_mapped(turn.node);
        let taken = if copies.holders.contains(turn.node) {
            copies.invalidate_turn(turn, self.master, effects)
        } else if asks && turn.writes == 0 && freezer.frozen_until(turn.last) {
            copies.invalidate_remotely(turn, effects)
        } else if asks && freezer.freezes(self.windows, turn.first) {
            return false;
        } else if counters.counts_turn(turn, self.counter) {
            copies.invalidate_remotely(turn, effects)
        } else {
            return false;
        };
        if taken {
            freezer.invalidation(turn.wrote);
            if self.restart {
                counters.restart(turn.node);
            }
        }
        true
    }
    #[inline]
    fn needs_time(&self, page: &State, access: &Access) -> bool {
        let State { counters, freezer, .. } = page;
        // The counter runs out: is the invalidation still recent? Only later accesses of a turn can find that it is not.
        access.kind == AccessKind::Read
            && !self.late
            && counters.left(access.node, self.counter) <= 1
            && counters.is_mapped(access.node)
            && freezer.freezes(self.windows, access.t.0)
    }
    fn holders<'s>(&self, page: &'s State) -> &'s NodeSet {
        &page.copies.holders
    }
    fn reset(&self, page: &mut State) {
        page.copies.holders.clear();
        page.counters.reset();
        page.freezer = Freezer::default();
    }
}
