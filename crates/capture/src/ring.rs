//! One ring, seen from the consumer.
use crate::control::{Control, Entry};
use homenode_base::ring::*;
use homenode_sys::futex;
use homenode_sys::map::SharedMap;
use std::io;
use std::sync::atomic::Ordering;

const IN_FILE: &str = "every header field lies inside the header, whose size `open` checked";

/// A mapped ring file whose header has been checked.
#[derive(Debug)]
pub(crate) struct Ring {
    map: SharedMap,
    slots: u64,
    base: u64,
}

/// References and events that stand before a tail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Consumed {
    /// Slots.
    pub(crate) tail: u64,
    /// References (spins included) among them.
    pub(crate) refs: u64,
    /// Events among them, stamps and padding excluded.
    pub(crate) events: u64,
}

fn invalid(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.into())
}

impl Ring {
    /// Maps the ring file of entry `index`.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if the header contradicts the entry, the layout or itself.
    pub(crate) fn open(control: &Control, index: u32, entry: &Entry) -> io::Result<Ring> {
        let bytes = entry.bytes;
        if !bytes.is_power_of_two() || !(RING_BYTES_MIN..=RING_BYTES_MAX).contains(&bytes) {
            return Err(invalid(format!("the table says {bytes} bytes, which no ring has")));
        }
        let map = SharedMap::of_file(&control.ring_file(index)?, RING_HEADER_BYTES + bytes, true)?;
        let word = |offset| map.load_u64(offset).expect(IN_FILE);
        if word(RING_OFF_MAGIC) != RING_MAGIC || word(RING_OFF_BYTES) != bytes {
            return Err(invalid("the header is not that of a ring of this size"));
        }
        if map.load_u32(RING_OFF_INDEX) != Some(index) {
            return Err(invalid("the header has another index"));
        }
        let base = word(RING_OFF_BASE);
        if base.checked_add(bytes).is_none() {
            return Err(invalid("the header has an impossible base address"));
        }
        Ok(Ring { slots: bytes / SLOT_BYTES, base, map })
    }

    /// Slots of the ring.
    pub(crate) fn slots(&self) -> u64 {
        self.slots
    }
    /// Slots complete while the producer runs: everything before its current batch.
    pub(crate) fn head(&self) -> u64 {
        self.head_word().slots
    }
    fn head_word(&self) -> RingHead {
        RingHead::of(self.load(RING_OFF_BATCH_HEAD))
    }
    /// What changes while the producer writes.
    pub(crate) fn progress(&self) -> (u64, u64) {
        (self.load(RING_OFF_BATCH_HEAD), self.load(RING_OFF_CURSOR))
    }
    /// Slots in the ring once the producer no longer runs, the begun batch included, but for [`Ring::append_side`].
    pub(crate) fn final_head(&self) -> u64 {
        let bytes = self.slots * SLOT_BYTES;
        slots_written(self.load(RING_OFF_BATCH_HEAD), self.load(RING_OFF_CURSOR), self.base, bytes)
    }
    /// Whether the producer writes beside the ring.
    pub(crate) fn has_side(&self) -> bool {
        self.head_word().side > 0
    }
    /// When the batch was begun that follows position `at`, up to which everything was taken out of the ring; `None` if none was. The producer may run.
    pub(crate) fn begun_behind(&self, at: u64) -> Option<u64> {
        // The producer may move the batch meanwhile, which is then found in the ring.
        for _ in 0..3 {
            let word = self.load(RING_OFF_BATCH_HEAD);
            let head = RingHead::of(word);
            let cursor = self.load(RING_OFF_CURSOR);
            if at.is_multiple_of(BATCH_SLOTS) && slots_written(word, cursor, self.base, self.slots * SLOT_BYTES) > at {
                return self.stamp(self.offset(at));
            }
            let stamp = head.side_offset().filter(|_| head.beside(cursor, self.base) > 0).map(|side| self.stamp(side));
            if self.load(RING_OFF_BATCH_HEAD) == word {
                return stamp.flatten();
            }
        }
        None
    }
    /// The time in the stamp at this byte of the file.
    pub(crate) fn stamp(&self, offset: u64) -> Option<u64> {
        let mut slot = [[0; 2]];
        let [[w0, w1]] = if self.map.copy_slots(offset, &mut slot) { slot } else { return None };
        (w0 & W0_EVENT != 0 && w0 >> W0_KIND_SHIFT == EVENT_STAMP).then_some(w1)
    }
    /// Moves the batch that a dead producer has begun beside the ring into the ring, what it has stored of a block included. Once or any number
    /// of times, but only when all that was in the ring before is taken out of it.
    pub(crate) fn append_side(&self) {
        let head = self.head_word();
        let Some(side) = head.side_offset() else { return };
        let mut slots = [[0; 2]; BATCH_SLOTS as usize];
        let mut written = head.beside(self.load(RING_OFF_CURSOR), self.base);
        if written == 0 || !self.map.copy_slots(side, &mut slots) {
            return;
        }
        if let Some((header, used)) = begun(&slots[written as usize..]) {
            slots[written as usize][0] = header;
            written += used;
        }
        if (1..BATCH_SLOTS).contains(&head.kept) {
            self.store(self.offset(head.slots + head.kept), W0_EVENT | EVENT_PAD << W0_KIND_SHIFT);
        }
        let begin = head.slots + if head.kept > 0 { BATCH_SLOTS } else { 0 };
        for (slot, [w0, w1]) in (begin..begin + written).zip(slots) {
            self.store(self.offset(slot), w0);
            self.store(self.offset(slot) + 8, w1);
        }
        // The cursor does not stand in the other batch: nothing is there any more.
        let moved = RingHead { slots: begin, kept: written, side: 3 - head.side };
        self.store(RING_OFF_BATCH_HEAD, moved.word());
    }
    /// Makes what a dead producer has stored of a block in the ring a whole one. Once or any number of times.
    pub(crate) fn finish_block(&self) {
        if self.has_side() {
            return;
        }
        let written = self.final_head();
        let left = (BATCH_SLOTS - written % BATCH_SLOTS) % BATCH_SLOTS;
        let mut slots = [[0; 2]; BATCH_SLOTS as usize];
        let slots = &mut slots[..left as usize];
        if !self.copy(written, slots) {
            return;
        }
        if let Some((header, used)) = begun(slots) {
            self.store(self.offset(written), header);
            self.store(RING_OFF_CURSOR, self.load(RING_OFF_CURSOR).wrapping_add(used * SLOT_BYTES));
        }
    }
    /// What this side has consumed, by the valid record of the journal.
    pub(crate) fn consumed(&self) -> io::Result<Consumed> {
        let tail = self.load(RING_OFF_TAIL);
        let record = (0..2).map(journal_at).find(|&at| self.load(at) == tail);
        let at = record.ok_or_else(|| invalid("the journal has no record of the tail"))?;
        Ok(Consumed { tail, refs: self.load(at + 8), events: self.load(at + 16) })
    }
    /// Copies the `out.len()` slots from position `from` on, which may not wrap around the end of the ring.
    #[inline]
    pub(crate) fn copy(&self, from: u64, out: &mut [[u64; 2]]) -> bool {
        self.map.copy_slots(self.offset(from), out)
    }
    /// The byte of the file at which a slot stands.
    #[inline]
    pub(crate) fn offset(&self, slot: u64) -> u64 {
        RING_HEADER_BYTES + slot % self.slots * SLOT_BYTES
    }
    /// Publishes that everything before `consumed.tail` is in the dataset, and wakes the producer if it waits for space.
    pub(crate) fn commit(&self, consumed: Consumed) {
        let old_tail = self.load(RING_OFF_TAIL);
        let at = if self.load(journal_at(0)) == old_tail { journal_at(1) } else { journal_at(0) };
        // Killed anywhere in here, the ring still has the record of the tail that stands in it.
        for (offset, value) in
            [(at, u64::MAX), (at + 8, consumed.refs), (at + 16, consumed.events), (at, consumed.tail)]
        {
            self.store(offset, value);
        }
        self.store(RING_OFF_TAIL, consumed.tail);
        self.wake();
    }
    /// Wakes the producer if it sleeps for space: after the tail moved, or because recording stopped.
    pub(crate) fn wake(&self) {
        let space = self.map.u32_mut(RING_OFF_SPACE).expect(IN_FILE);
        space.fetch_add(1, Ordering::SeqCst);
        if self.is_waiting() {
            futex::wake_all(space);
        }
    }
    /// Throws away what the producer has written, without the journal: nothing of it is in the dataset.
    pub(crate) fn discard(&self) {
        self.store(RING_OFF_TAIL, self.head());
        self.wake();
    }
    /// Whether the producer sleeps for space.
    pub(crate) fn is_waiting(&self) -> bool {
        self.map.load_u32(RING_OFF_WAITING) == Some(1)
    }

    fn load(&self, offset: u64) -> u64 {
        self.map.load_u64(offset).expect(IN_FILE)
    }
    fn store(&self, offset: u64, value: u64) {
        self.map.u64_mut(offset).expect(IN_FILE).store(value, Ordering::Release);
    }
}

/// The block that a dead producer has begun in these slots, the rest of its batch: its header and how many slots it has.
fn begun(slots: &[[u64; 2]]) -> Option<(u64, u64)> {
    let header = block_begun(slots)?;
    let used = block_slots(header >> W0_KIND_SHIFT);
    (used <= slots.len() as u64).then_some((header, used))
}

fn journal_at(record: u64) -> u64 {
    RING_OFF_JOURNAL + record * RING_JOURNAL_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring in memory whose thread had this head, and beside it `written` slots of a batch and a begun block.
    fn ring(head: RingHead, written: u64) -> Ring {
        let file = tempfile::tempfile().unwrap();
        file.set_len(RING_HEADER_BYTES + RING_BYTES_MIN).unwrap();
        let map = SharedMap::of_file(&file, RING_HEADER_BYTES + RING_BYTES_MIN, true).unwrap();
        let ring = Ring { map, slots: RING_BYTES_MIN / SLOT_BYTES, base: 0x7000_0000_1000 };
        let side = head.side_offset().unwrap();
        ring.store(RING_OFF_BATCH_HEAD, head.word());
        ring.store(RING_OFF_CURSOR, ring.base - RING_HEADER_BYTES + side + written * SLOT_BYTES);
        ring.store(side, W0_EVENT | EVENT_STAMP << W0_KIND_SHIFT);
        (1..written).for_each(|slot| ring.store(side + slot * SLOT_BYTES, 0x1000 + slot));
        let begun = side + written * SLOT_BYTES;
        [W0_BLOCK | 5 << W0_KIND_SHIFT | 7, 0x2000, 0x3000].iter().enumerate().for_each(|(i, word)| {
            ring.store(begun + 8 * i as u64, *word);
        });
        ring
    }

    #[test]
    fn a_batch_beside_a_ring_is_moved_once_however_often_that_is_begun() {
        for (kept, side, written) in [(0, 1, 1), (20, 2, 30), (64, 1, 61), (1, 2, 3)] {
            let head = RingHead { slots: 3 * BATCH_SLOTS, kept, side };
            let begin = (head.slots + kept).next_multiple_of(BATCH_SLOTS);
            let ring = ring(head, written);
            assert!(ring.has_side() && ring.begun_behind(head.slots + kept) == Some(0));
            for _ in 0..2 {
                ring.append_side();
                assert_eq!(ring.final_head(), begin + written + 2, "two of five addresses were stored");
                let mut slots = vec![[0; 2]; written as usize + 2];
                assert!(ring.copy(begin, &mut slots));
                assert!((1..written).all(|slot| slots[slot as usize][0] == 0x1000 + slot));
                let block = [[W0_BLOCK | 2 << W0_KIND_SHIFT | 7, 0x2000], [0x3000, 0]];
                assert_eq!(slots[written as usize..], block);
            }
            if (1..BATCH_SLOTS).contains(&kept) {
                let mut pad = [[0; 2]];
                assert!(ring.copy(head.slots + kept, &mut pad) && pad[0][0] == W0_EVENT | EVENT_PAD << W0_KIND_SHIFT);
            }
        }
    }

    #[test]
    fn a_recorder_killed_while_it_moves_a_batch_moves_it_again() {
        let head = RingHead { slots: 3 * BATCH_SLOTS, kept: 20, side: 1 };
        let ring = ring(head, 30);
        ring.append_side();
        // All its stores but the last, which makes the others true.
        ring.store(RING_OFF_BATCH_HEAD, head.word());
        assert_eq!(ring.final_head(), head.slots + 20);
        ring.append_side();
        assert_eq!(ring.final_head(), 4 * BATCH_SLOTS + 32);
    }
}
