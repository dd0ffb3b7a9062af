//! Who initialises: the references that do are given to the block's user.
use super::together::Together;
use super::young::Young;
use crate::blocks::NumberMap;
use crate::split::Pieces;
use homenode_trace::{Merged, Op};

/// After so many other references in a row, the initialisation has made a pause: what is held back does not wait longer.
const PAUSE: u32 = 64;

/// All initialisations of one what-if.
#[derive(Clone, Debug)]
pub(super) struct Attribution {
    /// Users of blocks; a block leaves when it is used.
    young: NumberMap<(u32, Young)>,
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
        let hull = users.iter().fold((1, 0), |hull, &(block, _)| match hull {
            (1, 0) => (block, block),
            (low, high) => (block.min(low), block.max(high)),
        });
        Attribution {
            young: users.iter().rev().map(|&(block, user)| (block, (user, Young::NEW))).collect(),
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
            let Some((user, young)) = self.young.get_mut(&block).filter(|_| r.op != Op::Spin) else {
                self.pass(part, &mut *out);
                continue;
            };
            if young.is_initialised_by(&r, piece.addr & within, piece.last & within, self.block_shift) {
                let made = Merged { thread: *user, ..part };
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
