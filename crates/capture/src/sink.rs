//! Takes decoded slots into a frame and a list of events, within a quota.
use crate::blocks::Blocks;
use crate::repeats::REPEATED_REFS;
use crate::ring::Consumed;
use homenode_base::ring::BATCH_REFS;
use homenode_trace::Event;
use homenode_trace::event::EventKind;
use homenode_trace::frame::FrameEncoder;
use homenode_trace::record::Op;

/// Takes what a ring says, in program order.
pub(crate) trait Sink {
    /// A batch begins.
    fn stamp(&mut self, ticks: u64);
    /// The references that `slots` begins with and that each fill a slot ([`homenode_trace::frame::RawRef::of_slot`]); returns how
    /// many it took, which may be none.
    fn run(&mut self, slots: &[[u64; 2]]) -> usize;
    /// The blocks of references that `slots` begins with; returns how many slots it took, 0 if the first is not whole or `blocks` does
    /// not know it.
    fn blocks(&mut self, slots: &[[u64; 2]], blocks: &mut Blocks) -> usize {
        one_by_one(slots, blocks, self)
    }
    /// Up to `most` repetitions of the block `before` with these `strides` ([`FrameEncoder::extend_repeats`]); returns how many it took, which
    /// may be none.
    fn repeats(&mut self, _before: &[[u64; 2]], _strides: &[[u64; 2]], _most: usize) -> usize {
        0
    }
    /// A reference.
    fn reference(&mut self, addr: u64, size: u32, op: Op, pc: u64);
    /// An event; `stamp` is 0 where the slot has none.
    fn event(&mut self, kind: EventKind, stamp: u64);
}

/// The references of the blocks that `slots` begins with; how many slots they take.
fn one_by_one(slots: &[[u64; 2]], blocks: &mut Blocks, sink: &mut (impl Sink + ?Sized)) -> usize {
    let mut at = 0;
    while let Some((refs, used)) = blocks.expand(&slots[at..]) {
        refs.for_each(|r| sink.reference(r.addr, r.size, r.op, r.pc));
        at += used;
    }
    at
}

/// Sink of decoded slots: a frame and a list of events, filled within a quota.
pub(crate) struct FrameSink<'a> {
    pub(crate) encoder: &'a mut FrameEncoder,
    pub(crate) events: &'a mut Vec<Event>,
    thread: u32,
    /// References of the thread in the dataset up to here, skipped ones included.
    pub(crate) refs: u64,
    /// Events of the thread in the dataset up to here, skipped ones included.
    pub(crate) seen_events: u64,
    /// References still to be passed over because the dataset has them.
    pub(crate) skip_refs: u64,
    /// Likewise events.
    pub(crate) skip_events: u64,
    /// References that may be stored.
    pub(crate) quota: u64,
    /// Whether events are kept.
    pub(crate) keep_events: bool,
    /// References put into the frame.
    pub(crate) stored: u64,
    /// Of these, spins.
    pub(crate) spins: u64,
    /// References beyond the quota.
    pub(crate) dropped: u64,
    /// Earliest stamp that a batch may have.
    pub(crate) floor: u64,
    stamps: u64,
}

impl<'a> FrameSink<'a> {
    /// A sink for what follows `before`, without quota.
    pub(crate) fn new(
        thread: u32,
        before: Consumed,
        encoder: &'a mut FrameEncoder,
        events: &'a mut Vec<Event>,
    ) -> FrameSink<'a> {
        FrameSink {
            encoder,
            events,
            thread,
            refs: before.refs,
            seen_events: before.events,
            skip_refs: 0,
            skip_events: 0,
            quota: 0,
            keep_events: false,
            stored: 0,
            spins: 0,
            dropped: 0,
            floor: 0,
            stamps: 0,
        }
    }
    /// Whether another batch certainly fits.
    pub(crate) fn has_room(&self, stamps: u64, events: usize) -> bool {
        self.encoder.room() >= REPEATED_REFS as usize && self.stamps < stamps && self.events.len() < events
    }
    /// Begins a batch in the frame.
    pub(crate) fn begin_batch(&mut self, ticks: u64) {
        self.stamps += 1;
        self.floor = self.floor.max(ticks);
        self.encoder.stamp(self.floor);
    }
    #[cold]
    #[inline(never)]
    fn unwanted(&mut self) {
        if self.skip_refs > 0 {
            self.skip_refs -= 1;
            self.refs += 1;
        } else {
            self.dropped += 1;
        }
    }
}

impl Sink for FrameSink<'_> {
    fn stamp(&mut self, ticks: u64) {
        self.begin_batch(ticks);
    }
    #[inline]
    fn run(&mut self, slots: &[[u64; 2]]) -> usize {
        if self.skip_refs > 0 || self.quota - self.stored < slots.len() as u64 {
            return 0;
        }
        // `has_room` was asked before the batch, so the encoder takes all that it is given.
        let (taken, spins) = self.encoder.extend_slots(slots);
        self.refs += taken as u64;
        self.stored += taken as u64;
        self.spins += spins;
        taken
    }
    fn blocks(&mut self, slots: &[[u64; 2]], blocks: &mut Blocks) -> usize {
        if self.skip_refs == 0 && self.quota - self.stored >= BATCH_REFS {
            // `has_room` was asked before the batch, so the encoder takes all that it is given.
            let (used, taken) = self.encoder.extend_blocks(slots, blocks);
            self.refs += taken as u64;
            self.stored += taken as u64;
            return used;
        }
        one_by_one(slots, blocks, self)
    }
    fn repeats(&mut self, before: &[[u64; 2]], strides: &[[u64; 2]], most: usize) -> usize {
        if self.skip_refs > 0 || self.quota - self.stored < BATCH_REFS {
            return 0;
        }
        let already = self.encoder.len();
        let taken = self.encoder.extend_repeats(before, strides, most);
        let refs = (self.encoder.len() - already) as u64;
        self.refs += refs;
        self.stored += refs;
        taken
    }
    #[inline]
    fn reference(&mut self, addr: u64, size: u32, op: Op, pc: u64) {
        if self.skip_refs > 0 || self.stored >= self.quota {
            return self.unwanted();
        }
        // `has_room` was asked before the batch, so the encoder takes it.
        self.encoder.push(addr, size, op, pc);
        self.refs += 1;
        self.stored += 1;
        self.spins += u64::from(op == Op::Spin);
    }
    fn event(&mut self, kind: EventKind, stamp: u64) {
        if self.skip_events > 0 {
            self.skip_events -= 1;
        } else if self.keep_events {
            self.events.push(Event { thread: self.thread, at: self.refs, stamp, kind });
        } else {
            return;
        }
        self.seen_events += 1;
    }
}
