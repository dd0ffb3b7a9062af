//! INV.FREEZ.DEL: INV.DEL with freezing. The source names it and draws it, and says no more; here:
//!
//! A read of an unmapped page tests first whether the page is frozen or was invalidated recently: then it is frozen, and the
//! read is a remote one. Else the page is mapped and counted as in INV.DEL. When the counter runs out, a page that is frozen
//! or was invalidated recently is frozen and unmapped instead of being copied; with `late` = 1 it is copied all the same.
use super::copies::{Copies, Made};
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
            copies.insert(access.node);
            effects.add(Effect::FetchMapped, 1);
        } else {
            counters.count(access, self.counter);
            effects.add(Effect::RemoteRead, access.weight.into());
        }
    }
}

impl InvFreezDel {
    /// Whether a turn of a processor without a copy, with reads, has one that may freeze the page.
    #[inline]
    fn asks(&self, copies: &Copies, counters: &Counters, freezer: &Freezer, turn: &Turn) -> bool {
        // A read of an unmapped page asks, a write maps it; and that at which the counter runs out asks.
        let unmapped = turn.lead() == 0 && !counters.is_mapped(turn.node());
        let due = !self.late && turn.reads() >= u64::from(counters.left(turn.node(), self.counter));
        let invalidates = turn.writes() > 0 && !copies.none();
        (unmapped && freezer.freezes(self.windows, turn.first))
            || (due && (invalidates || freezer.freezes(self.windows, turn.first)))
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
        let node = turn.node();
        let taken = if copies.holders.contains(node) {
            copies.invalidate_turn(turn, self.master, effects)
        } else if turn.reads() == 0 && !self.counter.every {
            counters.map(node, self.counter);
            copies.invalidate_remotely(turn, effects)
        } else if turn.writes() == 0 && !counters.is_mapped(node) && freezer.freezes(self.windows, turn.first) {
            freezer.freeze(self.windows, turn.first);
            copies.invalidate_remotely(turn, effects)
        } else if self.counter.every || self.asks(copies, counters, freezer, turn) {
            return false;
        } else if let Some(nth) = counters.turn(turn, self.counter) {
            copies.invalidate_copying(turn, nth, Made { by: Effect::FetchMapped, master: self.master }, effects)
        } else {
            copies.invalidate_remotely(turn, effects)
        };
        if taken {
            freezer.invalidation(turn.wrote());
            if self.restart {
                counters.restart(node);
            }
        }
        true
    }
    #[inline]
    fn needs_time(&self, page: &State, access: &Access, last: u64) -> bool {
        let State { counters, freezer, .. } = page;
        let freezes = |time| freezer.freezes(self.windows, time);
        // Is the last invalidation still recent?
        access.kind == AccessKind::Read
            && (!counters.is_mapped(access.node) || (!self.late && counters.left(access.node, self.counter) <= 1))
            && freezes(access.t.0) != freezes(last)
    }
    fn holders<'s>(&self, page: &'s State) -> &'s NodeSet {
        &page.copies.holders
    }
    fn reset(&self, page: &mut State) {
        page.copies.clear();
        page.counters.reset();
        page.freezer = Freezer::default();
    }
}
