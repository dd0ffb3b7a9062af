//! The as-recorded order: a legal merge drawn by a seed.
//!
//! A reference may come next if its thread's synchronisation allows it and no other thread still has a reference in a
//! batch that ended before this one's batch began. Events have no batch of their own. Among the threads that may go on one is
//! drawn, and how far it goes in one stretch, never beyond its batch. Stretches of 1 can always be drawn, so every legal
//! merge has a positive probability.
use super::cursor::Head;
use super::output::Output;
use super::state::{State, Step};
use crate::TraceError;
use homenode_base::Rng;
use std::collections::BTreeSet;

/// References in a stretch at most.
const STRETCH_REFS_MAX: usize = 64;

/// Where the order is.
#[derive(Debug)]
pub(super) struct Draw {
    rng: Rng,
    /// Threads that synchronisation lets go on.
    able: Vec<u32>,
    /// End stamp of every thread's current batch, threads without references left excepted.
    ends: BTreeSet<(u64, u32)>,
    /// Begin and end of the current batch of each thread.
    batches: Vec<Option<(u64, u64, usize)>>,
}

impl Draw {
    pub(super) fn new(state: &mut State<'_>, seed: u64) -> Draw {
        let threads = state.cursors.len();
        let mut d = Draw { rng: Rng::new(seed), able: vec![], ends: BTreeSet::new(), batches: vec![None; threads] };
        (0..threads as u32).for_each(|t| d.note_batch(t, state));
        d.enter_woken(state);
        d
    }

    /// One stretch, if it has room. Whether anything is left.
    pub(super) fn step<'a>(&mut self, state: &mut State<'a>, out: &mut Output<'a>) -> Result<bool, TraceError> {
        if self.able.is_empty() {
            return Ok(false);
        }
        // What is drawn must not depend on where pieces end.
        if !out.has_room(STRETCH_REFS_MAX) {
            return Ok(true);
        }
        let start = self.rng.below(self.able.len() as u64) as usize;
        let able = (0..self.able.len()).map(|i| (start + i) % self.able.len());
        let Some(chosen) = able.into_iter().find(|&i| self.allowed(self.able[i], state)) else {
            return Ok(false); // Stamps contradict synchronisation: the caller finds threads that are not at their end.
        };
        let thread = self.able[chosen];
        if !self.advance(thread, state, out)? {
            self.able.swap_remove(chosen);
        }
        self.enter_woken(state);
        Ok(true)
    }

    fn enter_woken(&mut self, state: &mut State<'_>) {
        while let Some(t) = state.woken.pop() {
            if state.head(t) != Head::End && !state.must_wait(t) {
                self.able.push(t);
            }
        }
    }

    /// Takes note of the batch a thread is in now.
    fn note_batch(&mut self, thread: u32, state: &mut State<'_>) {
        let c = &mut state.cursors[thread as usize];
        c.settle_batch();
        let now = c.batch();
        let before = std::mem::replace(&mut self.batches[thread as usize], now);
        if before.map(|b| b.1) != now.map(|b| b.1) {
            before.map(|b| self.ends.remove(&(b.1, thread)));
            now.map(|b| self.ends.insert((b.1, thread)));
        }
    }

    /// Whether no other thread's batch must come before the thread's next node.
    fn allowed(&self, thread: u32, state: &State<'_>) -> bool {
        if let Head::Event = state.head(thread) {
            return true;
        }
        let Some((begin, _, _)) = self.batches[thread as usize] else { return true };
        self.ends.iter().find(|&&(_, t)| t != thread).is_none_or(|&(end, _)| end >= begin)
    }

    /// Length of a stretch, 1 half of the time, else 2, 4 ... 64, but not beyond the thread's batch.
    fn within_batch(&mut self, thread: u32) -> u64 {
        let left = self.batches[thread as usize].map_or(1, |b| b.2) as u64;
        (1 << self.rng.below(12).saturating_sub(5)).min(left).min(STRETCH_REFS_MAX as u64)
    }

    /// One stretch of a thread. False if it ended or waits.
    fn advance<'a>(&mut self, thread: u32, state: &mut State<'a>, out: &mut Output<'a>) -> Result<bool, TraceError> {
        match state.head(thread) {
            Head::End => return Ok(false),
            Head::Event => {
                if state.event(thread, out) == Step::Waits {
                    return Ok(false);
                }
            }
            Head::Spin => {
                let n = self.within_batch(thread);
                state.spins(thread, n as usize, out)?;
            }
            Head::Ref => {
                let n = self.within_batch(thread).min(state.cursors[thread as usize].plain());
                out.lockstep(&mut state.cursors, &[thread], n as usize);
                let c = &mut state.cursors[thread as usize];
                c.time += n;
                c.refill(state.data)?;
            }
        }
        self.note_batch(thread, state);
        Ok(state.head(thread) != Head::End && !state.must_wait(thread))
    }
}
