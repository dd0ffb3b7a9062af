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

struct Draw<'s, 'a> {
    state: &'s mut State<'a>,
    rng: Rng,
    /// Threads that synchronisation lets go on.
    able: Vec<u32>,
    /// End stamp of every thread's current batch, threads without references left excepted.
    ends: BTreeSet<(u64, u32)>,
    /// Begin and end of the current batch of each thread.
    batches: Vec<Option<(u64, u64, usize)>>,
}

pub(super) fn run(state: &mut State<'_>, out: &mut Output<'_>, seed: u64) -> Result<(), TraceError> {
    let threads = state.cursors.len();
    let mut d = Draw { state, rng: Rng::new(seed), able: vec![], ends: BTreeSet::new(), batches: vec![None; threads] };
    (0..threads as u32).for_each(|t| d.note_batch(t));
    d.enter_woken();
    while !d.able.is_empty() {
        let start = d.rng.below(d.able.len() as u64) as usize;
        let Some(chosen) = (0..d.able.len()).map(|i| (start + i) % d.able.len()).find(|&i| d.allowed(d.able[i])) else {
            return Ok(()); // Stamps contradict synchronisation: the caller finds threads that are not at their end.
        };
        let thread = d.able[chosen];
        if !d.advance(thread, out)? {
            d.able.swap_remove(chosen);
        }
        d.enter_woken();
    }
    Ok(())
}

impl Draw<'_, '_> {
    fn enter_woken(&mut self) {
        while let Some(t) = self.state.woken.pop() {
            if self.state.head(t) != Head::End && !self.state.must_wait(t) {
                self.able.push(t);
            }
        }
    }

    /// Takes note of the batch a thread is in now.
    fn note_batch(&mut self, thread: u32) {
        let c = &mut self.state.cursors[thread as usize];
        c.settle_batch();
        let now = c.batch();
        let before = std::mem::replace(&mut self.batches[thread as usize], now);
        if before.map(|b| b.1) != now.map(|b| b.1) {
            before.map(|b| self.ends.remove(&(b.1, thread)));
            now.map(|b| self.ends.insert((b.1, thread)));
        }
    }

    /// Whether no other thread's batch must come before the thread's next node.
    fn allowed(&self, thread: u32) -> bool {
        if let Head::Event = self.state.head(thread) {
            return true;
        }
        let Some((begin, _, _)) = self.batches[thread as usize] else { return true };
        self.ends.iter().find(|&&(_, t)| t != thread).is_none_or(|&(end, _)| end >= begin)
    }

    /// Length of a stretch, 1 half of the time, else 2, 4 ... 64, but not beyond the thread's batch.
    fn within_batch(&mut self, thread: u32) -> u64 {
        let left = self.batches[thread as usize].map_or(1, |b| b.2) as u64;
        (1 << self.rng.below(12).saturating_sub(5)).min(left)
    }

    /// One stretch of a thread. False if it ended or waits.
    fn advance(&mut self, thread: u32, out: &mut Output<'_>) -> Result<bool, TraceError> {
        match self.state.head(thread) {
            Head::End => return Ok(false),
            Head::Event => {
                if self.state.event(thread, out) == Step::Waits {
                    return Ok(false);
                }
            }
            Head::Spin => {
                let n = self.within_batch(thread);
                self.state.spins(thread, n as usize, out)?;
            }
            Head::Ref => {
                let n = self.within_batch(thread).min(self.state.cursors[thread as usize].plain());
                out.lockstep(&mut self.state.cursors, &[thread], n as usize);
                let c = &mut self.state.cursors[thread as usize];
                c.time += n;
                c.refill(self.state.data)?;
            }
        }
        self.note_batch(thread);
        Ok(self.state.head(thread) != Head::End && !self.state.must_wait(thread))
    }
}
