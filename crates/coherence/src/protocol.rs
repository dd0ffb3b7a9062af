//! Protocols behind one object-safe trait: the history of a page at a time.
use crate::effects::Effects;
use crate::history::{History, Turn};
use homenode_base::{NodeSet, VirtualTime};
use homenode_placement::{Access, Step};

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

    /// All accesses of a turn at once, if they do the same whatever their order and times are beyond what the turn says;
    /// else nothing is done, and false comes back.
    fn turn(&self, page: &mut Self::State, turn: &Turn, effects: &mut Effects) -> bool;

    /// Whether what an access does depends on its own time, where only that of an earlier access of its turn is known.
    #[inline]
    fn needs_time(&self, _page: &Self::State, _access: &Access) -> bool {
        false
    }

    /// The processors with a copy.
    fn holders<'s>(&self, page: &'s Self::State) -> &'s NodeSet;

    /// A page that nobody has touched, in place of this one.
    fn reset(&self, page: &mut Self::State) {
        *page = Self::State::default();
    }
}

/// A protocol with the state of a page. Object-safe; one per protocol and page size.
pub trait PageEngine: Send {
    /// The whole history of a page, from its first access. What happens is added to `effects`.
    fn page(&mut self, steps: &[Step], effects: &mut Effects);
    /// The whole history of a page in turns: equal to `page` with each access of the history as a step of its own.
    fn turns(&mut self, history: &History<'_>, effects: &mut Effects);
    /// The processors with a copy of that page at the end.
    fn holders(&self) -> &NodeSet;
}

/// The [`PageEngine`] of a protocol.
pub struct Pages<P: Protocol> {
    protocol: P,
    state: P::State,
}

impl<P: Protocol> Pages<P> {
    /// One that has seen nothing.
    pub fn new(protocol: P) -> Pages<P> {
        Pages { protocol, state: P::State::default() }
    }
}

impl<P: Protocol> PageEngine for Pages<P> {
    fn page(&mut self, steps: &[Step], effects: &mut Effects) {
        self.protocol.reset(&mut self.state);
        for step in steps {
            let first = |_: u64| step.access.t;
            advance(&self.protocol, &mut self.state, &step.access, first, effects);
        }
    }
    fn turns(&mut self, history: &History<'_>, effects: &mut Effects) {
        self.protocol.reset(&mut self.state);
        for turn in history.turns {
            if self.protocol.turn(&mut self.state, turn, effects) {
                continue;
            }
            for at in turn.steps.clone() {
                let time = |nth: u64| history.clocks.time(at, nth);
                advance(&self.protocol, &mut self.state, &history.steps[at].access, time, effects);
            }
        }
    }
    fn holders(&self) -> &NodeSet {
        self.protocol.holders(&self.state)
    }
}

/// One step, in as many parts as the protocol wants. `time` says when the accesses after the first one were.
#[inline]
fn advance<P: Protocol>(
    protocol: &P,
    page: &mut P::State,
    access: &Access,
    time: impl Fn(u64) -> VirtualTime,
    effects: &mut Effects,
) {
    let mut rest = *access;
    while rest.weight > 0 {
        if rest.weight < access.weight && protocol.needs_time(page, &rest) {
            rest.t = time(u64::from(access.weight - rest.weight));
        }
        let together = protocol.together(page, &rest).clamp(1, rest.weight);
        protocol.step(page, &Access { weight: together, ..rest }, effects);
        rest.weight -= together;
    }
}
