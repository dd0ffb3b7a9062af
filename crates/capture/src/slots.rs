//! Ring slots to references and events. The slots come from another process and may be anything.
use crate::blocks::{Blocks, Definitions};
use crate::repeats::Repeats;
use crate::sink::Sink;
use homenode_base::CpuMask;
use homenode_base::ring::*;
use homenode_trace::event::{AffinityHow, AllocSource, EventKind, SyncKind};
use homenode_trace::record::Op;
use std::sync::Arc;

/// Decodes batches of one ring.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// Latest stamp seen, in whatever slot.
    pub(crate) last_stamp: u64,
    /// Slots that no producer writes; what follows them in their batch is skipped.
    pub(crate) damaged: u64,
    pending: Option<Pending>,
    blocks: Blocks,
    repeats: Repeats,
}

/// An event whose text may go on in the next slots.
#[derive(Debug)]
struct Pending {
    at: u64,
    kind: u64,
    words: [u64; 2],
    text: Vec<u8>,
}

/// Longest text of one event that is put together again: a path of PATH_MAX.
const TEXT_MAX: usize = 4096;

impl Decoder {
    /// A decoder of the slots of programs that write blocks.
    pub(crate) fn with_blocks(definitions: Arc<Definitions>) -> Decoder {
        Decoder { blocks: Blocks::defined_by(definitions), ..Decoder::default() }
    }
    /// Decodes `slots`, which begin at ring position `at` and lie in one batch. With `last`, the batch may end in the middle
    /// of an event, because its producer is dead; what is incomplete is left out.
    #[inline]
    pub(crate) fn batch(&mut self, at: u64, slots: &[[u64; 2]], last: bool, sink: &mut impl Sink) {
        let mut i = 0;
        let mut blocks = 0..0;
        self.repeats.clear();
        while let Some(&[w0, w1]) = slots.get(i) {
            if w0 & (W0_EVENT | 0xff << W0_KIND_SHIFT) == W0_EVENT | EVENT_REPEAT << W0_KIND_SHIFT {
                self.repeats.follow(&slots[std::mem::take(&mut blocks)]);
                match self.repeat(&slots[i..], sink) {
                    Some(used) => i += used,
                    None => return self.damaged += 1,
                }
                continue;
            }
            if w0 == W0_EVENT | EVENT_STAMP << W0_KIND_SHIFT {
                self.last_stamp = w1;
                sink.stamp(w1);
                i += 1;
                continue;
            }
            if w0 & W0_EVENT != 0 {
                match self.event(at + i as u64, &slots[i..], sink) {
                    Some(0) => return,
                    Some(used) => i += used,
                    None => return self.damaged += u64::from(!last),
                }
                continue;
            }
            if self.pending.is_some() {
                self.flush(sink);
            }
            if w0 & W0_BLOCK != 0 {
                match sink.blocks(&slots[i..], &mut self.blocks) {
                    0 => return self.damaged += u64::from(!last),
                    used => blocks = i..i + used,
                }
                i = blocks.end;
                continue;
            }
            let taken = sink.run(&slots[i..]);
            if taken > 0 {
                i += taken;
                continue;
            }
            let code = w0 >> W0_SIZE_SHIFT & 15;
            let mut size = 1u32 << (code & 7);
            i += 1;
            if code > 6 {
                let Some(length) = slots.get(i).filter(|_| code == SIZE_RANGE) else {
                    return self.damaged += u64::from(!last || code != SIZE_RANGE);
                };
                size = u32::try_from(length[0]).unwrap_or(u32::MAX).max(1);
                i += 1;
            }
            let op = Op::ALL[(w0 >> W0_OP_SHIFT & 3) as usize];
            sink.reference(w0 & W0_ADDR_MASK, size, op, w1 & W1_PC_MASK);
        }
    }

    /// The ring position of an event whose text may still go on: what comes later must be decoded together with it.
    pub(crate) fn pending_at(&self) -> Option<u64> {
        self.pending.as_ref().map(|p| p.at)
    }
    /// Forgets the pending event, which will be decoded again.
    pub(crate) fn forget_pending(&mut self) {
        self.pending = None;
    }
    /// Nothing follows: the pending event is whole.
    pub(crate) fn flush(&mut self, sink: &mut impl Sink) {
        let Some(p) = self.pending.take() else { return };
        let end = p.text.iter().position(|&b| b == 0).unwrap_or(p.text.len());
        let text = String::from_utf8_lossy(&p.text[..end]).into_owned();
        let kind = match p.kind {
            EVENT_MODULE => EventKind::Module { bias: p.words[0] & W0_ADDR_MASK, bytes: p.words[1], path: text },
            EVENT_PHASE_BEGIN => EventKind::PhaseBegin { name: text },
            _ => EventKind::PhaseEnd { name: text },
        };
        sink.event(kind, 0);
    }

    /// The repetitions at the start of `slots`; returns how many slots say so, `None` if no producer writes this.
    fn repeat(&mut self, slots: &[[u64; 2]], sink: &mut impl Sink) -> Option<usize> {
        if self.pending.is_some() {
            self.flush(sink);
        }
        let mut left = self.repeats.begin(slots)?;
        while left > 0 {
            let (before, strides) = self.repeats.last();
            let taken = sink.repeats(before, strides, left);
            self.repeats.advance(taken.max(1));
            let (block, _) = self.repeats.last();
            if taken == 0 && sink.blocks(block, &mut self.blocks) != block.len() {
                return None;
            }
            left -= taken.max(1);
        }
        Some(1 + (slots[0][0] >> W0_SIZE_SHIFT & 15) as usize)
    }

    /// Decodes the event at the start of `slots`; returns how many slots it took, 0 for "the rest of the batch is padding",
    /// `None` if it is not wholly there.
    #[inline(never)]
    fn event(&mut self, at: u64, slots: &[[u64; 2]], sink: &mut impl Sink) -> Option<usize> {
        let [w0, w1] = slots[0];
        let payload = slots.get(1..1 + (w0 >> W0_SIZE_SHIFT & 15) as usize)?;
        let used = payload.len() + 1;
        match w0 >> W0_KIND_SHIFT {
            EVENT_PAD => return Some(0),
            EVENT_MORE => {
                let pending = self.pending.as_mut().filter(|p| p.text.len() < TEXT_MAX);
                pending.into_iter().for_each(|p| p.text.extend(payload.iter().flatten().flat_map(|w| w.to_le_bytes())));
                return Some(used);
            }
            _ => self.flush(sink),
        }
        match w0 >> W0_KIND_SHIFT {
            kind @ (EVENT_MODULE | EVENT_PHASE_BEGIN | EVENT_PHASE_END) => {
                let text = payload.iter().flatten().flat_map(|w| w.to_le_bytes()).collect();
                self.pending = Some(Pending { at, kind, words: [w0, w1], text });
            }
            kind => {
                let (event, stamp) = plain_event(kind, w0 & W0_ADDR_MASK, w1, payload)?;
                self.last_stamp = self.last_stamp.max(stamp);
                event.into_iter().for_each(|e| sink.event(e, stamp));
            }
        }
        Some(used)
    }
}

/// An event without text, and its stamp; the inner `None` is an event that datasets do not have (realloc: the free and the
/// allocation stand beside it) or that a later runtime writes.
fn plain_event(kind: u64, addr: u64, w1: u64, payload: &[[u64; 2]]) -> Option<(Option<EventKind>, u64)> {
    let slot = |i: usize| payload.get(i).copied();
    let event = match kind {
        EVENT_RELEASE | EVENT_ACQUIRE | EVENT_ACQ_REL => {
            let [epoch, stamp] = slot(0)?;
            return Some((Some(synchronisation(kind, addr, epoch, w1)), stamp));
        }
        EVENT_SPAWN => {
            let child = u32::try_from(addr).ok().filter(|&c| c < RINGS_MAX);
            return Some((child.map(|child| EventKind::Spawn { child }), w1));
        }
        EVENT_EXIT => return Some((Some(EventKind::Exit), w1)),
        EVENT_ALLOC => {
            let [how, depth] = slot(0)?;
            let stack =
                payload[1..].iter().flatten().copied().take(depth.min(2 * EVENT_PAYLOAD_MAX) as usize).collect();
            EventKind::Alloc { addr, bytes: w1, source: source(how), stack }
        }
        EVENT_FREE => EventKind::Free { addr },
        EVENT_MAP => {
            let ([protection, _], [device, inode]) = (slot(0)?, slot(1)?);
            // Only a mapping whose memory other processes may have says where in it it begins.
            let offset = slot(2).map(|[offset, _]| offset);
            let (prot, flags) = ((protection >> 32) as u32, protection as u32);
            EventKind::Map { addr, bytes: w1, prot, flags, device, inode, offset }
        }
        EVENT_UNMAP => EventKind::Unmap { addr, bytes: w1 },
        EVENT_PROCESS => {
            // Programs that were linked before have no stamp there.
            let stamp = slot(0).map_or(0, |[_, stamp]| stamp);
            return Some((Some(EventKind::Process { pid: addr as u32, parent: w1 as u32 }), stamp));
        }
        EVENT_AFFINITY => return Some((affinity(addr, w1, payload), 0)),
        EVENT_NO_WAIT => EventKind::NoWait { reads: w1 },
        EVENT_WAITED => EventKind::Waited { pid: addr as u32 },
        _ => return Some((None, 0)),
    };
    Some((Some(event), 0))
}

/// `word`: kind of synchronisation and sequence number. A kind that only a later runtime has is one that is not known.
fn synchronisation(kind: u64, object: u64, epoch: u64, word: u64) -> EventKind {
    let parties = (epoch >> BARRIER_PARTIES_SHIFT) as u32;
    let sync = SyncKind::of_code((word >> SYNC_SHIFT) as u8, parties).unwrap_or_default();
    let epoch = if sync.is_barrier() { epoch & BARRIER_GENERATION_MASK } else { epoch };
    let seq = word & SYNC_SEQ_MASK;
    match kind {
        EVENT_RELEASE => EventKind::Release { object, epoch, seq, sync },
        EVENT_ACQUIRE => EventKind::Acquire { object, epoch, seq, sync },
        _ => EventKind::AcqRel { object, epoch, seq, sync },
    }
}

fn affinity(target: u64, how: u64, payload: &[[u64; 2]]) -> Option<EventKind> {
    let target = u32::try_from(target).ok().filter(|&t| t < RINGS_MAX)?;
    let how = match how {
        AFFINITY_CALL => AffinityHow::Call,
        AFFINITY_SEEN => AffinityHow::Seen,
        AFFINITY_INHERITED => AffinityHow::Inherited,
        _ => return None,
    };
    let words: Vec<u64> = payload.iter().flatten().copied().collect();
    Some(EventKind::Affinity { target, how, cpus: CpuMask::from_words(&words) })
}

fn source(code: u64) -> AllocSource {
    match code {
        1 => AllocSource::Stack,
        2 => AllocSource::Map,
        3 => AllocSource::Shared,
        _ => AllocSource::Heap,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_base::Rng;

    /// Counts what it is given.
    #[derive(Default)]
    struct Counter {
        refs: usize,
        events: usize,
        stamps: usize,
    }
    impl Sink for Counter {
        fn stamp(&mut self, _ticks: u64) {
            self.stamps += 1;
        }
        fn run(&mut self, slots: &[[u64; 2]]) -> usize {
            let n = slots.iter().map_while(homenode_trace::frame::RawRef::of_slot).count();
            self.refs += n;
            n
        }
        fn reference(&mut self, _addr: u64, size: u32, _op: Op, _pc: u64) {
            assert!(size > 0);
            self.refs += 1;
        }
        fn event(&mut self, _kind: EventKind, _stamp: u64) {
            self.events += 1;
        }
    }

    #[test]
    fn any_slots_at_all_are_decoded_without_panic_and_never_to_more_than_they_are() {
        let mut rng = Rng::new(5);
        for _ in 0..20_000 {
            let n = 1 + rng.below(BATCH_SLOTS) as usize;
            let kind = |r: &mut Rng| match r.below(3) {
                0 => r.next_u64(),
                1 => W0_EVENT | r.below(20) << W0_KIND_SHIFT | r.below(16) << W0_SIZE_SHIFT | r.below(1 << 40),
                _ => r.below(16) << W0_SIZE_SHIFT | r.below(1 << 40),
            };
            let slots: Vec<[u64; 2]> = (0..n).map(|_| [kind(&mut rng), rng.next_u64()]).collect();
            let (mut decoder, mut sink) = (Decoder::default(), Counter::default());
            decoder.batch(0, &slots, rng.below(2) == 0, &mut sink);
            decoder.flush(&mut sink);
            assert!(sink.refs + sink.events + sink.stamps <= n);
        }
    }

    #[test]
    fn half_an_event_at_the_end_is_left_out_and_is_damage_only_while_the_producer_lives() {
        let range = [SIZE_RANGE << W0_SIZE_SHIFT | 0x1000, 0x40];
        let release = [W0_EVENT | EVENT_RELEASE << W0_KIND_SHIFT | 1 << W0_SIZE_SHIFT | 0x10, 1];
        for cut in [range, release] {
            for (last, damaged) in [(true, 0), (false, 1)] {
                let (mut decoder, mut sink) = (Decoder::default(), Counter::default());
                decoder.batch(0, &[[0x2000, 0x40], cut], last, &mut sink);
                assert_eq!((sink.refs, sink.events, decoder.damaged), (1, 0, damaged));
            }
        }
    }
}
