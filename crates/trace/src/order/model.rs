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

struct Model<'s, 'a> {
    state: &'s mut State<'a>,
    /// Threads that can execute their next node, by its priority.
    ready: BinaryHeap<Reverse<(u64, u32)>>,
}

pub(super) fn run(state: &mut State<'_>, out: &mut Output<'_>) -> Result<(), TraceError> {
    let mut m = Model { state, ready: BinaryHeap::new() };
    m.enter_woken();
    let mut front = Vec::new();
    loop {
        while let Some(&Reverse((time, _))) = m.ready.peek() {
            m.take_front(time, &mut front);
            let time = m.in_step(time, &front, out)?;
            m.ready.extend(front.iter().map(|&t| Reverse((time, t))));
            m.one_by_one(time, out)?;
        }
        if !m.state.give_up_turns() {
            return Ok(());
        }
        m.enter_woken();
    }
}

impl Model<'_, '_> {
    /// Puts a thread among the ready ones, or lets it wait, or forgets it at its end.
    fn enter(&mut self, thread: u32) {
        if self.state.head(thread) != Head::End && !self.state.must_wait(thread) {
            self.ready.push(Reverse((self.state.time_of_head(thread), thread)));
        }
    }

    fn enter_woken(&mut self) {
        while let Some(t) = self.state.woken.pop() {
            self.enter(t);
        }
    }

    /// Takes all ready threads whose next node has this time, in order of thread.
    fn take_front(&mut self, time: u64, front: &mut Vec<u32>) {
        front.clear();
        while let Some(&Reverse((t, thread))) = self.ready.peek()
            && t == time
        {
            self.ready.pop();
            front.push(thread);
        }
    }

    /// Plain references of the threads in front, in step, as long as that is the order. Returns the time reached.
    fn in_step(&mut self, mut time: u64, front: &[u32], out: &mut Output<'_>) -> Result<u64, TraceError> {
        let until = self.ready.peek().map_or(u64::MAX, |&Reverse((t, _))| t);
        loop {
            let plain = front.iter().map(|&t| self.state.cursors[t as usize].plain()).min().unwrap_or(0);
            let n = plain.min(until - time);
            if n == 0 {
                return Ok(time);
            }
            out.lockstep(&mut self.state.cursors, front, n as usize);
            time += n;
            for &t in front {
                let c = &mut self.state.cursors[t as usize];
                c.time = time;
                c.refill(self.state.data)?;
            }
        }
    }

    /// Everything at this time, node by node.
    fn one_by_one(&mut self, time: u64, out: &mut Output<'_>) -> Result<(), TraceError> {
        while let Some(&Reverse((t, thread))) = self.ready.peek()
            && t == time
        {
            self.ready.pop();
            self.nodes_of(thread, time, out)?;
        }
        Ok(())
    }

    /// Nodes of one thread at this time, until it moves past it, must wait, ends, or lets another thread go on (which may
    /// come first then).
    fn nodes_of(&mut self, thread: u32, time: u64, out: &mut Output<'_>) -> Result<(), TraceError> {
        loop {
            match self.state.head(thread) {
                Head::End => return Ok(()),
                Head::Spin => self.state.spins(thread, usize::MAX, out)?,
                Head::Ref => {
                    out.lockstep(&mut self.state.cursors, &[thread], 1);
                    let c = &mut self.state.cursors[thread as usize];
                    c.time = time + 1;
                    c.refill(self.state.data)?;
                    self.enter(thread);
                    return Ok(());
                }
                Head::Event if self.state.time_of_head(thread) > time => {
                    self.enter(thread);
                    return Ok(());
                }
                Head::Event => {
                    if self.state.event(thread, out) == Step::Waits {
                        return Ok(());
                    }
                    if !self.state.woken.is_empty() {
                        self.enter(thread);
                        self.enter_woken();
                        return Ok(());
                    }
                }
            }
        }
    }
}
