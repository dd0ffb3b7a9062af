//! The model order: Kahn's algorithm with priority (virtual time, thread, index).
//!
//! Each thread has at most one executable node, its next, so the ready nodes are a heap of (virtual time, thread). Most
//! of the time nothing but plain references is ready: then all threads with the smallest time go on in step, one
//! reference each, without the heap, until one of them meets an event or a spin or the next thread's time is reached.
use super::cursor::Head;
use super::output::Output;
use super::state::{State, Step};
use crate::TraceError;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Where the order is.
#[derive(Debug)]
pub(super) struct Model {
    /// Threads that can execute their next node, by its priority.
    ready: BinaryHeap<Reverse<(u64, u32)>>,
    /// Threads that go on in step.
    front: Vec<u32>,
    at: Phase,
}

/// What is done next.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Find the threads with the smallest time.
    Begin,
    /// Threads in front go on in step from this time.
    InStep(u64),
    /// Threads at this time execute their nodes one by one.
    OneByOne(u64),
    /// This thread executes its nodes of this time.
    Nodes(u32, u64),
}

impl Model {
    pub(super) fn new(state: &mut State<'_>) -> Model {
        let mut model = Model { ready: BinaryHeap::new(), front: Vec::new(), at: Phase::Begin };
        model.enter_woken(state);
        model
    }

    /// Goes on until the piece is full or something else is to be done. Whether anything is left.
    #[inline]
    pub(super) fn step<'a>(&mut self, state: &mut State<'a>, out: &mut Output<'a>) -> Result<bool, TraceError> {
        match self.at {
            Phase::Begin => match self.ready.peek() {
                Some(&Reverse((time, _))) => {
                    self.take_front(time);
                    self.at = Phase::InStep(time);
                }
                None if state.give_up_turns() => self.enter_woken(state),
                None => return Ok(false),
            },
            Phase::InStep(time) => self.in_step(time, state, out)?,
            Phase::OneByOne(time) => match self.ready.peek() {
                Some(&Reverse((t, thread))) if t == time => {
                    self.ready.pop();
                    self.at = Phase::Nodes(thread, time);
                }
                _ => self.at = Phase::Begin,
            },
            Phase::Nodes(thread, time) => {
                if self.nodes_of(thread, time, state, out)? {
                    self.at = Phase::OneByOne(time);
                }
            }
        }
        Ok(true)
    }

    /// Puts a thread among the ready ones, or lets it wait, or forgets it at its end.
    fn enter(&mut self, thread: u32, state: &mut State<'_>) {
        if state.head(thread) != Head::End && !state.must_wait(thread) {
            self.ready.push(Reverse((state.time_of_head(thread), thread)));
        }
    }

    fn enter_woken(&mut self, state: &mut State<'_>) {
        while let Some(t) = state.woken.pop() {
            self.enter(t, state);
        }
    }

    /// Takes all ready threads whose next node has this time, in order of thread.
    fn take_front(&mut self, time: u64) {
        self.front.clear();
        while let Some(&Reverse((t, thread))) = self.ready.peek()
            && t == time
        {
            self.ready.pop();
            self.front.push(thread);
        }
    }

    /// Plain references of the threads in front, in step, as long as that is the order and there is room.
    fn in_step<'a>(&mut self, mut time: u64, state: &mut State<'a>, out: &mut Output<'a>) -> Result<(), TraceError> {
        let until = self.ready.peek().map_or(u64::MAX, |&Reverse((t, _))| t);
        while !out.full() {
            let plain = self.front.iter().map(|&t| state.cursors[t as usize].plain()).min().unwrap_or(0);
            let n = plain.min(until - time);
            if n == 0 {
                self.ready.extend(self.front.iter().map(|&t| Reverse((time, t))));
                self.at = Phase::OneByOne(time);
                return Ok(());
            }
            time += out.lockstep(&mut state.cursors, &self.front, n as usize) as u64;
            self.at = Phase::InStep(time);
            for &t in &self.front {
                let c = &mut state.cursors[t as usize];
                c.time = time;
                c.refill(state.data)?;
            }
        }
        Ok(())
    }

    /// Nodes of one thread at this time, until it moves past it, must wait, ends, or lets another thread go on (which may
    /// come first then): true. False if the piece is full before that.
    fn nodes_of<'a>(
        &mut self,
        thread: u32,
        time: u64,
        state: &mut State<'a>,
        out: &mut Output<'a>,
    ) -> Result<bool, TraceError> {
        while !out.full() {
            match state.head(thread) {
                Head::End => return Ok(true),
                Head::Spin => state.spins(thread, usize::MAX, out)?,
                Head::Ref => {
                    if out.lockstep(&mut state.cursors, &[thread], 1) == 1 {
                        let c = &mut state.cursors[thread as usize];
                        c.time = time + 1;
                        c.refill(state.data)?;
                        self.enter(thread, state);
                        return Ok(true);
                    }
                }
                Head::Event if state.time_of_head(thread) > time => {
                    self.enter(thread, state);
                    return Ok(true);
                }
                Head::Event => {
                    if state.event(thread, out) == Step::Waits {
                        return Ok(true);
                    }
                    if !state.woken.is_empty() {
                        self.enter(thread, state);
                        self.enter_woken(state);
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }
}
