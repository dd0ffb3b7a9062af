//! Dense indices for the blocks that a program touches: memory grows with them and with nothing else.
use hashbrown::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Dense index that no block has.
pub(crate) const NO_BLOCK: u32 = u32::MAX;

/// Multiplicative hash of one 64-bit number; the same on every run.
#[derive(Clone, Copy, Default)]
pub(crate) struct NumberHash(u64);

impl Hasher for NumberHash {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_u64(u64::from(*b)));
    }
    fn write_u64(&mut self, n: u64) {
        let wide = u128::from(self.0 ^ n ^ 0x9E37_79B9_7F4A_7C15) * 0xA076_1D64_78BD_642F;
        self.0 = (wide >> 64) as u64 ^ wide as u64;
    }
}

/// A map keyed by block number.
pub(crate) type NumberMap<V> = HashMap<u64, V, BuildHasherDefault<NumberHash>>;

/// Entries of a memo, as a power of two.
const MEMO_BITS: u32 = 12;

/// Place of a number in a memo of `1 << bits` entries. Threads tend to work at distances of powers of two, which must not
/// meet in one place.
#[inline]
pub(crate) fn memo_place(number: u64, bits: u32) -> usize {
    (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - bits)) as usize
}

/// Block number to dense index, in order of first appearance.
#[derive(Clone, Debug)]
pub(crate) struct BlockTable {
    index: NumberMap<u32>,
    numbers: Vec<u64>,
    /// Direct-mapped memo of recent answers.
    memo: Vec<(u64, u32)>,
    full: bool,
}

impl BlockTable {
    pub(crate) fn new() -> BlockTable {
        BlockTable {
            index: NumberMap::default(),
            numbers: Vec::new(),
            memo: vec![(0, NO_BLOCK); 1 << MEMO_BITS],
            full: false,
        }
    }
    /// The index of this block, a new one if it was never asked for. Once 2^32 - 1 blocks have been named the answer for
    /// further ones is the last index, and [`BlockTable::is_full`] says so.
    #[inline]
    pub(crate) fn index(&mut self, number: u64) -> u32 {
        let (known, index) = self.memo[memo_place(number, MEMO_BITS)];
        if known == number && index != NO_BLOCK {
            return index;
        }
        self.look_up(number)
    }
    #[inline(never)]
    fn look_up(&mut self, number: u64) -> u32 {
        let next = self.numbers.len();
        let index = match self.index.get(&number) {
            Some(index) => *index,
            None if next >= NO_BLOCK as usize => {
                self.full = true;
                NO_BLOCK - 1
            }
            None => {
                self.index.insert(number, next as u32);
                self.numbers.push(number);
                next as u32
            }
        };
        self.memo[memo_place(number, MEMO_BITS)] = (number, index);
        index
    }
    /// The index of this block if it was ever asked for.
    pub(crate) fn find(&self, number: u64) -> Option<u32> {
        let (known, index) = self.memo[memo_place(number, MEMO_BITS)];
        if known == number && index != NO_BLOCK {
            return Some(index);
        }
        self.index.get(&number).copied()
    }
    /// Block numbers by index.
    pub(crate) fn numbers(&self) -> &[u64] {
        &self.numbers
    }
    /// Block numbers by index, for keeps.
    pub(crate) fn into_numbers(self) -> Vec<u64> {
        self.numbers
    }
    /// Whether there were more blocks than indices.
    pub(crate) fn is_full(&self) -> bool {
        self.full
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_dense_and_stable_where_memo_entries_collide() {
        let mut table = BlockTable::new();
        let numbers: Vec<u64> = (0..10_000).map(|i| (i % 2_500) << 9).chain([u64::MAX, 0]).collect();
        let first: Vec<u32> = numbers.iter().map(|n| table.index(*n)).collect();
        let again: Vec<u32> = numbers.iter().map(|n| table.index(*n)).collect();
        assert_eq!(first, again);
        assert_eq!((first[2_499], first[10_000], table.numbers().len()), (2_499, 2_500, 2_501));
        assert!(numbers.iter().all(|n| table.numbers()[table.find(*n).unwrap() as usize] == *n));
    }
}
