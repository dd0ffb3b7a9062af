//! Threads by the caller's clocks: what a timed simulator pulls from, one thread at a time.
//!
//! The caller decides when each thread goes on; synchronisation says whether it may. Acquires are raised to the time of the
//! releases they follow, as in the model order, in the caller's units. What the caller grants itself ([`Granted`]) orders
//! nothing here. Busy waiting is left out.
use super::cursor::Head;
use super::granted::Granted;
use super::output::Output;
use super::state::{State, Step};
use crate::TraceError;
use crate::dataset::DatasetReader;
use crate::event::Event;
use crate::record::Merged;

/// A dataset by threads.
#[derive(Debug)]
pub struct Feeds<'a> {
    state: State<'a>,
    output: Output<'a>,
    grants: bool,
}

/// What a thread does next.
#[derive(Clone, Copy, Debug)]
pub enum Next<'p> {
    /// References, at least one, and how many the thread made before the first of them, spins included.
    Refs(&'p [Merged], u64),
    /// An event, at this time: that of the caller.
    Event(&'p Event, u64),
    /// An event that cannot happen before this time: ask again then.
    Later(u64),
    /// Nothing until it is among the [`woken`](Feeds::woken).
    Waits,
    /// Nothing any more.
    End,
}

impl<'a> Feeds<'a> {
    /// All threads from the beginning of a dataset. Without `granted` the order of turns is that of the model order, and all of
    /// the synchronisation orders.
    ///
    /// # Errors
    /// A damaged frame, or synchronisation that contradicts itself.
    pub fn new(data: &'a DatasetReader, granted: Option<Granted>) -> Result<Feeds<'a>, TraceError> {
        let grants = granted.is_some();
        let state = State::new(data, data.manifest().sampling.is_none(), granted)?;
        Ok(Feeds { state, output: Output::default(), grants })
    }

    /// A thread that may go on since the last call, and from when on; at first those that nobody creates.
    pub fn woken(&mut self) -> Option<(u32, u64)> {
        let thread = self.state.woken.pop()?;
        Some((thread, self.state.cursors[thread as usize].time))
    }

    /// What a thread does at the time `now`, which never runs backwards: an event, or at most `refs_max` references.
    ///
    /// # Errors
    /// A damaged frame.
    pub fn next(&mut self, thread: u32, now: u64, refs_max: usize) -> Result<Next<'_>, TraceError> {
        let t = thread as usize;
        loop {
            self.output.clear();
            let c = &mut self.state.cursors[t];
            c.time = c.time.max(now);
            let plain = usize::try_from(c.plain()).unwrap_or(usize::MAX);
            match c.head() {
                Head::End => return Ok(Next::End),
                Head::Spin => self.state.spins(thread, usize::MAX, &mut self.output)?,
                Head::Event if self.state.must_wait(thread) => return Ok(Next::Waits),
                Head::Event if self.state.time_of_head(thread) > now => {
                    return Ok(Next::Later(self.state.time_of_head(thread)));
                }
                Head::Event => {
                    let polled = self.grants && self.state.is_poll(self.state.cursors[t].next_event_index());
                    if self.state.event(thread, &mut self.output) == Step::Done && !polled {
                        break;
                    }
                }
                Head::Ref => {
                    self.output.lockstep(&mut self.state.cursors, &[thread], plain.min(refs_max.max(1)));
                    self.state.cursors[t].refill(self.state.data)?;
                    break;
                }
            }
        }
        Ok(match self.output.piece() {
            Some(piece) => match piece.event {
                Some((e, time)) => Next::Event(e, time.0),
                None => Next::Refs(piece.refs, self.state.cursors[t].refs_done - piece.refs.len() as u64),
            },
            None => Next::End,
        })
    }

    /// No thread can go on: lets go of what only the order of turns forbids. Whether somebody is woken by that.
    pub fn give_up_turns(&mut self) -> bool {
        self.state.give_up_turns()
    }

    /// An error that names a thread that cannot go on, unless all are at their end.
    ///
    /// # Errors
    /// [`TraceError::Cycle`].
    pub fn finished(&self) -> Result<(), TraceError> {
        self.state.finished()
    }

    /// Busy-wait references left out so far.
    pub fn spins(&self) -> u64 {
        self.state.spins
    }
}
