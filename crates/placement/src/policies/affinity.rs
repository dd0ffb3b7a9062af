//! The block moves to the node from which its accesses would have cost least, if that stays so: what the live loop does
//! unless told otherwise.
//!
//! Hop-sensitive affinity (Thakkar 2008, equation 2.2) made an on-line rule. Accesses are counted by node and class; at
//! the end of each window the cost of all counted accesses is compared for every home, C_k = sum over l of r_l L\[l\]\[k\],
//! and the counts are halved. The block moves when the same home has been the cheapest for some windows running and
//! (C_home - C_best) times those windows exceeds twice the cost of moving: a gain that has lasted that long is expected
//! to last as long again. Ties leave the block where it is, else go to the heavier user, else to the lower number. After
//! so many moves it stays for ever. (Windows, decay, hysteresis, limit and the factor of two are ours.)
use super::resident::{self, Home, toucher};
use super::{By, Make, Param, Spec, needs_remote_access, table};
use crate::access::Access;
use crate::policy::{BlockContext, Outcome, Policy, Sink};
use homenode_base::{NodeId, TotalCost};
use homenode_machine::{AccessClass, Location, Machine};
use std::borrow::Cow;
use std::cmp::Reverse;

static PARAMS: [Param; 3] = [
    Param {
        name: "window",
        summary: "virtual time of a window, at whose end counts are compared and halved",
        default: 100_000,
        min: 1,
        max: u32::MAX,
        variant: false,
    },
    Param {
        name: "hysteresis",
        summary: "windows running that must favour the same node",
        default: 2,
        min: 1,
        max: 1_000_000,
        variant: false,
    },
    Param {
        name: "limit",
        summary: "moves after which a block stays",
        default: 2,
        min: 0,
        max: u32::MAX,
        variant: false,
    },
];

pub(crate) static SPEC: Spec = Spec {
    name: Cow::Borrowed("affinity"),
    summary: Cow::Borrowed(
        "A block moves to the node that keeps its recent accesses cheapest (the live loop's default)",
    ),
    params: &PARAMS,
    needs_homes: false,
    reported: true,
    decides_by: &[By::Cost, By::Time],
    period: |values| Some(values[0].into()),
    make: Make::Registered(|values, machine, block_bytes| {
        needs_remote_access(&SPEC.name, machine)?;
        table(Affinity { window: u64::from(values[0]), hysteresis: values[1], limit: values[2] }, machine, block_bytes)
    }),
};

struct Affinity {
    window: u64,
    hysteresis: u32,
    limit: u32,
}

/// Accesses of one node, by class: read, write, write-back.
#[derive(Clone, Copy)]
struct Count {
    node: NodeId,
    of: [u64; AccessClass::ALL.len()],
}

#[derive(Clone, Default)]
struct State {
    home: Home,
    counts: Vec<Count>,
    /// Number of the window that is being counted.
    window: u64,
    /// Virtual time at which it is over; 0 before the first access.
    end: u64,
    /// What the last windows favoured, and how many running.
    target: Option<NodeId>,
    streak: u32,
    moves: u32,
}

impl State {
    fn count(&mut self, access: &Access) {
        let Some(class) = AccessClass::ALL.iter().position(|c| *c == access.class) else { return };
        let at = match self.counts.iter().position(|c| c.node == access.node) {
            Some(i) => i,
            None => {
                self.counts.push(Count { node: access.node, of: [0; AccessClass::ALL.len()] });
                self.counts.len() - 1
            }
        };
        self.counts[at].of[class] += u64::from(access.weight);
    }
    /// C_k of a home.
    fn cost(&self, machine: &Machine, home: Location) -> TotalCost {
        let of = |c: &Count| {
            AccessClass::ALL.iter().zip(c.of).map(|(class, n)| machine.access(*class, c.node, home).times(n)).sum()
        };
        self.counts.iter().map(of).fold(TotalCost::ZERO, |a, c: TotalCost| a + c)
    }
    fn used_by(&self, node: NodeId) -> u64 {
        self.counts.iter().find(|c| c.node == node).map_or(0, |c| c.of.iter().sum())
    }
    fn decay(&mut self, windows: u64) {
        let shift = u32::try_from(windows).unwrap_or(63).min(63);
        self.counts.iter_mut().for_each(|c| c.of.iter_mut().for_each(|n| *n >>= shift));
        self.counts.retain(|c| c.of.iter().any(|n| *n > 0));
    }
}

impl Policy for Affinity {
    type State = State;
    fn begin(&self, _: &BlockContext<'_>) -> State {
        State::default()
    }
    #[inline]
    fn step(&self, block: &BlockContext<'_>, state: &mut State, access: &Access, sink: &mut impl Sink) -> Location {
        // Which hits of caches are reported depends on what they may change, so none closes a window. Of weight 0 an access
        // is no hit: it says what time it is.
        let hit = access.class == AccessClass::Free && access.weight > 0;
        if access.t.0 >= state.end && !hit {
            let window = access.t.0 / self.window;
            self.close(block, state, sink);
            state.decay(window - state.window);
            (state.window, state.end) = (window, window.saturating_add(1).saturating_mul(self.window));
        }
        state.count(access);
        resident::serve(block, &mut state.home, || toucher(access), sink)
    }
}

impl Affinity {
    /// The end of a window.
    fn close(&self, block: &BlockContext<'_>, state: &mut State, sink: &mut impl Sink) {
        let Some(home) = state.home.filter(|_| !state.counts.is_empty()) else { return };
        let stays = state.cost(block.machine, home);
        let nodes = (0..block.machine.nodes()).map(|n| NodeId(n as u16));
        let best =
            nodes.min_by_key(|n| (state.cost(block.machine, Location::Node(*n)), Reverse(state.used_by(*n)), *n));
        let gain = best.map(|n| (n, stays - state.cost(block.machine, Location::Node(n))));
        let Some((to, gain)) = gain.filter(|(_, gain)| *gain > TotalCost::ZERO) else {
            (state.target, state.streak) = (None, 0);
            return;
        };
        state.streak = if state.target == Some(to) { state.streak.saturating_add(1) } else { 1 };
        state.target = Some(to);
        let price = block.machine.copy_cost(block.block_bytes, home, Location::Node(to)).times(2);
        let pays = gain.0.saturating_mul(i128::from(state.streak)) > price.0;
        if pays
            && state.streak >= self.hysteresis
            && state.moves < self.limit
            && sink.migrate(home, Location::Node(to)) == Outcome::Done
        {
            state.home = Some(Location::Node(to));
            state.moves += 1;
            (state.target, state.streak) = (None, 0);
        }
    }
}
