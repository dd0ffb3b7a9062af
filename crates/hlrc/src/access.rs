//! Accesses to words of a node's own memory: where one is, and what is done to it. All that the protocol reads and changes of its own node
//! goes through [`Host::access`], so a host may stand between: to write a journal, or to be one.
use crate::diff;
use crate::host::Host;
use std::sync::atomic::{AtomicU64, Ordering};

/// A part of a node's [`Tables`](crate::state::Tables).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// States of pages.
    Pages,
    /// What must be seen of each page, a writer.
    Needed,
    /// One list of written pages.
    Written,
    /// The other one.
    WrittenNext,
    /// One list of exclusive pages.
    Exclusive,
    /// The other one.
    ExclusiveNext,
    /// Pages that move behind an even barrier.
    Moving,
    /// Behind an odd one.
    MovingNext,
    /// All else.
    Node,
}

/// Where a word of a node's own memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In its region.
    Region(usize),
    /// In its copy of the heap.
    Copy(usize),
    /// In its tables.
    Table(Area, usize),
}

impl Place {
    #[inline(always)]
    fn plus(self, words: usize) -> Place {
        match self {
            Place::Region(at) => Place::Region(at + words),
            Place::Copy(at) => Place::Copy(at + words),
            Place::Table(area, at) => Place::Table(area, at + words),
        }
    }
}

/// What is done to a word at once. What it gives is the word before, unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// Reads it.
    Load(Ordering),
    /// Writes it; gives 0.
    Store(u64, Ordering),
    /// Writes it and reads what it was.
    Swap(u64, Ordering),
    /// Writes the second value if it is the first.
    CompareSwap(u64, u64),
    /// Adds.
    Add(u64, Ordering),
    /// The greater one.
    Max(u64, Ordering),
    /// Sets bits.
    Or(u64, Ordering),
    /// Writes those bytes of the first value that the second one, a mask, names; gives 0.
    Merge(u64, u64),
    /// Waits until a bit is not set, and sets it; the word without it. Whoever has set it holds it for a few instructions.
    Lock(u64),
    /// Takes the bit away; gives 0.
    Unlock(u64),
    /// Waits until it is not zero, for a few instructions of whoever is about to write it.
    Await,
    /// As that, and leaves zero.
    Take,
}

impl Does {
    /// Does it.
    #[inline(always)]
    pub fn on(self, word: &AtomicU64) -> u64 {
        match self {
            Does::Load(order) => word.load(order),
            Does::Store(value, order) => {
                word.store(value, order);
                0
            }
            Does::Swap(value, order) => word.swap(value, order),
            Does::CompareSwap(old, new) => {
                word.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst).unwrap_or_else(|found| found)
            }
            Does::Add(value, order) => word.fetch_add(value, order),
            Does::Max(value, order) => word.fetch_max(value, order),
            Does::Or(bits, order) => word.fetch_or(bits, order),
            Does::Merge(value, mask) => {
                diff::merge(word, value, mask);
                0
            }
            Does::Lock(bit) => lock(word, bit),
            Does::Unlock(bit) => {
                word.fetch_and(!bit, Ordering::Release);
                0
            }
            Does::Await => until_written(word, AtomicU64::load),
            Does::Take => until_written(word, |word, order| word.swap(0, order)),
        }
    }
}

fn lock(word: &AtomicU64, bit: u64) -> u64 {
    loop {
        let seen = word.load(Ordering::Relaxed);
        if seen & bit == 0 && word.compare_exchange_weak(seen, seen | bit, Ordering::Acquire, Ordering::Relaxed).is_ok()
        {
            return seen;
        }
        std::hint::spin_loop();
    }
}

fn until_written(word: &AtomicU64, look: impl Fn(&AtomicU64, Ordering) -> u64) -> u64 {
    loop {
        match look(word, Ordering::Acquire) {
            0 => std::hint::spin_loop(),
            value => return value,
        }
    }
}

/// A word of a node's own memory; other threads of the node and peers may read and change it at any time.
#[derive(Debug)]
pub(crate) struct Word<'h, H> {
    host: &'h H,
    place: Place,
}

impl<H> Clone for Word<'_, H> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<H> Copy for Word<'_, H> {}

impl<'h, H: Host> Word<'h, H> {
    #[inline(always)]
    pub(crate) fn at(host: &'h H, place: Place) -> Word<'h, H> {
        Word { host, place }
    }
    #[inline(always)]
    pub(crate) fn does(self, does: Does) -> u64 {
        self.host.access(self.place, does)
    }
    #[inline(always)]
    pub(crate) fn load(self, order: Ordering) -> u64 {
        self.does(Does::Load(order))
    }
    #[inline(always)]
    pub(crate) fn store(self, value: u64, order: Ordering) {
        self.does(Does::Store(value, order));
    }
    #[inline(always)]
    pub(crate) fn swap(self, value: u64, order: Ordering) -> u64 {
        self.does(Does::Swap(value, order))
    }
    /// Whether the word was `old`, and is `new` now.
    #[inline(always)]
    pub(crate) fn replace(self, old: u64, new: u64) -> bool {
        self.does(Does::CompareSwap(old, new)) == old
    }
    #[inline(always)]
    pub(crate) fn fetch_add(self, value: u64, order: Ordering) -> u64 {
        self.does(Does::Add(value, order))
    }
    #[inline(always)]
    pub(crate) fn fetch_sub(self, value: u64, order: Ordering) -> u64 {
        self.does(Does::Add(value.wrapping_neg(), order))
    }
    #[inline(always)]
    pub(crate) fn fetch_max(self, value: u64, order: Ordering) -> u64 {
        self.does(Does::Max(value, order))
    }
    #[inline(always)]
    pub(crate) fn fetch_or(self, bits: u64, order: Ordering) -> u64 {
        self.does(Does::Or(bits, order))
    }
}

/// A word of this node's region.
#[inline(always)]
pub(crate) fn region<H: Host>(host: &H, word: usize) -> Word<'_, H> {
    Word { host, place: Place::Region(word) }
}

/// Consecutive words of a node's own memory.
#[derive(Debug)]
pub(crate) struct Words<'h, H> {
    host: &'h H,
    first: Place,
    len: usize,
}

impl<H> Clone for Words<'_, H> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<H> Copy for Words<'_, H> {}

impl<'h, H: Host> Words<'h, H> {
    pub(crate) fn at_place(host: &'h H, first: Place, len: usize) -> Words<'h, H> {
        Words { host, first, len }
    }
    /// Words of the region.
    pub(crate) fn region(host: &'h H, first: usize, len: usize) -> Words<'h, H> {
        Words { host, first: Place::Region(first), len }
    }
    pub(crate) fn len(self) -> usize {
        self.len
    }
    /// One of them.
    #[inline(always)]
    pub(crate) fn at(self, at: usize) -> Word<'h, H> {
        assert!(at < self.len, "word {at} of {}", self.len);
        Word::at(self.host, self.first.plus(at))
    }
    /// All but the first ones.
    pub(crate) fn from(self, at: usize) -> Words<'h, H> {
        assert!(at <= self.len, "words from {at} of {}", self.len);
        Words { first: self.first.plus(at), len: self.len - at, ..self }
    }
    pub(crate) fn iter(self) -> impl Iterator<Item = Word<'h, H>> {
        (0..self.len).map(move |at| self.at(at))
    }
}
