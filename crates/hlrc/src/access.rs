//! Accesses to a node's own memory: what the program may do to a page; where a word is, and what the protocol does to it.
use crate::diff;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the program may do to a page without a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Nothing.
    None,
    /// Read it.
    Read,
    /// Read and write it.
    Write,
}

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
    /// Marks of pages that notices name.
    Marks,
    /// All else.
    Node,
}

impl Area {
    /// All parts, in order.
    pub const ALL: [Area; 10] = [
        Area::Pages,
        Area::Needed,
        Area::Written,
        Area::WrittenNext,
        Area::Exclusive,
        Area::ExclusiveNext,
        Area::Moving,
        Area::MovingNext,
        Area::Marks,
        Area::Node,
    ];
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
    pub(crate) fn plus(self, words: usize) -> Place {
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
