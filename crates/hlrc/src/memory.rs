//! Words of a node's own memory. All that the protocol reads and changes of its own node goes through [`Host::access`], so a host may stand
//! between: to write a journal, or to be one.
use crate::access::{Does, Place};
use crate::host::Host;
use std::sync::atomic::Ordering;

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
