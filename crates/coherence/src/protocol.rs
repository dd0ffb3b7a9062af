//! Protocols behind one object-safe trait: the history of a page at a time.
use crate::effects::Effects;
use crate::history::{Clocks, Turn};
use homenode_base::{NodeSet, VirtualTime};
use homenode_machine::AccessClass;
use homenode_placement::{Access, AccessKind, Step};

/// A protocol of page coherence, for pages of one size. Pages are independent but for the clock that accesses carry: the
/// number of shared references that the whole machine has made.
///
/// An access is `weight` equal ones in a row; its time is that of the first. Of [`Access::class`] nothing is looked at.
pub trait Protocol: Send {
    /// State of one page; that of a page nobody has touched is the default, in which no processor maps it.
    type State: Default + Send;

    /// One access, or as many equal ones in a row as [`together`](Protocol::together) allows. Exactly one
    /// [`Local`](crate::Effect::Local), remote or fetching effect is counted for each.
    fn step(&self, page: &mut Self::State, access: &Access, effects: &mut Effects);

    /// How many of the accesses that `access` stands for the next [`step`](Protocol::step) may take together, from 1 to
    /// all: those that would be treated alike if they came one by one.
    fn together(&self, page: &Self::State, access: &Access) -> u32;

    /// All accesses of a turn at once, if what they do follows from what the turn says; else nothing is done, and false comes
    /// back.
    fn turn(&self, page: &mut Self::State, turn: &Turn, effects: &mut Effects) -> bool;

    /// Whether what an access does depends on its own time, where only the time of an earlier access of its turn is known,
    /// and that of the last one.
    #[inline]
    fn needs_time(&self, _page: &Self::State, _access: &Access, _last: u64) -> bool {
        false
    }

    /// The processors with a copy.
    fn holders<'s>(&self, page: &'s Self::State) -> &'s NodeSet;

    /// A page that nobody has touched, in place of this one.
    fn reset(&self, page: &mut Self::State) {
        *page = Self::State::default();
    }
}

/// A protocol with the states of pages. Object-safe; one per protocol and page size.
pub trait PageEngine: Send {
    /// The whole history of a page, from its first access. What happens is added to `effects`.
    fn page(&mut self, steps: &[Step], effects: &mut Effects);
    /// Turns of any pages, each page's in order: equal to `page` with each access as a step of its own.
    fn turns(&mut self, turns: &[Turn], clocks: &dyn Clocks, effects: &mut Effects);
    /// Lets pages begin anew.
    fn reset(&mut self, pages: &[u32]);
    /// The processors with a copy of a page: after [`turns`](PageEngine::turns), or of page 0 after [`page`](PageEngine::page).
    fn holders(&self, page: u32) -> &NodeSet;
}

/// The [`PageEngine`] of a protocol.
pub struct Pages<P: Protocol> {
    protocol: P,
    states: Vec<P::State>,
}

impl<P: Protocol> Pages<P> {
    /// One that has seen nothing.
    pub fn new(protocol: P) -> Pages<P> {
        Pages { protocol, states: vec![P::State::default()] }
    }
}

impl<P: Protocol> PageEngine for Pages<P> {
    fn page(&mut self, steps: &[Step], effects: &mut Effects) {
        self.reset(&[0]);
        for step in steps {
            let time = |_: u64| step.access.t;
            advance(&self.protocol, &mut self.states[0], &step.access, step.access.t.0, time, effects);
        }
    }
    fn turns(&mut self, turns: &[Turn], clocks: &dyn Clocks, effects: &mut Effects) {
        let Pages { protocol, states } = self;
        for turn in turns {
            let page = turn.page as usize;
            if states.len() <= page {
                states.resize_with(page + 1, P::State::default);
            }
            if !protocol.turn(&mut states[page], turn, effects) {
                run_by_run(protocol, &mut states[page], turn, clocks, effects);
            }
        }
    }
    fn reset(&mut self, pages: &[u32]) {
        for page in pages {
            if let Some(state) = self.states.get_mut(*page as usize) {
                self.protocol.reset(state);
            }
        }
    }
    fn holders(&self, page: u32) -> &NodeSet {
        self.protocol.holders(&self.states[page as usize])
    }
}

/// A turn that does more than one thing.
#[inline(never)]
fn run_by_run<P: Protocol>(protocol: &P, page: &mut P::State, turn: &Turn, clocks: &dyn Clocks, effects: &mut Effects) {
    let mut run = 0;
    turn.runs(|kind, mut nth, times| {
        let class = if kind == AccessKind::Read { AccessClass::Read } else { AccessClass::Write };
        let end = nth + times;
        while nth < end {
            let weight = u32::try_from(end - nth).unwrap_or(u32::MAX);
            let access = Access { node: turn.node(), kind, class, weight, t: VirtualTime(turn.not_after(run)) };
            let time = |more: u64| VirtualTime(clocks.time(turn, nth + more));
            advance(protocol, page, &access, turn.last, time, effects);
            nth += u64::from(weight);
        }
        run += 1;
    });
}

/// One step, in as many parts as the protocol wants. Its time is that of its first access or an earlier one of its turn, `time` says
/// when its accesses were, and none of the turn is after `last`.
#[inline]
fn advance<P: Protocol>(
    protocol: &P,
    page: &mut P::State,
    access: &Access,
    last: u64,
    time: impl Fn(u64) -> VirtualTime,
    effects: &mut Effects,
) {
    let mut rest = *access;
    while rest.weight > 0 {
        if protocol.needs_time(page, &rest, last) {
            rest.t = time(u64::from(access.weight - rest.weight));
        }
        let together = protocol.together(page, &rest).clamp(1, rest.weight);
        protocol.step(page, &Access { weight: together, ..rest }, effects);
        rest.weight -= together;
    }
}
