//! Repetitions that a program left out of its ring ([`EVENT_REPEAT`]), as the blocks that they stand for. What a ring says may be anything.
use homenode_base::ring::*;

/// Most slots of a block.
const BLOCK_SLOTS: usize = block_slots(BLOCK_REFS_MAX) as usize;
/// Most slots that repetitions stand for: what a batch beside the ring has but its stamp.
const REPEATED_SLOTS: usize = BATCH_SLOTS as usize - 1;
/// References that a batch of a ring stands for, at most: all its slots but the stamp and a block are repetitions.
pub(crate) const REPEATED_REFS: u64 = (BATCH_SLOTS - 2) * BATCH_REFS + BLOCK_REFS_MAX;

/// What the repetitions in one batch of a ring refer to.
#[derive(Debug)]
pub(crate) struct Repeats {
    last: [[u64; 2]; BLOCK_SLOTS],
    /// Slots of `last`; 0 while there was no block.
    slots: usize,
    strides: [[u64; 2]; BLOCK_SLOTS],
    /// Header of the block that `strides` belong to; 0: none.
    header: u64,
}

impl Default for Repeats {
    fn default() -> Repeats {
        let [last, strides] = [[[0; 2]; BLOCK_SLOTS]; 2];
        Repeats { last, slots: 0, strides, header: 0 }
    }
}

impl Repeats {
    /// Another batch begins.
    pub(crate) fn clear(&mut self) {
        (self.slots, self.header) = (0, 0);
    }

    /// The last of these whole blocks is the one to be repeated.
    pub(crate) fn follow(&mut self, blocks: &[[u64; 2]]) {
        let mut rest = blocks;
        while let Some(refs) = rest.first().and_then(|slot| block_refs(slot[0])) {
            let slots = block_slots(refs) as usize;
            let Some((block, after)) = rest.split_at_checked(slots) else { return };
            if after.is_empty() {
                self.last[..slots].copy_from_slice(block);
                self.slots = slots;
            }
            rest = after;
        }
    }

    /// How many blocks the repetitions with which `slots` begin stand for. `None` if they are not whole or no producer writes them.
    pub(crate) fn begin(&mut self, slots: &[[u64; 2]]) -> Option<usize> {
        let [w0, first] = *slots.first()?;
        let (n, given) = ((w0 & W0_ADDR_MASK) as usize, (w0 >> W0_SIZE_SHIFT & 15) as usize);
        let size = self.slots;
        if size == 0 || n > REPEATED_SLOTS / size {
            return None;
        }
        let header = self.last[0][0];
        if given + 1 == size {
            self.strides[1..size].copy_from_slice(slots.get(1..size)?);
            self.header = header;
        } else if given > 0 || self.header != header {
            return None;
        }
        self.strides[0] = [0, first];
        Some(n)
    }

    /// The block before, and its strides.
    pub(crate) fn last(&self) -> (&[[u64; 2]], &[[u64; 2]]) {
        (&self.last[..self.slots], &self.strides[..self.slots])
    }

    /// Goes on by `n` blocks.
    pub(crate) fn advance(&mut self, n: usize) {
        let words = self.last[..self.slots].as_flattened_mut().iter_mut().zip(self.strides.as_flattened());
        words.for_each(|(last, stride)| *last = last.wrapping_add(stride.wrapping_mul(n as u64)));
    }
}
