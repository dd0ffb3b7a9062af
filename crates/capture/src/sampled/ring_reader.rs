//! One ring as a list of events with times. References in it (of a program built with the hooks) are left out: here the
//! samples are the references.
use crate::ring::{Consumed, Ring};
use crate::sink::Sink;
use crate::slots::Decoder;
use homenode_base::ring::BATCH_SLOTS;
use homenode_trace::event::EventKind;
use homenode_trace::frame::RawRef;
use homenode_trace::record::Op;
use std::collections::VecDeque;

/// An event and when it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Timed {
    /// Ticks of the time-stamp counter: its own stamp, or the best bound from below.
    pub(super) ticks: u64,
    /// The stamp that the slot has, 0 if none.
    pub(super) stamp: u64,
    /// What happened.
    pub(super) kind: EventKind,
}

/// The reading end of a ring.
#[derive(Debug)]
pub(super) struct RingReader {
    ring: Ring,
    /// Slots decoded.
    read: u64,
    decoder: Decoder,
    /// When the ring was last looked at: slots that are new were written later.
    looked: u64,
    /// Time of the event before.
    last: u64,
    /// Events that wait to be written.
    pub(super) events: VecDeque<Timed>,
    /// Events decoded so far.
    decoded: u64,
    /// Events written so far.
    written: u64,
    /// Where the tail may go: (slot, events before it).
    marks: VecDeque<(u64, u64)>,
    damaged: bool,
    /// Events taken out and not committed yet.
    taken: u64,
    /// Nothing comes any more.
    pub(super) ended: bool,
}

impl RingReader {
    /// Begins where the ring's journal says.
    pub(super) fn new(ring: Ring) -> std::io::Result<RingReader> {
        let Consumed { tail, events, .. } = ring.consumed()?;
        let (decoder, queue, marks) = Default::default();
        let (decoded, written) = (events, events);
        // The thread began before its ring was seen: only stamps bound its first events.
        let (looked, last, damaged) = (0, 0, false);
        Ok(RingReader {
            ring,
            read: tail,
            decoder,
            looked,
            last,
            events: queue,
            decoded,
            written,
            marks,
            damaged,
            taken: 0,
            ended: false,
        })
    }

    /// Takes what is new into `events`. `ended`: the producer does not run any more, so all that is there is whole.
    pub(super) fn read(&mut self, now: u64, ended: bool) {
        let to = self.head();
        if to.checked_sub(self.read).is_none_or(|backlog| backlog > self.ring.slots()) {
            self.damaged = true;
        }
        if self.damaged {
            return self.ring.discard();
        }
        let quiet = to == self.read;
        let mut batch = [[0; 2]; BATCH_SLOTS as usize];
        while self.read < to {
            let n = (BATCH_SLOTS - self.read % BATCH_SLOTS).min(to - self.read);
            let slots = &mut batch[..n as usize];
            if !self.ring.copy(self.read, slots) {
                break;
            }
            self.decode(Some(slots), ended);
            self.read += n;
            self.mark();
        }
        // A text may go on in the next slots, which follow at once if at all.
        if (quiet || ended) && self.decoder.pending_at().is_some() {
            self.decode(None, ended);
            self.mark();
        }
        self.looked = now;
    }
    /// Slots written. What a running producer publishes, it publishes event by event.
    fn head(&self) -> u64 {
        loop {
            let before = self.ring.head();
            let written = self.ring.final_head();
            if self.ring.head() == before {
                return written;
            }
        }
    }
    fn decode(&mut self, slots: Option<&[[u64; 2]]>, ended: bool) {
        let RingReader { decoder, read, looked, last, events, .. } = self;
        let before = events.len();
        let mut sink = Collect { stamp: 0, floor: *looked, last: *last, events };
        match slots {
            Some(slots) => decoder.batch(*read, slots, ended, &mut sink),
            None => decoder.flush(&mut sink),
        }
        *last = sink.last;
        self.decoded += (self.events.len() - before) as u64;
    }
    fn mark(&mut self) {
        if self.decoder.pending_at().is_none() {
            self.marks.push_back((self.read, self.decoded));
        }
    }

    /// The next event, if it is older than `horizon`.
    pub(super) fn next_before(&mut self, horizon: u64) -> Option<Timed> {
        self.events.front().filter(|e| e.ticks <= horizon)?;
        self.taken += 1;
        self.events.pop_front()
    }
    /// What was taken out is in the dataset, which now has `refs` samples of the thread: the tail may follow.
    pub(super) fn commit(&mut self, refs: u64) {
        self.written += std::mem::take(&mut self.taken);
        let mut reached = None;
        while self.marks.front().is_some_and(|m| m.1 <= self.written) {
            reached = self.marks.pop_front();
        }
        if let Some((tail, events)) = reached {
            self.ring.commit(Consumed { tail, refs, events });
        }
    }
    /// Whether the producer needs room soon.
    pub(super) fn is_pressing(&self) -> bool {
        self.ring.is_waiting() || self.ring.head().saturating_sub(self.tail()) > self.ring.slots() / 4
    }
    fn tail(&self) -> u64 {
        self.ring.consumed().map_or(0, |c| c.tail)
    }
    /// Lets the producer go on without being recorded.
    pub(super) fn wake(&self) {
        self.ring.wake();
    }
    /// Whether the ring contradicts itself or held what no runtime writes.
    pub(super) fn is_damaged(&self) -> bool {
        self.damaged || self.decoder.damaged > 0
    }
}

/// Collects events; times never run backwards.
struct Collect<'a> {
    stamp: u64,
    floor: u64,
    last: u64,
    events: &'a mut VecDeque<Timed>,
}

impl Sink for Collect<'_> {
    fn stamp(&mut self, ticks: u64) {
        self.stamp = ticks;
    }
    fn run(&mut self, slots: &[[u64; 2]]) -> usize {
        slots.iter().map_while(RawRef::of_slot).count()
    }
    fn reference(&mut self, _addr: u64, _size: u32, _op: Op, _pc: u64) {}
    fn event(&mut self, kind: EventKind, stamp: u64) {
        let ticks = if stamp > 0 { stamp } else { self.stamp.max(self.floor) }.max(self.last);
        self.last = ticks;
        self.events.push_back(Timed { ticks, stamp, kind });
    }
}
