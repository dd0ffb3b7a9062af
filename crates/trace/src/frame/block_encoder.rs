//! Blocks of references straight from the recorder's rings (`homenode_base::ring`, `W0_BLOCK`).
//!
//! Keys of a block follow each other in the key table and in the program, so once their successors are predicted (the block is
//! *linked*) one look at the first key stands for all, and as long as a block follows itself with the expected addresses an
//! iteration is a comparison of so many slots. Frames are those of the references one by one.
use super::FRAME_REFS_MAX;
use super::blocks::{ITERATIONS, Known, MISSED};
use super::encoder::{FrameEncoder, RawRef};
use super::predict::Entry;
use homenode_base::ring::{W0_ADDR_MASK, block_refs, block_slots};

/// What the references of blocks are.
pub trait BlockRefs {
    /// The references of the block with this header: their slots without the addresses, which are no spins.
    fn refs_of(&mut self, header: u64) -> Option<&[[u64; 2]]>;
}

impl FrameEncoder {
    /// Appends the blocks that `slots` of a ring begin with, as long as they are whole and the frame has room. `definitions` says
    /// what their references are. Returns how many slots and how many references were taken. The frame is the same as with [`FrameEncoder::extend`].
    pub fn extend_blocks(&mut self, slots: &[[u64; 2]], definitions: &mut impl BlockRefs) -> (usize, usize) {
        self.end_cycle();
        let start = self.hot.refs;
        let mut at = 0;
        while let Some(&[header, _]) = slots.get(at) {
            let Some(refs) = block_refs(header) else { break };
            let (refs, used) = (refs as usize, block_slots(refs) as usize);
            let Some(block) = slots.get(at..at + used).filter(|_| self.hot.refs + refs <= FRAME_REFS_MAX) else {
                break;
            };
            let place = self.blocks.find(header);
            let known = &self.blocks.known[place];
            if known.linked == self.blocks.linked() {
                let known = *known;
                // Where its addresses are hardly ever all predicted, that is not asked first.
                let iterations = if known.missed < MISSED { self.iterations(&known, &slots[at..]) } else { 0 };
                let predicted = iterations > 0 || self.linked_block(&known, block);
                if predicted != (known.missed == 0) {
                    self.blocks.known[place].missed = if predicted { 0 } else { MISSED.min(known.missed + 1) };
                }
                at += used * iterations.max(1);
            } else {
                let whole = |d: &&[[u64; 2]]| d.iter().all(|slot| RawRef::of_slot(slot).is_some());
                let definition = definitions.refs_of(header).and_then(|d| d.get(..refs)).filter(whole);
                let Some(definition) = definition else { break };
                self.block(place, definition, block);
                at += used;
            }
        }
        (at, self.hot.refs - start)
    }

    /// Appends up to `most` blocks of which each has the addresses of the one before plus `strides` (0 in place of the header), the first those of
    /// `before`, as far as that is what is predicted: then it is one addition for all. Returns how many.
    pub fn extend_repeats(&mut self, before: &[[u64; 2]], strides: &[[u64; 2]], most: usize) -> usize {
        self.end_cycle();
        let Some(refs) = before.first().and_then(|slot| block_refs(slot[0])) else { return 0 };
        let refs = refs as usize;
        let place = self.blocks.find_again(before[0][0]);
        let Known { base, linked, .. } = self.blocks.known[place];
        let words = [before, strides].map(|slots| slots.as_flattened().get(1..=refs));
        let [Some(before), Some(strides)] = words else { return 0 };
        let first = usize::from(base);
        if linked != self.blocks.linked() || self.hot.next != base || first + refs > self.entries.len() {
            return 0;
        }
        let keys = &mut self.entries[first..first + refs];
        let most = most.min(if keys[refs - 1].next == base { (FRAME_REFS_MAX - self.hot.refs) / refs } else { 1 });
        let expected = |(e, (last, stride)): (&Entry, (&u64, &u64))| e.repeats(most, *last, *stride);
        if most == 0 || !keys.iter().zip(before.iter().zip(strides)).all(expected) {
            return 0;
        }
        keys.iter_mut().for_each(|e| e.confirm_addr(e.last.wrapping_add(e.stride.wrapping_mul(most as u64))));
        self.iterated(first, refs, most);
        most
    }

    /// `n` blocks of these keys were wholly predicted.
    #[inline]
    fn iterated(&mut self, base: usize, refs: usize, n: usize) {
        self.entries[usize::from(self.hot.current)].next_missed = false;
        let last = &mut self.entries[base + refs - 1];
        last.next_missed &= n == 1;
        (self.hot.current, self.hot.next) = ((base + refs - 1) as u16, last.next);
        self.hot.refs += n * refs;
    }

    /// Goes on over the first of `slots` as far as they are blocks like this linked one that are wholly predicted; how many.
    fn iterations(&mut self, known: &Known, slots: &[[u64; 2]]) -> usize {
        if self.hot.next != known.base {
            return 0;
        }
        let (base, refs) = (usize::from(known.base), usize::from(known.refs));
        let last = base + refs - 1;
        let Some(keys) = self.entries.get_mut(base..=last) else { return 0 };
        let most = if keys[refs - 1].next == known.base { (FRAME_REFS_MAX - self.hot.refs) / refs } else { 1 };
        let used = block_slots(refs as u64) as usize;
        let n = ITERATIONS[refs - 1](known.header, keys, slots, most);
        if n > 0 {
            let addresses = slots[(n - 1) * used..n * used].as_flattened();
            keys.iter_mut().zip(&addresses[1..]).for_each(|(e, &address)| e.confirm_addr(address));
            self.iterated(base, refs, n);
        }
        n
    }

    /// Appends a linked block of which not everything need be predicted; whether it was.
    fn linked_block(&mut self, known: &Known, block: &[[u64; 2]]) -> bool {
        let (base, refs) = (usize::from(known.base), usize::from(known.refs));
        let tokens = self.tokens.len();
        let mut addresses = block.as_flattened()[1..].iter().map(|address| address & W0_ADDR_MASK);
        let mut previous = addresses.next().unwrap_or_default();
        if self.hot.next == known.base {
            self.expected(base, previous, self.entries[usize::from(self.hot.current)].last);
            self.entries[usize::from(self.hot.current)].next_missed = false;
        } else {
            let Entry { meta, pc, .. } = self.entries[base];
            self.miss(previous, meta, pc);
            // It may be that the key before was one of these, where a block was cut; the next ones are as predicted all the same.
            self.entries[base..base + refs - 1].iter_mut().for_each(|e| e.next_missed = false);
        }
        for (key, address) in (base + 1..base + refs).zip(addresses) {
            self.expected(key, address, previous);
            previous = address;
        }
        let last = base + refs - 1;
        (self.hot.current, self.hot.next) = (last as u16, self.entries[last].next);
        self.tokens.len() == tokens
    }

    /// Appends a reference of the key that is expected.
    #[inline(always)]
    fn expected(&mut self, key: usize, address: u64, previous: u64) {
        let e = &mut self.entries[key];
        if e.by_stride() == address {
            e.confirm_addr(address);
            self.hot.refs += 1;
        } else {
            self.expected_elsewhere(key, address, previous);
        }
    }

    /// Appends the references of a block one by one and finds out whether it is linked.
    #[inline(never)]
    fn block(&mut self, place: usize, definition: &[[u64; 2]], block: &[[u64; 2]]) {
        let addresses = &block.as_flattened()[1..];
        let (mut base, mut linked) = (0, true);
        for (i, (&[bits, pc], address)) in definition.iter().zip(addresses).enumerate() {
            let expected = self.hot.next;
            let slot = [bits | address & W0_ADDR_MASK, pc];
            self.extend(RawRef::of_slot(&slot));
            if i == 0 {
                base = self.hot.current;
            }
            linked &=
                usize::from(self.hot.current) == usize::from(base) + i && (i == 0 || self.hot.current == expected);
        }
        let linked = if linked { self.blocks.linked() } else { 0 };
        let known = &mut self.blocks.known[place];
        (known.base, known.refs, known.linked) = (base, definition.len() as u8, linked);
        if linked > 0 {
            let inner = usize::from(base)..usize::from(base) + definition.len() - 1;
            self.entries[inner].iter_mut().for_each(|e| e.is_inner = true);
        }
    }
}
