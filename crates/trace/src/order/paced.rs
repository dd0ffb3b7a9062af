//! An order by the caller's clock: what a timed simulator pulls from.
//!
//! The thread that comes next is the one with the smallest (time, thread) among those that synchronisation lets go on. How long
//! its references take is for the caller to say, after it has looked at them. Acquires raise a thread's time to that of the
//! releases they follow, as in the model order, in the caller's units.
use super::Piece;
use super::cursor::Head;
use super::output::Output;
use super::state::{State, Step};
use crate::TraceError;
use crate::dataset::DatasetReader;
use homenode_base::VirtualTime;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A dataset in the order of a clock of the caller's.
#[derive(Debug)]
pub struct Paced<'a> {
    state: State<'a>,
    output: Output<'a>,
    /// Threads that can execute their next node, by its priority.
    ready: BinaryHeap<Reverse<(u64, u32)>>,
    /// The thread of the piece that was given last.
    current: Option<u32>,
}

/// The next part of one thread.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'p> {
    /// The thread.
    pub thread: u32,
    /// When it begins, in the caller's units.
    pub begin: u64,
    /// References of the thread, all charged or all spins; or an event.
    pub piece: Piece<'p>,
}

impl<'a> Paced<'a> {
    /// The order from the beginning of a dataset, at time 0.
    ///
    /// # Errors
    /// A damaged frame, or synchronisation that contradicts itself.
    pub fn new(data: &'a DatasetReader) -> Result<Paced<'a>, TraceError> {
        let by_turns = data.manifest().sampling.is_none();
        let state = State::new(data, by_turns)?;
        Ok(Paced { state, output: Output::default(), ready: BinaryHeap::new(), current: None })
    }

    /// The thread of the last turn went on for so long. Without this call its references took no time.
    pub fn pass(&mut self, ticks: u64) {
        if let Some(thread) = self.current {
            let c = &mut self.state.cursors[thread as usize];
            c.time = c.time.saturating_add(ticks);
        }
    }

    /// The next event, or at most `refs_max` references, at least one, of the thread that comes next; `None` at the end.
    /// A smaller `refs_max` lets threads take turns more often.
    ///
    /// # Errors
    /// A damaged frame, or [`TraceError::Cycle`] if no thread can go on.
    pub fn pull(&mut self, refs_max: usize) -> Result<Option<Turn<'_>>, TraceError> {
        self.output.clear();
        if let Some(thread) = self.current.take() {
            self.enter(thread);
        }
        self.enter_woken();
        while let Some((thread, begin)) = self.next() {
            if !self.advance(thread, begin, refs_max.max(1))? {
                continue;
            }
            self.current = Some(thread);
            // An acquire is raised to the releases that it follows.
            let begin = self.state.cursors[thread as usize].time;
            return Ok(self.output.piece().map(|piece| Turn { thread, begin, piece }));
        }
        self.state.finished()?;
        Ok(None)
    }

    /// The thread that comes next, and its time.
    fn next(&mut self) -> Option<(u32, u64)> {
        loop {
            if let Some(Reverse((time, thread))) = self.ready.pop() {
                return Some((thread, time));
            }
            if !self.state.give_up_turns() {
                return None;
            }
            self.enter_woken();
        }
    }

    /// Whether a thread did something; if not, it waits, is at its end or comes later.
    fn advance(&mut self, thread: u32, time: u64, refs_max: usize) -> Result<bool, TraceError> {
        match self.state.head(thread) {
            Head::End => Ok(false),
            Head::Event if self.state.time_of_head(thread) > time => {
                self.enter(thread);
                Ok(false)
            }
            Head::Event => Ok(self.state.event(thread, &mut self.output) == Step::Done),
            Head::Spin => self.state.spins(thread, refs_max, &mut self.output).map(|()| true),
            Head::Ref => {
                let plain = usize::try_from(self.state.cursors[thread as usize].plain()).unwrap_or(usize::MAX);
                self.output.lockstep(&mut self.state.cursors, &[thread], plain.min(refs_max));
                self.state.cursors[thread as usize].refill(self.state.data)?;
                Ok(true)
            }
        }
    }

    /// Puts a thread among the ready ones, or lets it wait, or forgets it at its end.
    fn enter(&mut self, thread: u32) {
        if self.state.head(thread) != Head::End && !self.state.must_wait(thread) {
            self.ready.push(Reverse((self.state.time_of_head(thread), thread)));
        }
    }

    fn enter_woken(&mut self) {
        while let Some(thread) = self.state.woken.pop() {
            self.enter(thread);
        }
    }

    /// The largest time of any thread so far.
    pub fn span(&self) -> VirtualTime {
        VirtualTime(self.state.cursors.iter().map(|c| c.time).max().unwrap_or(0))
    }
}
