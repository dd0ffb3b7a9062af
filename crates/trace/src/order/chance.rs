//! Threads that a recording put one after the other by chance: nothing in the program does.
//!
//! Whoever gets a lock, changes a word by an atomic, or is given memory that another gave back, follows in the model order
//! whoever did so before it in the recording, unless it does so again and again ([`super::turns`]). Where the other one came
//! to that only later, in virtual time, than this one would have, they could as well have done it in the other order.
use super::apart::{Apart, Chance, LONG};
use super::state::State;
use crate::event::{Event, EventKind};
use homenode_base::ring::EPOCH_ALLOCATOR;
use std::borrow::Cow;

/// Own events looked at before and after.
const NEAR: usize = 8;

impl State<'_> {
    /// Whether the `n`-th event of its thread, an acquire, belongs to a hand-over that could have gone the other way round.
    pub(super) fn could_go_first(&self, n: usize, e: &Event) -> bool {
        let event = |n: usize| self.data.thread_event(e.thread, n);
        let object = match e.kind {
            EventKind::AcqRel { object, .. } | EventKind::Acquire { object, epoch: EPOCH_ALLOCATOR, .. } => object,
            EventKind::Acquire { object, .. } => {
                // Woken by a condition.
                let other = |o: Cow<'_, Event>| {
                    matches!(o.kind, EventKind::Acquire { object: o, .. } if o != object) && o.at == e.at
                };
                let gives_back =
                    |o: Cow<'_, Event>| matches!(o.kind, EventKind::Release { object: o, .. } if o == object);
                if event(n + 1).is_some_and(other) || !(n + 1..=n + NEAR).filter_map(event).any(gives_back) {
                    return false;
                }
                object
            }
            _ => return false,
        };
        let polled = |n: usize| {
            let of = event(n).and_then(|o| super::sync::halves(&o.kind)).map(|h| h.object.0);
            of == Some(object) && self.is_poll(self.data.event_index(e.thread, n))
        };
        !(n.saturating_sub(NEAR)..n).any(polled)
    }

    /// Takes note of a wait for `first`.
    pub(super) fn note_chance(&mut self, waiter: u32, first: u32, wait: u64) {
        let refs = self.cursors[waiter as usize].refs_done;
        self.chances.push(Chance { waiter, first, wait, refs });
    }

    /// The threads that were apart, if those that waited went on for long.
    pub(super) fn apart(&self) -> Option<Apart> {
        let matters = |c: &&Chance| self.cursors[c.waiter as usize].refs_done >= c.refs + LONG;
        let all: Vec<&Chance> = self.chances.iter().filter(matters).collect();
        let longest = all.iter().max_by_key(|c| c.wait)?;
        let mut pairs: Vec<_> = all.iter().map(|c| (c.waiter.min(c.first), c.waiter.max(c.first))).collect();
        pairs.sort_unstable();
        pairs.dedup();
        Some(Apart { waiter: longest.waiter, first: longest.first, wait: longest.wait, pairs: pairs.len() as u32 })
    }
}
