//! The policy of PLATINUM (Cox and Fowler 1989, as described in Bolosky 1993, sections 1.3.2 and 5.1): replicate on read,
//! migrate on write, and freeze a block that is wanted too soon after an invalidation.
//!
//! An invalidation is a write by a node without a copy, or with several nodes' copies present; the block remembers the
//! last one (when, by whom). A reference of another node without a copy less than t1 later freezes the block. At every
//! multiple of t2 frozen blocks thaw and forget. Time is virtual: references of all processors.
//!
//! | state, request by q | not soon after another's invalidation | soon after one |
//! |---|---|---|
//! | untouched | q's copy: 0 | |
//! | a copy at q, read, or the only copy and write | 1 | |
//! | several copies, one at q, write | the others dropped: 0; remembered | |
//! | no copy at q, read | copy: R (G from global memory) | frozen: 0 (G into global memory) |
//! | no copy at q, write | copy or move: R (G from global memory), others dropped; remembered | the same |
//! | frozen | r for all but the holder (g in global memory), nothing remembered | |
//!
//! The times of the thesis are 10 ms and 1 s, turned into references program by program: the length of the trace over the
//! run time. It prints neither the run times nor the results. What it does print implies the rate: under equation 3.2 a
//! processor makes beta / (gamma L) references to writable data a second, where L is 0.65 us for a load and 0.84 us for a
//! store (section 3.1.1), and table 3.1 is of 7 processors. That is 5.2 million a second for e-fft, 5.6 for gauss, 5.5 for
//! e-nasa, 5.0 for e-hyd, 4.8 for plytrace and 1.7 for matmult (a test computes them); the trace of gauss over its time in
//! table 3.1 gives 4.5. The defaults are the thesis's times at [`REFERENCES_PER_SECOND`], 5 million; [`platinum_windows`] gives the
//! parameters for others. Hits of caches are no references; they and the write-backs of nodes without a copy are served
//! where the block is.
use super::copies::Copies;
use super::{By, Make, Param, PolicyError, Spec, needs_global, needs_remote_access, table};
use crate::access::{Access, AccessKind};
use crate::policy::{BlockContext, Policy, Sink};
use homenode_base::NodeId;
use homenode_machine::{AccessClass, Location, Machine};
use std::borrow::Cow;

/// References of all processors in a second, from which the defaults of t1 and t2 follow.
pub const REFERENCES_PER_SECOND: u32 = 5_000_000;
/// t1 of the thesis (section 5.1).
const T1_MS: u32 = 10;
/// t2 of the thesis (section 5.1).
const T2_MS: u32 = 1000;

/// The thesis's t1 and t2 in references where all processors together make so many a second, in whole thousands.
pub const fn platinum_windows(references_per_second: u32) -> [u32; 2] {
    [references_per_second / 1000 * T1_MS, references_per_second / 1000 * T2_MS]
}

static PARAMS: [Param; 5] = [
    Param {
        name: "t1",
        summary: "virtual time for which an invalidation is remembered; 10 ms at 5 million references a second",
        default: platinum_windows(REFERENCES_PER_SECOND)[0],
        min: 0,
        max: u32::MAX,
        variant: false,
    },
    Param {
        name: "t2",
        summary: "virtual time at whose multiples frozen blocks thaw, 1 s at that rate; 0: never",
        default: platinum_windows(REFERENCES_PER_SECOND)[1],
        min: 0,
        max: u32::MAX,
        variant: false,
    },
    Param::variant("place", "a block is frozen 0: where it is, 1: in global memory", 0, 1),
    Param::variant("twice", "a block is frozen after 0: one invalidation within t1, 1: two", 0, 1),
    Param::variant("backoff", "0: frozen until the next multiple of t2, 1: each time twice as many of them", 0, 1),
];

pub(crate) static SPEC: Spec = Spec {
    name: Cow::Borrowed("platinum"),
    summary: Cow::Borrowed(
        "Replicates on read, moves on write, freezes a block wanted within t1 of an invalidation until t2 (PLATINUM)",
    ),
    params: &PARAMS,
    needs_homes: false,
    reported: false,
    decides_by: &[By::Time],
    period: |values| Some(values[1].into()).filter(|t2| *t2 > 0),
    make: Make::Registered(|values, machine, block_bytes| table(Platinum::new(values, machine)?, machine, block_bytes)),
};

struct Platinum {
    t1: u64,
    t2: u64,
    in_global: bool,
    twice: bool,
    backoff: bool,
}

#[derive(Clone, Copy)]
struct Invalidation {
    at: u64,
    by: NodeId,
}

#[derive(Clone, Default)]
struct State {
    copies: Copies,
    last: Option<Invalidation>,
    /// When the one before was.
    before: Option<u64>,
    frozen: bool,
    /// Multiple of t2 at which it thaws.
    thaw_at: u64,
    /// How often it was frozen.
    freezes: u32,
}

impl State {
    fn remember(&mut self, access: &Access) {
        self.before = self.last.map(|i| i.at);
        self.last = Some(Invalidation { at: access.t.0, by: access.node });
    }
}

impl Policy for Platinum {
    type State = State;
    fn begin(&self, _: &BlockContext<'_>) -> State {
        State::default()
    }
    #[inline]
    fn step(&self, block: &BlockContext<'_>, state: &mut State, access: &Access, sink: &mut impl Sink) -> Location {
        if state.frozen && access.class != AccessClass::Free {
            self.thaw(state, access);
        }
        let here = Location::Node(access.node);
        let several_at_write = access.kind == AccessKind::Write && state.copies.count() != 1;
        if several_at_write || !(state.frozen || state.copies.nodes.contains(access.node)) {
            self.fault(block, state, access, sink);
        }
        state.copies.nearest(access.node).unwrap_or(here)
    }
}

impl Platinum {
    fn new(values: &[u32], machine: &Machine) -> Result<Platinum, PolicyError> {
        let in_global = values[2] == 1;
        match in_global {
            true => needs_global(&SPEC.name, machine)?,
            false => needs_remote_access(&SPEC.name, machine)?,
        }
        let (t1, t2) = (values[0].into(), values[1].into());
        Ok(Platinum { t1, t2, in_global, twice: values[3] == 1, backoff: values[4] == 1 })
    }

    fn thaw(&self, state: &mut State, access: &Access) {
        if self.t2 > 0 && access.t.0 / self.t2 >= state.thaw_at {
            state.frozen = false;
            (state.last, state.before) = (None, None);
        }
    }

    /// Whether an invalidation by another node, or the last two, are too recent.
    fn too_soon(&self, state: &State, access: &Access) -> bool {
        let recent = |at: u64| access.t.0.saturating_sub(at) < self.t1;
        let by_another = state.last.is_some_and(|i| i.by != access.node && recent(i.at));
        by_another && (!self.twice || state.before.is_some_and(recent))
    }

    fn fault(&self, block: &BlockContext<'_>, state: &mut State, access: &Access, sink: &mut impl Sink) {
        let mapped = state.copies.nodes.contains(access.node);
        if state.copies.count() == 0 {
            state.copies.place(block, access.node, sink);
            return;
        }
        if state.copies.takes_write_back(block, access) {
            return;
        }
        if state.frozen || (!mapped && access.class == AccessClass::Free) {
            return self.leave(state, access, sink);
        }
        if !mapped && self.too_soon(state, access) {
            return self.freeze(state, access, sink);
        }
        match access.kind {
            AccessKind::Read => _ = state.copies.add(Location::Node(access.node), sink),
            AccessKind::Write => {
                let invalidates = state.copies.invalidated_by(access.node);
                if state.copies.take(access.node, false, sink) && invalidates {
                    state.remember(access);
                }
            }
        }
    }

    /// A hit of a cache whose node has no copy: of several copies one stays if it is a store.
    fn leave(&self, state: &mut State, access: &Access, sink: &mut impl Sink) {
        if access.kind == AccessKind::Write && state.copies.count() > 1 {
            let invalidates = state.copies.nodes.len() > 1;
            state.copies.stay(sink);
            if invalidates && !state.frozen {
                state.remember(access);
            }
        }
    }

    fn freeze(&self, state: &mut State, access: &Access, sink: &mut impl Sink) {
        state.frozen = if self.in_global { state.copies.retire(sink) } else { state.copies.stay(sink) };
        let periods = if self.backoff { 1_u64 << state.freezes.min(62) } else { 1 };
        state.thaw_at = access.t.0.checked_div(self.t2).unwrap_or(0).saturating_add(periods);
        state.freezes = state.freezes.saturating_add(1);
    }
}
