//! Each block has one home per phase of the program; phases are windows of virtual time, and the homes come from an earlier
//! pass over the trace.
//!
//! A block moves at its first access in a phase whose home is another one (hits of caches move nothing), at R, or G from
//! or to global memory; phases in which it is not accessed cost nothing. Homes that make the sum of references and moves
//! least are found by [`PhaseStatic`](crate::optimum::PhaseStatic). With one phase this is `best-static`, and with phases
//! of one access it is the optimum without replication. A policy sees accesses and no events, so its phases are windows;
//! what phases between barriers or by name are worth is computed with
//! [`PhaseStatic::by_starts`](crate::optimum::PhaseStatic::by_starts).
use super::best_static::fallback;
use super::resident::{self, Home};
use super::{By, Make, Param, Spec, needs_remote_access, table};
use crate::access::Access;
use crate::policy::{BlockContext, Outcome, Policy, Sink};
use homenode_machine::{AccessClass, Location};
use std::borrow::Cow;

static WINDOW: Param = Param {
    name: "window",
    summary: "virtual time of a phase",
    default: 1_000_000,
    min: 1,
    max: u32::MAX,
    variant: false,
};

pub(crate) static SPEC: Spec = Spec {
    name: Cow::Borrowed("phase-static"),
    summary: Cow::Borrowed(
        "Each block lives in each phase where that and its moves cost least (needs a pass over the trace)",
    ),
    params: &[WINDOW],
    needs_homes: true,
    reported: false,
    decides_by: &[By::Time],
    period: |values| Some(values[0].into()),
    make: Make::Registered(|values, machine, block_bytes| {
        if machine.cost.global.is_none() {
            needs_remote_access(&SPEC.name, machine)?;
        }
        table(PhaseStatic(values[0].into()), machine, block_bytes)
    }),
};

/// Virtual time of a phase.
struct PhaseStatic(u64);

impl Policy for PhaseStatic {
    type State = Home;
    fn begin(&self, _: &BlockContext<'_>) -> Home {
        None
    }
    #[inline]
    fn step(&self, block: &BlockContext<'_>, home: &mut Home, access: &Access, sink: &mut impl Sink) -> Location {
        let phase = usize::try_from(access.t.0 / self.0).unwrap_or(usize::MAX);
        let wanted = block.phases.get(phase).or(block.phases.last()).copied();
        match (*home, wanted) {
            (Some(at), Some(to)) if at != to && access.class != AccessClass::Free => {
                if sink.migrate(at, to) != Outcome::Done {
                    return at;
                }
                *home = Some(to);
                to
            }
            _ => resident::serve(block, home, || wanted.or(block.home).unwrap_or(fallback(block, access)), sink),
        }
    }
}
