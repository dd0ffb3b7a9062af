//! The model order of sampled recordings: Kahn's algorithm with priority (stamp, thread, index).
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

struct Stamped<'s, 'a> {
    state: &'s mut State<'a>,
    /// Threads that can execute their next node, by its priority.
    ready: BinaryHeap<Reverse<(u64, u32)>>,
    /// The first stamp of the recording.
    first: u64,
}

pub(super) fn run(state: &mut State<'_>, out: &mut Output<'_>) -> Result<(), TraceError> {
    state.cursors.iter_mut().for_each(super::cursor::Cursor::settle_batch);
    let events = state.data.events().iter().map(|e| e.stamp).filter(|&s| s != 0);
    let batches = state.cursors.iter().filter_map(|c| c.batch().map(|b| b.0));
    let first = events.chain(batches).min().unwrap_or(0);
    let mut s = Stamped { state, ready: BinaryHeap::new(), first };
    s.enter_woken();
    while let Some(Reverse((_, thread))) = s.ready.pop() {
        s.advance(thread, out)?;
    }
    Ok(())
}

impl Stamped<'_, '_> {
    /// Puts a thread among the ready ones, or lets it wait, or forgets it at its end.
    fn enter(&mut self, thread: u32) {
        if let Some(time) = self.raise(thread)
            && !self.state.must_wait(thread)
        {
            self.ready.push(Reverse((time, thread)));
        }
    }

    fn enter_woken(&mut self) {
        while let Some(t) = self.state.woken.pop() {
            self.enter(t);
        }
    }

    /// Raises a thread's time to the stamp of its next node and says when that would be executed; `None` at its end.
    fn raise(&mut self, thread: u32) -> Option<u64> {
        let head = self.state.head(thread);
        let c = &mut self.state.cursors[thread as usize];
        c.settle_batch();
        let stamp = match head {
            Head::End => return None,
            Head::Event => c.event().map_or(0, |e| e.stamp),
            Head::Ref | Head::Spin => c.batch().map_or(0, |b| b.0),
        };
        c.time = c.time.max(stamp.saturating_sub(self.first));
        Some(self.state.time_of_head(thread))
    }

    /// Nodes of the thread that comes next, until another one may.
    fn advance(&mut self, thread: u32, out: &mut Output<'_>) -> Result<(), TraceError> {
        loop {
            self.node(thread, out)?;
            self.enter_woken();
            let Some(time) = self.raise(thread) else { return Ok(()) };
            let comes_next = self.ready.peek().is_none_or(|&Reverse(other)| (time, thread) < other);
            if !comes_next || self.state.must_wait(thread) {
                if !comes_next {
                    self.enter(thread);
                }
                return Ok(());
            }
        }
    }

    /// One event, or references of one stamp up to the next event.
    fn node(&mut self, thread: u32, out: &mut Output<'_>) -> Result<(), TraceError> {
        let left = self.state.cursors[thread as usize].batch().map_or(0, |b| b.2);
        match self.state.head(thread) {
            Head::End => Ok(()),
            Head::Event => {
                // It was not waiting when it became ready, and what it follows stays done.
                self.state.event(thread, out);
                Ok(())
            }
            Head::Spin => self.state.spins(thread, left, out),
            Head::Ref => {
                let n = left.min(usize::try_from(self.state.cursors[thread as usize].plain()).unwrap_or(left));
                out.lockstep(&mut self.state.cursors, &[thread], n);
                self.state.cursors[thread as usize].refill(self.state.data)
            }
        }
    }
}
