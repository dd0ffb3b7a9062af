//! One thread's place in its references and events.
use crate::TraceError;
use crate::dataset::DatasetReader;
use crate::event::Event;
use crate::frame::{Batch, DecodedFrame};
use crate::packed::ThreadEvents;
use crate::polls;
use crate::record::{Merged, Op};
use homenode_base::spaces::View;
use std::borrow::Cow;

/// What a thread's next node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// A reference that advances virtual time.
    Ref,
    /// A spin.
    Spin,
    /// An event.
    Event,
    /// Nothing: the thread is done.
    End,
}

/// A thread's references and events from the next one on.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    thread: u32,
    /// Where its addresses lie.
    view: View<'a>,
    /// Virtual time of the next node.
    pub(super) time: u64,
    frame: DecodedFrame,
    next_frame: usize,
    /// References of the thread before the current one.
    pub(super) refs_done: u64,
    /// Position in the frame.
    at: usize,
    /// What the frame's keys stand for, ready to be copied.
    templates: Vec<Merged>,
    /// Positions of spins in the frame, with a sentinel at its end.
    spins: Vec<u32>,
    next_spin: usize,
    /// Number of its first event among those of all threads.
    first_event: u32,
    events: ThreadEvents<'a>,
    next_event: Option<Cow<'a, Event>>,
    events_done: usize,
    /// References before the next event; `u64::MAX` if there is none.
    event_at: u64,
    bytes: Vec<u8>,
    sites: Vec<u32>,
    batch: usize,
    batch_end: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(data: &'a DatasetReader, thread: u32) -> Cursor<'a> {
        let mut events = data.thread_events(thread);
        let next_event = events.next();
        Cursor {
            thread,
            view: data.view(thread),
            time: 0,
            frame: DecodedFrame::default(),
            next_frame: 0,
            refs_done: 0,
            at: 0,
            templates: Vec::new(),
            spins: Vec::new(),
            next_spin: 0,
            first_event: data.event_index(thread, 0),
            events,
            event_at: next_event.as_ref().map_or(u64::MAX, |e| e.at),
            next_event,
            events_done: 0,
            bytes: Vec::new(),
            sites: Vec::new(),
            batch: 0,
            batch_end: 0,
        }
    }

    /// Loads frames until there is a reference at the current position or no frame is left.
    pub(super) fn refill(&mut self, data: &DatasetReader) -> Result<(), TraceError> {
        while self.at == self.frame.len() && self.next_frame < data.frames(self.thread).len() {
            data.read_frame(self.thread, self.next_frame, &mut self.bytes, &mut self.frame)?;
            polls::of(data)?.apply(self.thread, &mut self.frame);
            data.map_sites(&self.frame, &mut self.sites)?;
            self.next_frame += 1;
            self.at = 0;
            self.templates.clear();
            self.templates.extend(self.frame.keys.iter().map(|k| {
                let site = self.sites[k.site as usize];
                Merged { addr: 0, size: k.size, site, weight: 1, thread: self.thread, op: k.op, ..Merged::default() }
            }));
            self.find_spins();
            (self.batch, self.batch_end) = (0, self.frame.batches.first().map_or(0, |b| b.refs as usize));
        }
        Ok(())
    }

    fn find_spins(&mut self) {
        self.spins.clear();
        self.next_spin = 0;
        if self.frame.keys.iter().any(|k| k.op == Op::Spin) {
            let is_spin = |&(_, k): &(usize, &u16)| self.frame.keys[usize::from(*k)].op == Op::Spin;
            self.spins.extend(self.frame.key.iter().enumerate().filter(is_spin).map(|(i, _)| i as u32));
        }
        self.spins.push(self.frame.len() as u32);
    }

    /// The next node. The frame must be filled.
    #[inline]
    pub(super) fn head(&self) -> Head {
        let exhausted = self.at == self.frame.len();
        if self.event_at <= self.refs_done || (exhausted && self.event_at != u64::MAX) {
            return Head::Event;
        }
        match exhausted {
            true => Head::End,
            false if self.spins[self.next_spin] as usize == self.at => Head::Spin,
            false => Head::Ref,
        }
    }

    /// How many references that advance time come before anything else. The frame must be filled.
    #[inline]
    pub(super) fn plain(&self) -> u64 {
        let before_spin = self.spins.get(self.next_spin).map_or(0, |&s| u64::from(s) - self.at as u64);
        before_spin.min(self.event_at.saturating_sub(self.refs_done))
    }

    /// How many events were executed.
    pub(super) fn events_done(&self) -> usize {
        self.events_done
    }

    /// The number of the next event.
    pub(super) fn next_event_index(&self) -> u32 {
        self.first_event + self.events_done as u32
    }

    /// The next event.
    pub(super) fn event(&self) -> Option<&Event> {
        self.next_event.as_deref()
    }

    /// The event at the head is executed: it is given away.
    pub(super) fn event_done(&mut self) -> Option<Cow<'a, Event>> {
        self.events_done += 1;
        let next = self.events.next();
        self.event_at = next.as_ref().map_or(u64::MAX, |e| e.at);
        std::mem::replace(&mut self.next_event, next)
    }

    /// How many spins come next without anything between them, at most `limit`. The head must be a spin.
    pub(super) fn spin_run(&self, limit: usize) -> usize {
        let until_event = usize::try_from(self.event_at - self.refs_done).unwrap_or(usize::MAX);
        let ahead = self.spins[self.next_spin..self.spins.len() - 1].iter().take(limit.min(until_event));
        ahead.zip(self.at..).take_while(|&(&spin, at)| spin as usize == at).count()
    }

    /// Takes note of `n` spins that were copied out.
    pub(super) fn spins_done(&mut self, n: usize) {
        self.next_spin += n;
    }

    /// Copies the next `rows` references to every `stride`-th slot. Time is the caller's business.
    #[inline]
    pub(super) fn copy_out(&mut self, slots: &mut [Merged], stride: usize, rows: usize) {
        let addrs = &self.frame.addr[self.at..self.at + rows];
        let keys = &self.frame.key[self.at..self.at + rows];
        for ((slot, &addr), &key) in slots.iter_mut().step_by(stride).zip(addrs).zip(keys) {
            *slot = Merged { addr, ..self.templates[usize::from(key)] };
        }
        if let Some(samples) = self.frame.samples().get(self.at..self.at + rows) {
            slots.iter_mut().step_by(stride).zip(samples).for_each(|(slot, s)| *slot = slot.sampled(s));
        }
        if !self.view.is_plain() {
            slots.iter_mut().step_by(stride).for_each(|slot| slot.addr = self.view.tagged(slot.addr));
        }
        self.at += rows;
        self.refs_done += rows as u64;
    }

    /// Moves on to the batch of the current reference. The frame must be filled.
    pub(super) fn settle_batch(&mut self) {
        while self.at >= self.batch_end && self.batch + 1 < self.frame.batches.len() {
            self.batch += 1;
            self.batch_end += self.frame.batches[self.batch].refs as usize;
        }
    }

    /// Begin and end stamp of the current reference's batch, and references left in it; `None` at the thread's end.
    pub(super) fn batch(&self) -> Option<(u64, u64, usize)> {
        if self.at >= self.frame.len() {
            return None;
        }
        let batch: &Batch = self.frame.batches.get(self.batch)?;
        let end = self.frame.batches.get(self.batch + 1).map_or(self.frame.end, |next| next.begin);
        Some((batch.begin, end, self.batch_end - self.at))
    }
}
