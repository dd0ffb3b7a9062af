//! From the records of a region to the accesses of its blocks, block size by block size.
//!
//! A region is cut into halves again and again; each half has its accesses in order. Blocks are independent, so only the
//! order within a block matters, and an access of weight w is by definition the same as w equal ones in a row. Within a
//! run of equal accesses of a block the order of its words therefore does not matter either: equal words are added up,
//! and halves begin with the shorter list. Depth first, so that the lists at work stay in a first-level cache.
pub(crate) mod coarse;
pub(crate) mod strict;
pub(crate) mod turns;

use crate::partition::record::{Format, MEANING, Record};
use homenode_machine::AccessClass;
use homenode_placement::Step;

/// What is done with the accesses of each block.
pub(crate) trait Visitor {
    /// The accesses of a block of `level` (place in the ascending list of sizes), in order, equal ones in a row as one;
    /// their slot is 0.
    fn block(&mut self, level: usize, number: u64, steps: &[Step]);
}

/// Calls `put` with each access in `words`, in order, and its node; adds up in `accesses` what is charged: reads, and writes
/// with write-backs. Records of threads that do not exist (hostile) are left out. `joined`: where two units that lie in the
/// same one of larger units are one access of twice the weight.
#[inline(always)]
pub(crate) fn accesses(
    (format, words): (&Format, &[u32]),
    (nodes, joined): (&[u16], bool),
    accesses: &mut [u64; 2],
    mut put: impl FnMut(Record, u16),
) {
    format.for_each_pair(words, |r: Record, pair: bool| {
        let Some(&node) = nodes.get(r.by as usize) else { return };
        match MEANING[usize::from(r.code)].1 {
            AccessClass::Free => {}
            AccessClass::Read => accesses[0] += u64::from(r.weight) << u32::from(pair),
            _ => accesses[1] += u64::from(r.weight) << u32::from(pair),
        }
        match r.weight.checked_mul(2) {
            Some(weight) if pair && joined => put(Record { weight, ..r }, node),
            _ => {
                put(r, node);
                if pair {
                    put(Record { unit: r.unit + 1, ..r }, node);
                }
            }
        }
    });
}

/// Block sizes of a fold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Levels {
    /// Whether a block of `1 << i` units is asked for, and which place the size has.
    of: Vec<Option<usize>>,
    /// Least `i` that is asked for.
    least: u32,
}

impl Levels {
    /// Of these block sizes, ascending, those that hold a unit; the first one has place `first`.
    pub(crate) fn new(blocks: &[u64], first: usize, unit_shift: u32, region_shift: u32) -> Levels {
        let mut of = vec![None; (region_shift - unit_shift) as usize + 1];
        for (place, bytes) in blocks.iter().enumerate() {
            if let Some(i) = bytes.trailing_zeros().checked_sub(unit_shift) {
                of[i as usize] = Some(first + place);
            }
        }
        let least = of.iter().position(Option::is_some).unwrap_or(of.len()) as u32;
        Levels { of, least }
    }
    /// The place of blocks of `1 << bits` units, if they are asked for.
    pub(crate) fn place(&self, bits: u32) -> Option<usize> {
        self.of.get(bits as usize).copied().flatten()
    }
    /// The largest `i` that is asked for; that of a region if none is.
    pub(crate) fn top(&self) -> u32 {
        self.of.iter().rposition(Option::is_some).unwrap_or(self.of.len() - 1) as u32
    }
    /// The least `i` that is asked for.
    pub(crate) fn least(&self) -> u32 {
        self.least
    }
    /// Whether smaller blocks than these are asked for.
    pub(crate) fn below(&self, bits: u32) -> bool {
        bits > self.least
    }
}
