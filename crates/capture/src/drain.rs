//! From one thread's ring to its frames and events.
use crate::blocks::Definitions;
use crate::output::Appender;
use crate::ring::{Consumed, Ring};
use crate::sink::FrameSink;
use crate::slots::Decoder;
use homenode_base::ring::BATCH_SLOTS;
use homenode_sys::clock;
use homenode_trace::Event;
use homenode_trace::frame::FrameEncoder;
use homenode_trace::framing::Codec;
use homenode_trace::writer::{Counts, EventFile, ThreadFile};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Stamps after which a frame ends although more references would fit: empty batches must not fill it. A batch of a ring may have as many as slots.
const STAMPS_MAX: u64 = 16_384 - BATCH_SLOTS;
/// Events after which a frame ends: bounds the memory of a recording that makes few references.
const EVENTS_MAX: usize = 16_384;

/// Why a thread could not be drained.
#[derive(Debug)]
pub(crate) enum DrainError {
    /// The ring contradicts itself; the dataset keeps what came before.
    Damaged(String),
    /// The dataset cannot be written.
    Write(io::Error),
}

impl std::fmt::Display for DrainError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DrainError::Damaged(why) => f.write_str(why),
            DrainError::Write(error) => error.fmt(f),
        }
    }
}

/// What all threads of a recording share while they are drained.
#[derive(Debug)]
pub(crate) struct Ledger {
    events: Mutex<EventFile<Appender>>,
    quota: AtomicU64,
    /// References recorded, all threads together.
    pub(crate) refs: AtomicU64,
    /// Bytes of frames written.
    pub(crate) bytes: AtomicU64,
    /// References found in rings that could not be recorded any more.
    pub(crate) dropped: AtomicU64,
    /// Writing failed: nothing more goes into the dataset.
    pub(crate) failed: AtomicBool,
}

impl Ledger {
    /// Allows `limit` references in all. A limit is exact only if one worker drains.
    pub(crate) fn new(events: EventFile<Appender>, limit: Option<u64>) -> Ledger {
        let quota = AtomicU64::new(limit.unwrap_or(u64::MAX));
        let [refs, bytes, dropped] = Default::default();
        Ledger { events: Mutex::new(events), quota, refs, bytes, dropped, failed: AtomicBool::new(false) }
    }
    /// Whether the limit is used up.
    pub(crate) fn exhausted(&self) -> bool {
        self.quota() == 0
    }
    fn quota(&self) -> u64 {
        self.quota.load(Ordering::Acquire)
    }
    /// Bytes of events so far.
    pub(crate) fn event_bytes(&self) -> u64 {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).bytes()
    }
    /// Takes note of the references that are in the dataset now.
    fn account(&self, sink: &FrameSink<'_>) {
        if self.quota() != u64::MAX {
            self.quota.fetch_sub(sink.stored, Ordering::AcqRel);
        }
        self.refs.fetch_add(sink.stored, Ordering::Relaxed);
    }
}

/// One thread of the dataset with its ring.
#[derive(Debug)]
pub(crate) struct ThreadDrain {
    /// Dataset thread id, which is the ring index.
    pub(crate) thread: u32,
    /// The ring.
    pub(crate) ring: Ring,
    /// What has been taken out of the ring.
    pub(crate) consumed: Consumed,
    /// References of the ring that are already in the dataset although its journal does not say so.
    pub(crate) skip_refs: u64,
    /// Likewise events.
    pub(crate) skip_events: u64,
    /// End of the last frame. Stamps below it (the producer was interrupted between reading the counter and writing its
    /// stamp) are raised to it: time never runs backwards within a thread.
    pub(crate) floor: u64,
    decoder: Decoder,
    /// What was put into the dataset; it counts spins from the beginning of this value only.
    out: ThreadFile<Appender>,
}

/// Buffers of a worker, used for one thread after another.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    encoder: FrameEncoder,
    frame: Vec<u8>,
    events: Vec<Event>,
}

/// Where a drain puts things: the recording's ledger, the worker's buffers, and a look at every event.
pub(crate) struct Target<'a> {
    pub(crate) ledger: &'a Ledger,
    pub(crate) buffers: &'a mut Buffers,
    pub(crate) see: &'a dyn Fn(&Event),
}

impl ThreadDrain {
    /// Starts where the ring's journal says.
    pub(crate) fn new(
        thread: u32,
        (ring, blocks): (Ring, Arc<Definitions>),
        out: ThreadFile<Appender>,
    ) -> io::Result<ThreadDrain> {
        let consumed = ring.consumed()?;
        let decoder = Decoder::with_blocks(blocks);
        Ok(ThreadDrain { thread, ring, consumed, skip_refs: 0, skip_events: 0, floor: 0, decoder, out })
    }

    /// Slots that wait; an impossible number if the producer's header is corrupt.
    pub(crate) fn backlog(&self) -> u64 {
        self.ring.head().wrapping_sub(self.consumed.tail)
    }
    /// Counts of the thread in the dataset.
    pub(crate) fn counts(&self) -> Counts {
        Counts { events: self.consumed.events + self.skip_events, ..self.out.counts() }
    }
    /// Batches with something that no producer writes.
    pub(crate) fn damaged(&self) -> u64 {
        self.decoder.damaged
    }

    /// Takes every whole batch out of the ring.
    pub(crate) fn drain(&mut self, target: &mut Target<'_>) -> Result<(), DrainError> {
        let head = self.checked(self.ring.head())?;
        self.drain_to(head, false, target)
    }
    /// Takes out all that is left, down to the last slot. Only for a producer that does not run any more.
    pub(crate) fn finish(&mut self, target: &mut Target<'_>) -> Result<(), DrainError> {
        self.ring.finish_block();
        if self.ring.has_side() {
            // What stands beside the ring has certainly room in it once that is empty.
            let head = self.checked(self.ring.final_head())?;
            self.drain_to(head, false, target)?;
            self.ring.append_side();
        }
        let head = self.checked(self.ring.final_head())?;
        self.drain_to(head, true, target)
    }
    fn checked(&self, head: u64) -> Result<u64, DrainError> {
        let tail = self.consumed.tail;
        match head.checked_sub(tail) {
            Some(backlog) if backlog <= self.ring.slots() => Ok(head),
            _ => Err(DrainError::Damaged(format!("its head is {head}, its tail {tail}"))),
        }
    }

    fn drain_to(&mut self, to: u64, last: bool, target: &mut Target<'_>) -> Result<(), DrainError> {
        while self.consumed.tail < to {
            let before = self.consumed.tail;
            self.frame(to, last, target)?;
            if self.consumed.tail == before {
                // Only an event is left whose text goes on in slots that are not there yet.
                break;
            }
        }
        Ok(())
    }

    /// Writes one frame and its events, then commits them in the ring.
    fn frame(&mut self, to: u64, last: bool, target: &mut Target<'_>) -> Result<(), DrainError> {
        let Target { ledger, buffers, see } = target;
        let Buffers { encoder, frame, events } = &mut **buffers;
        events.clear();
        self.out.begin(encoder);
        let failed = ledger.failed.load(Ordering::Acquire);
        let mut sink = FrameSink::new(self.thread, self.consumed, encoder, events);
        (sink.skip_refs, sink.skip_events) = (self.skip_refs, self.skip_events);
        (sink.quota, sink.keep_events) = (if failed { 0 } else { ledger.quota() }, !failed);
        sink.floor = self.floor;
        let at = self.fill(to, last, &mut sink);
        if sink.stored > 0 {
            let end = self.end_stamp(at, to, last);
            self.floor = end;
            let written = self.out.append(sink.encoder, (end, Codec::Lz4), sink.spins, frame);
            ledger.bytes.fetch_add(written.map_err(DrainError::Write)?, Ordering::Relaxed);
        }
        ledger.account(&sink);
        let written = ledger.events.lock().unwrap_or_else(PoisonError::into_inner).append(sink.events);
        if let Err(error) = written {
            // The references are in the dataset and the tail stays: whoever comes back here skips them.
            self.skip_refs += sink.stored;
            return Err(DrainError::Write(error));
        }
        sink.events.iter().for_each(see);
        ledger.dropped.fetch_add(sink.dropped, Ordering::Relaxed);
        (self.skip_refs, self.skip_events) = (sink.skip_refs, sink.skip_events);
        if at > self.consumed.tail {
            self.consumed = Consumed { tail: at, refs: sink.refs, events: sink.seen_events };
            self.ring.commit(self.consumed);
        }
        Ok(())
    }

    /// Decodes slots into the sink until the frame is full or `to` is reached; returns up to where.
    fn fill(&mut self, to: u64, last: bool, sink: &mut FrameSink<'_>) -> u64 {
        let mut at = self.consumed.tail;
        if let Some(stamp) = self.stamp_slot(at - at % BATCH_SLOTS).filter(|_| !at.is_multiple_of(BATCH_SLOTS)) {
            sink.begin_batch(stamp);
        }
        let mut batch = [[0; 2]; BATCH_SLOTS as usize];
        while at < to && sink.has_room(STAMPS_MAX, EVENTS_MAX) {
            let n = (BATCH_SLOTS - at % BATCH_SLOTS).min(to - at);
            let slots = &mut batch[..n as usize];
            if !self.ring.copy(at, slots) {
                break;
            }
            self.decoder.batch(at, slots, last && at + n == to, sink);
            at += n;
        }
        if last && at == to {
            self.decoder.flush(sink);
        } else if let Some(pending) = self.decoder.pending_at() {
            self.decoder.forget_pending();
            at = pending;
        }
        at
    }

    /// When the frame that stops before position `at` ended: the begin of the next batch, if that has one already.
    fn end_stamp(&self, at: u64, to: u64, last: bool) -> u64 {
        // Taken first: what the producer had not begun at that moment begins later.
        let now = clock::ticks();
        let next = match at < to {
            true => self.stamp_slot(at).filter(|_| at.is_multiple_of(BATCH_SLOTS)),
            false => self.ring.begun_behind(at),
        };
        match next {
            Some(stamp) => stamp,
            None if last || !at.is_multiple_of(BATCH_SLOTS) => self.decoder.last_stamp,
            None => now,
        }
        .max(self.floor)
    }
    fn stamp_slot(&self, at: u64) -> Option<u64> {
        self.ring.stamp(self.ring.offset(at))
    }
}
