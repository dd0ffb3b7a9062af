//! The model order of sampled recordings, and of those whose stamps are the order of all references: Kahn's algorithm with priority (stamp, thread, index).
//!
//! A count of samples says nothing about how far a thread has come: one that hits its caches is hardly sampled at all.
//! What was stamped is all there is to order by, so the virtual time of a node is its stamp, never less than that of its
//! thread's node before it nor of the releases it follows. References do not advance it. Times count from the first
//! stamp of the recording.
use super::cursor::Head;
use super::output::Output;
use super::state::State;
use crate::TraceError;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Where the order is.
#[derive(Debug)]
pub(super) struct Stamped {
    /// The thread that comes next, until another one may.
    current: Option<u32>,
    /// Threads that can execute their next node, by its priority.
    ready: BinaryHeap<Reverse<(u64, u32)>>,
    /// The first stamp of the recording.
    first: u64,
}

impl Stamped {
    pub(super) fn new(state: &mut State<'_>) -> Stamped {
        state.cursors.iter_mut().for_each(super::cursor::Cursor::settle_batch);
        let events = state.data.events().iter().map(|e| e.stamp).filter(|&s| s != 0);
        let batches = state.cursors.iter().filter_map(|c| c.batch().map(|b| b.0));
        let first = events.chain(batches).min().unwrap_or(0);
        let mut s = Stamped { current: None, ready: BinaryHeap::new(), first };
        s.enter_woken(state);
        s
    }

    /// One node of the thread that comes next, or as many of its references as have room. Whether anything is left.
    pub(super) fn step<'a>(&mut self, state: &mut State<'a>, out: &mut Output<'a>) -> Result<bool, TraceError> {
        let Some(thread) = self.current.or_else(|| self.ready.pop().map(|Reverse((_, thread))| thread)) else {
            return Ok(false);
        };
        Stamped::node(thread, state, out)?;
        self.enter_woken(state);
        self.current = None;
        if let Some(time) = self.raise(thread, state) {
            let comes_next = self.ready.peek().is_none_or(|&Reverse(other)| (time, thread) < other);
            if !comes_next {
                self.enter(thread, state);
            } else if !state.must_wait(thread) {
                self.current = Some(thread);
            }
        }
        Ok(true)
    }

    /// Puts a thread among the ready ones, or lets it wait, or forgets it at its end.
    fn enter(&mut self, thread: u32, state: &mut State<'_>) {
        if let Some(time) = self.raise(thread, state)
            && !state.must_wait(thread)
        {
            self.ready.push(Reverse((time, thread)));
        }
    }

    fn enter_woken(&mut self, state: &mut State<'_>) {
        while let Some(t) = state.woken.pop() {
            self.enter(t, state);
        }
    }

    /// Raises a thread's time to the stamp of its next node and says when that would be executed; `None` at its end.
    fn raise(&self, thread: u32, state: &mut State<'_>) -> Option<u64> {
        let head = state.head(thread);
        let c = &mut state.cursors[thread as usize];
        c.settle_batch();
        let stamp = match head {
            Head::End => return None,
            Head::Event => c.event().map_or(0, |e| e.stamp),
            Head::Ref | Head::Spin => c.batch().map_or(0, |b| b.0),
        };
        c.time = c.time.max(stamp.saturating_sub(self.first));
        Some(state.time_of_head(thread))
    }

    /// One event, or references of one stamp up to the next event.
    fn node<'a>(thread: u32, state: &mut State<'a>, out: &mut Output<'a>) -> Result<(), TraceError> {
        let left = state.cursors[thread as usize].batch().map_or(0, |b| b.2);
        match state.head(thread) {
            Head::End => Ok(()),
            Head::Event => {
                // It was not waiting when it became ready, and what it follows stays done.
                state.event(thread, out);
                Ok(())
            }
            Head::Spin => state.spins(thread, left, out),
            Head::Ref => {
                let n = left.min(usize::try_from(state.cursors[thread as usize].plain()).unwrap_or(left));
                out.lockstep(&mut state.cursors, &[thread], n);
                state.cursors[thread as usize].refill(state.data)
            }
        }
    }
}
