//! Blocks of references straight from the recorder's rings (`homenode_base::ring`, `W0_BLOCK`).
//!
//! Keys of a block follow each other in the key table and in the program, so once their successors are predicted (the block is
//! *linked*) one look at the first key stands for all, and as long as a block follows itself with the expected addresses an
//! iteration is a comparison of so many words. Frames are those of the references one by one.
use super::encoder::{FrameEncoder, RawRef};
use super::index::KeyIndex;
use super::predict::Entry;
use super::FRAME_REFS_MAX;
use homenode_base::ring::{BLOCK_REFS_MAX, W0_ADDR_MASK, block_refs, block_slots};

/// Most references of a block.
const REFS_MAX: usize = BLOCK_REFS_MAX as usize;

/// The blocks of a frame.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    known: Vec<Known>,
    index: KeyIndex,
    /// The block that was looked for last, in `known`.
    latest: usize,
    /// How often a link between keys of one block was broken.
    broken: u32,
}

/// What is remembered of one block.
#[derive(Clone, Copy, Debug)]
struct Known {
    header: u64,
    /// Key of its first reference.
    base: u16,
    refs: u8,
    /// What `broken` was when each of its keys was the predicted successor of the one before; `None`: they are not.
    linked: Option<u32>,
    /// The block that came after it last time, in `known`.
    next: u16,
}

/// What the references of blocks are.
pub trait BlockRefs {
    /// The references of the block with this header: their slots without the addresses, which are no spins.
    fn refs_of(&mut self, header: u64) -> Option<&[[u64; 2]]>;
}

impl Blocks {
    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.known.clear();
        self.index.clear();
        (self.latest, self.broken) = (0, 0);
    }

    /// Takes note that the successor of a key is not the one that its block says.
    pub(super) fn break_links(&mut self) {
        self.broken = self.broken.wrapping_add(1);
    }

    /// The place in `known` of the block with this header; a new one is of no use yet.
    #[inline]
    fn find(&mut self, header: u64) -> usize {
        let next = self.known.get(self.latest).map_or(0, |latest| usize::from(latest.next));
        if self.known.get(next).is_none_or(|known| known.header != header) {
            return self.look_up(header);
        }
        self.latest = next;
        next
    }

    #[inline(never)]
    fn look_up(&mut self, header: u64) -> usize {
        // Each has at least one of the frame's references, so there are no more than 16 bits number.
        let new = self.known.len() as u16;
        let found = self.index.find_or_insert(header, 0, new).unwrap_or_else(|()| {
            self.known.push(Known { header, base: 0, refs: 0, linked: None, next: new });
            new
        });
        if let Some(latest) = self.known.get_mut(self.latest) {
            latest.next = found;
        }
        self.latest = usize::from(found);
        self.latest
    }

    fn is_linked(&self, known: &Known) -> bool {
        known.linked == Some(self.broken)
    }
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
            let Some(block) = slots.get(at..at + used).filter(|_| self.hot.refs + refs <= FRAME_REFS_MAX) else { break };
            let place = self.blocks.find(header);
            let known = self.blocks.known[place];
            if self.blocks.is_linked(&known) {
                let iterations = self.iterations(&known, slots[at..].as_flattened());
                if iterations == 0 {
                    self.linked_block(&known, block);
                }
                at += used * iterations.max(1);
            } else {
                let Some(definition) = definitions.refs_of(header).and_then(|d| d.get(..refs)) else { break };
                self.block(place, definition, block);
                at += used;
            }
        }
        (at, self.hot.refs - start)
    }

    /// Goes on over the first of `words` as far as they are blocks like this linked one that are wholly predicted; how many.
    fn iterations(&mut self, known: &Known, words: &[u64]) -> usize {
        if self.hot.next != known.base {
            return 0;
        }
        let (base, refs) = (usize::from(known.base), usize::from(known.refs));
        let last = base + refs - 1;
        let Some(Entry { next, .. }) = self.entries.get(last) else { return 0 };
        let most = if *next == known.base { (FRAME_REFS_MAX - self.hot.refs) / refs } else { 1 };
        let n = ITERATIONS[refs - 1](&mut self.entries[base..=last], known.header, words, most);
        if n > 0 {
            self.entries[usize::from(self.hot.current)].next_missed = false;
            let last = &mut self.entries[last];
            last.next_missed &= n == 1;
            (self.hot.current, self.hot.next) = (known.base + refs as u16 - 1, last.next);
            self.hot.refs += n * refs;
        }
        n
    }

    /// Appends a linked block of which not everything is predicted.
    fn linked_block(&mut self, known: &Known, block: &[[u64; 2]]) {
        let base = usize::from(known.base);
        let mut addresses = block.as_flattened()[1..].iter().map(|address| address & W0_ADDR_MASK);
        let mut previous = addresses.next().unwrap_or_default();
        let first = self.entries[base];
        if self.hot.next == known.base {
            self.expected(base, previous, self.entries[usize::from(self.hot.current)].last);
            self.entries[usize::from(self.hot.current)].next_missed = false;
        } else {
            self.miss(previous, first.meta, first.pc);
            // It may be that the key before was one of these, where a block was cut; the next ones are as predicted all the same.
            let inner = base..base + usize::from(known.refs) - 1;
            self.entries[inner].iter_mut().for_each(|e| e.next_missed = false);
        }
        for (key, address) in (base..base + usize::from(known.refs)).skip(1).zip(addresses) {
            self.expected(key, address, previous);
            previous = address;
        }
        let last = known.base + u16::from(known.refs) - 1;
        (self.hot.current, self.hot.next) = (last, self.entries[usize::from(last)].next);
    }

    /// Appends a reference of the key that is expected.
    #[inline]
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
            let Some(RawRef { addr, size, op, pc }) = RawRef::of_slot(&[bits | address & W0_ADDR_MASK, pc]) else { return };
            self.push(addr, size, op, pc);
            if i == 0 {
                base = self.hot.current;
            }
            linked &= usize::from(self.hot.current) == usize::from(base) + i && (i == 0 || self.hot.current == expected);
        }
        let known = &mut self.blocks.known[place];
        (known.base, known.refs) = (base, definition.len() as u8);
        known.linked = linked.then_some(self.blocks.broken);
        if linked {
            let inner = usize::from(base)..usize::from(base) + definition.len() - 1;
            self.entries[inner].iter_mut().for_each(|e| e.is_inner = true);
        }
    }
}

/// What goes on over words that are iterations of one block.
type Iterate = fn(&mut [Entry], u64, &[u64], usize) -> usize;

/// [`iterate`] for each number of references.
const ITERATIONS: [Iterate; REFS_MAX] = [
    iterate::<1>,
    iterate::<2>,
    iterate::<3>,
    iterate::<4>,
    iterate::<5>,
    iterate::<6>,
    iterate::<7>,
    iterate::<8>,
    iterate::<9>,
    iterate::<10>,
    iterate::<11>,
    iterate::<12>,
    iterate::<13>,
    iterate::<14>,
    iterate::<15>,
];

/// Goes on over the first of `words` as far as they are blocks with this header whose addresses are as the `REFS` entries expect, at most `most`
/// blocks; how many they are.
fn iterate<const REFS: usize>(entries: &mut [Entry], header: u64, words: &[u64], most: usize) -> usize {
    let Some(entries) = entries.first_chunk_mut::<REFS>() else { return 0 };
    let mut last: [u64; REFS] = std::array::from_fn(|i| entries[i].last);
    let strides: [u64; REFS] = std::array::from_fn(|i| entries[i].stride);
    let mut n = 0;
    for block in words.chunks_exact(2 * block_slots(REFS as u64) as usize).take(most) {
        let Some(addresses) = block[1..].first_chunk::<REFS>().filter(|_| block[0] == header) else { break };
        let mut wrong = 0;
        for i in 0..REFS {
            wrong |= addresses[i] ^ last[i].wrapping_add(strides[i]) | addresses[i] & !W0_ADDR_MASK;
        }
        if wrong != 0 {
            break;
        }
        last = *addresses;
        n += 1;
    }
    if n > 0 {
        entries.iter_mut().zip(last).for_each(|(e, last)| e.confirm_addr(last));
    }
    n
}
