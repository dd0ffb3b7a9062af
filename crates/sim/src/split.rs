//! A reference in pieces: what a machine charges at once never crosses a block, nor a line where there are lines.
//!
//! A reference may wrap past 2^64 (hostile traces); it then goes on at address 0.

use homenode_trace::Merged;

/// Part of a reference inside one aligned unit of `1 << shift` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// First byte.
    pub addr: u64,
    /// Last byte, in the same unit.
    pub last: u64,
}

impl Piece {
    /// The part of the reference, which is inside one unit, as a reference.
    #[inline]
    pub(crate) fn of(self, r: &Merged) -> Merged {
        Merged { addr: self.addr, size: (self.last - self.addr) as u32 + 1, ..*r }
    }

    /// Aligned words of `1 << shift` bytes that the piece touches.
    #[inline]
    pub fn words(self, shift: u32) -> u32 {
        ((self.last >> shift) - (self.addr >> shift)) as u32 + 1
    }
}

/// The pieces of `[addr, addr + size)` in units of `1 << shift` bytes; a size of 0 (hostile) counts as 1.
#[derive(Clone, Debug)]
pub struct Pieces {
    addr: u64,
    left: u64,
    mask: u64,
}

impl Pieces {
    #[inline]
    /// See the type; `shift` is below 64.
    pub fn new(addr: u64, size: u32, shift: u32) -> Pieces {
        Pieces { addr, left: u64::from(size.max(1)), mask: (1 << shift) - 1 }
    }
}

/// Calls `each` with the pieces of a reference. Almost every reference is one piece, which needs no loop.
#[inline(always)]
pub fn for_pieces(addr: u64, size: u32, shift: u32, mut each: impl FnMut(Piece)) {
    let beyond = u64::from(size.max(1)) - 1;
    match addr.checked_add(beyond) {
        Some(last) if last >> shift == addr >> shift => each(Piece { addr, last }),
        _ => Pieces::new(addr, size, shift).for_each(each),
    }
}

impl Iterator for Pieces {
    type Item = Piece;
    #[inline]
    fn next(&mut self) -> Option<Piece> {
        if self.left == 0 {
            return None;
        }
        // Bytes to the end of the unit beyond the first one; minus one everywhere, so that nothing overflows.
        let beyond = (self.mask - (self.addr & self.mask)).min(self.left - 1);
        let piece = Piece { addr: self.addr, last: self.addr + beyond };
        self.left -= beyond + 1;
        self.addr = piece.last.wrapping_add(1);
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn pieces_cover_each_byte_once_and_count_words_at_all_borders() {
        for base in [0u64, 3, 60, 63, 4090, u64::MAX - 70, u64::MAX] {
            for size in [0u32, 1, 2, 3, 4, 7, 8, 64, 65, 130, 5000] {
                for shift in [2, 6, 12] {
                    let bytes: Vec<u64> = (0..u64::from(size.max(1))).map(|i| base.wrapping_add(i)).collect();
                    let got: Vec<Piece> = Pieces::new(base, size, shift).collect();
                    let mut called = Vec::new();
                    for_pieces(base, size, shift, |p| called.push(p));
                    assert_eq!(called, got);
                    let flat: Vec<u64> = got.iter().flat_map(|p| p.addr..=p.last).collect();
                    assert_eq!(flat, bytes, "{base} {size} {shift}");
                    assert!(got.iter().all(|p| p.addr >> shift == p.last >> shift));
                    let words: u32 = got.iter().map(|p| p.words(2)).sum();
                    let distinct: BTreeSet<u64> = bytes.iter().map(|b| b >> 2).collect();
                    assert_eq!(words as usize, distinct.len(), "a block border is a word border");
                }
            }
        }
    }
}
