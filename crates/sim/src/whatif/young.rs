//! Which references initialise a block.
use homenode_trace::{Merged, Op};

/// Words whose first write counts as initialisation, whoever makes it, as a power of two.
const WORD_SHIFT: u32 = 2;
/// Above blocks of so many bytes, words are not told apart.
const BLOCK_SHIFT_MAX: u32 = 24;
const NO_THREAD: u32 = u32::MAX;

/// A block that is still being initialised. A reference initialises it if its first thread makes it before any other
/// thread has touched the block, or if it is a plain write to words that nobody has touched.
#[derive(Clone, Debug)]
pub(super) struct Young {
    first: u32,
    /// Whether a second thread has touched it.
    shared: bool,
    /// Words touched, one bit each; empty until the first touch, and once all have been.
    touched: Vec<u64>,
    /// Words that nobody has touched; not known before the first touch.
    untouched: u32,
}

/// What a reference finds.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockTouch {
    /// No other thread than this one has touched the block.
    pub(super) alone: bool,
    /// The reference is a plain write to words that nobody has touched.
    pub(super) fresh_write: bool,
}

impl Young {
    pub(super) const NEW: Young = Young { first: NO_THREAD, shared: false, touched: Vec::new(), untouched: u32::MAX };

    /// Who touched it first.
    pub(super) fn first(&self) -> Option<u32> {
        (self.first != NO_THREAD).then_some(self.first)
    }

    /// Who touched it first and whether somebody else has, if every word has been touched: what the first thread does until
    /// another comes is noted already, and what anybody does after that.
    #[inline]
    pub(super) fn first_of_touched(&self) -> Option<(u32, bool)> {
        (self.untouched == 0).then_some((self.first, self.shared))
    }

    /// Takes note of a reference to the bytes from `first` to `last` of the block; whether it initialises them.
    pub(super) fn is_initialised_by(&mut self, r: &Merged, first: u64, last: u64, block_shift: u32) -> bool {
        let stage = self.touched_by(r, first, last, block_shift);
        stage.alone || stage.fresh_write
    }

    /// Likewise; why it may initialise them.
    pub(super) fn touched_by(&mut self, r: &Merged, first: u64, last: u64, block_shift: u32) -> BlockTouch {
        if self.first == NO_THREAD {
            self.first = r.thread;
        }
        self.shared |= self.first != r.thread;
        let may_be_fresh = block_shift <= BLOCK_SHIFT_MAX && self.untouched > 0;
        let fresh = may_be_fresh && self.touch(first, last, block_shift);
        BlockTouch { alone: !self.shared, fresh_write: fresh && r.op == Op::Write }
    }

    /// Marks the words; whether none of them was marked.
    fn touch(&mut self, first: u64, last: u64, block_shift: u32) -> bool {
        if self.touched.is_empty() {
            self.untouched = 1 << (block_shift.max(WORD_SHIFT) - WORD_SHIFT);
            self.touched = vec![0; (self.untouched as usize).div_ceil(64)];
        }
        let mut fresh = true;
        for word in first >> WORD_SHIFT..=last >> WORD_SHIFT {
            let (bits, bit) = (&mut self.touched[word as usize / 64], 1 << (word % 64));
            let is_new = *bits & bit == 0;
            fresh &= is_new;
            self.untouched -= u32::from(is_new);
            *bits |= bit;
        }
        if self.untouched == 0 {
            self.touched = Vec::new();
        }
        fresh
    }
}
