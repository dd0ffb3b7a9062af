//! What an encoder knows of the blocks of references that it has met in a frame, and loops over one of them.
use super::index::KeyIndex;
use super::predict::Entry;
use super::slot;
use homenode_base::ring::BLOCK_REFS_MAX;

/// Most references of a block.
const REFS_MAX: usize = BLOCK_REFS_MAX as usize;

/// Blocks in a row that were not all predicted, after which it is not expected of the next one.
pub(super) const MISSED: u8 = 2;

/// The blocks of a frame.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    pub(super) known: Vec<Known>,
    index: KeyIndex,
    /// The block that was looked for last, in `known`.
    latest: usize,
    /// How often a link between keys of one block was broken.
    broken: u32,
}

/// What is remembered of one block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) header: u64,
    /// Key of its first reference.
    pub(super) base: u16,
    pub(super) refs: u8,
    /// [`Blocks::linked`] when each of its keys was the predicted successor of the one before; 0: they are not.
    pub(super) linked: u32,
    /// The block that came after it last time, in `known`.
    next: u16,
    /// How often in a row not all of it was predicted, at most [`MISSED`].
    pub(super) missed: u8,
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
        self.broken += 1;
    }

    /// The number of the present links, which is another one when one of them was broken, and never 0.
    pub(super) fn linked(&self) -> u32 {
        self.broken + 1
    }

    /// The place in `known` of the block with this header; a new one is of no use yet.
    #[inline]
    pub(super) fn find(&mut self, header: u64) -> usize {
        let next = self.known.get(self.latest).map_or(0, |latest| usize::from(latest.next));
        if self.known.get(next).is_none_or(|known| known.header != header) {
            return self.look_up(header);
        }
        self.latest = next;
        next
    }

    /// As [`Blocks::find`]; it is likely the block that was looked for last.
    #[inline]
    pub(super) fn find_again(&mut self, header: u64) -> usize {
        match self.known.get(self.latest) {
            Some(known) if known.header == header => self.latest,
            _ => self.find(header),
        }
    }

    #[inline(never)]
    fn look_up(&mut self, header: u64) -> usize {
        // Only headers of blocks that nobody defines make more of them than a frame has references. What is forgotten is found out again.
        if self.known.len() > usize::from(u16::MAX) {
            self.known.clear();
            self.index.clear();
            self.latest = 0;
        }
        let new = self.known.len() as u16;
        let found = self.index.find_or_insert(header, 0, new).unwrap_or_else(|()| {
            self.known.push(Known { header, base: 0, refs: 0, linked: 0, next: new, missed: 0 });
            new
        });
        if let Some(latest) = self.known.get_mut(self.latest) {
            latest.next = found;
        }
        self.latest = usize::from(found);
        self.latest
    }
}

/// What goes on over slots that are iterations of one block.
pub(super) type Iterate = fn(u64, &[Entry], &[[u64; 2]], usize) -> usize;

/// [`iterate`] for each number of references.
pub(super) const ITERATIONS: [Iterate; REFS_MAX] = [
    iterate::<1, 1>,
    iterate::<2, 2>,
    iterate::<3, 2>,
    iterate::<4, 3>,
    iterate::<5, 3>,
    iterate::<6, 4>,
    iterate::<7, 4>,
    iterate::<8, 5>,
    iterate::<9, 5>,
    iterate::<10, 6>,
    iterate::<11, 6>,
    iterate::<12, 7>,
    iterate::<13, 7>,
    iterate::<14, 8>,
    iterate::<15, 8>,
];

/// How many blocks of `REFS` references and `SLOTS` slots with this header `slots` begin with, at most `most`, whose addresses are as their
/// `keys` expect.
fn iterate<const REFS: usize, const SLOTS: usize>(
    header: u64,
    keys: &[Entry],
    slots: &[[u64; 2]],
    most: usize,
) -> usize {
    let Some(keys) = keys.first_chunk::<REFS>() else { return 0 };
    let (mut first, mut steps) = ([[0; 2]; SLOTS], [[0; 2]; SLOTS]);
    first[0][0] = header;
    for i in 0..REFS {
        first[i.div_ceil(2)][(i + 1) % 2] = keys[i].last;
        steps[i.div_ceil(2)][(i + 1) % 2] = keys[i].stride;
    }
    let mut before = &first;
    let mut n = 0;
    for now in slots.as_chunks::<SLOTS>().0.iter().take(most) {
        if !slot::are_as_expected(now, before, &steps) {
            break;
        }
        (before, n) = (now, n + 1);
    }
    n
}
