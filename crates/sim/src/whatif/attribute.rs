//! Who initialises: the references that do are given to the block's user.
use super::together::Together;
use crate::blocks::NumberMap;
use crate::split::Pieces;
use homenode_trace::{Merged, Op};

/// Words whose first write counts as initialisation, whoever makes it, as a power of two.
const WORD_SHIFT: u32 = 2;
/// Above blocks of so many bytes, words are not told apart.
const BLOCK_SHIFT_MAX: u32 = 24;
/// After so many other references in a row, the initialisation has made a pause: what is held back does not wait longer.
const PAUSE: u32 = 64;
const NO_THREAD: u32 = u32::MAX;

/// A block that is still being initialised.
#[derive(Clone, Debug)]
struct Young {
    user: u32,
    /// Who touched it first; [`NO_THREAD`] before that.
    first: u32,
    /// Whether another thread has touched it.
    shared: bool,
    /// Words touched, one bit each; empty until the first touch.
    touched: Vec<u64>,
}

impl Young {
    /// Whether this piece of the block initialises it. Bytes are counted from the block's first one.
    fn is_initialised_by(&mut self, r: &Merged, first: u64, last: u64, block_shift: u32) -> bool {
        if self.first == NO_THREAD {
            self.first = r.thread;
        }
        let mut fresh = r.op == Op::Write;
        if block_shift <= BLOCK_SHIFT_MAX {
            if self.touched.is_empty() {
                self.touched = vec![0; (1usize << (block_shift.max(WORD_SHIFT) - WORD_SHIFT)).div_ceil(64)];
            }
            for word in first >> WORD_SHIFT..=last >> WORD_SHIFT {
                let (bits, bit) = (&mut self.touched[word as usize / 64], 1 << (word % 64));
                fresh &= *bits & bit == 0;
                *bits |= bit;
            }
        } else {
            fresh = false;
        }
        self.shared |= self.first != r.thread;
        !self.shared || fresh
    }
}

/// All initialisations of one what-if.
#[derive(Clone, Debug)]
pub(super) struct Attribution {
    /// A block leaves when it is used.
    young: NumberMap<Young>,
    /// Lowest and highest block at the start: most references elsewhere need no look-up.
    hull: (u64, u64),
    block_shift: u32,
    /// References since the last one that was held back.
    others: u32,
    together: Option<Together>,
}

impl Attribution {
    /// Blocks with their users; of two users of a block, the first counts. `line_shift` is that of the machine's cache
    /// lines, if there are some: only then does it matter which references to different blocks are made at the same time.
    pub(super) fn new(users: &[(u64, u32)], block_shift: u32, line_shift: Option<u32>) -> Attribution {
        let young = |user| Young { user, first: NO_THREAD, shared: false, touched: Vec::new() };
        let hull = users.iter().fold((1, 0), |hull, &(block, _)| match hull {
            (1, 0) => (block, block),
            (low, high) => (block.min(low), block.max(high)),
        });
        Attribution {
            young: users.iter().rev().map(|&(block, user)| (block, young(user))).collect(),
            hull,
            block_shift,
            others: 0,
            together: line_shift.map(Together::new),
        }
    }

    /// Gives one reference to whoever makes it, in pieces per block where that matters.
    #[inline]
    pub(super) fn push(&mut self, r: Merged, out: &mut impl FnMut(Merged)) {
        if self.young.is_empty() {
            return out(r);
        }
        let last = r.addr.wrapping_add(u64::from(r.size.max(1)) - 1);
        let (low, high) = if last < r.addr { (0, u64::MAX) } else { (r.addr, last) };
        if high >> self.block_shift < self.hull.0 || low >> self.block_shift > self.hull.1 {
            self.pass(r, out);
        } else {
            self.look_up(r, out);
        }
    }

    fn look_up(&mut self, r: Merged, out: &mut impl FnMut(Merged)) {
        let within = (1u64 << self.block_shift) - 1;
        for piece in Pieces::new(r.addr, r.size, self.block_shift) {
            let block = piece.addr >> self.block_shift;
            let part = Merged { addr: piece.addr, size: (piece.last - piece.addr) as u32 + 1, ..r };
            let Some(young) = self.young.get_mut(&block).filter(|_| r.op != Op::Spin) else {
                self.pass(part, &mut *out);
                continue;
            };
            if young.is_initialised_by(&r, piece.addr & within, piece.last & within, self.block_shift) {
                let made = Merged { thread: young.user, ..part };
                self.others = 0;
                match &mut self.together {
                    Some(together) => together.push(made, &mut *out),
                    None => out(made),
                }
            } else {
                self.young.remove(&block);
                self.finish(&mut *out);
                out(part);
            }
        }
    }

    /// A reference that initialises nothing.
    #[inline]
    fn pass(&mut self, r: Merged, out: &mut impl FnMut(Merged)) {
        if r.op != Op::Spin {
            self.others += 1;
            if self.others == PAUSE {
                self.finish(&mut *out);
            }
        }
        out(r);
    }

    /// Hands on what is held back.
    pub(super) fn finish(&mut self, out: &mut impl FnMut(Merged)) {
        if let Some(together) = &mut self.together {
            together.flush(out);
        }
    }
}
