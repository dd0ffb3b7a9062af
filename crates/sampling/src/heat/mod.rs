//! How much memory is used, whoever uses it: regions of DAMON, added up while a recording samples who.
//!
//! Samples of windows say whose a page is and not how hot it is, and pages under an explicit policy or in a mapping that the
//! scans pass over give none at all. Where the kernel has DAMON and this process may use it, a [`Watcher`] adds up its regions
//! beside the recording, and what it found is said with it: memory in use, and how much of that no sample came from.
//!
//! Reading order: this file (sums), `watch` (the thread that looks).
mod watch;

use crate::damon::Region;
use std::collections::{BTreeMap, BTreeSet};
pub use watch::Watcher;

/// Most blocks whose sums are kept; when there are more, blocks twice as large are.
const BLOCKS_MAX: usize = 1 << 16;
/// Binary logarithm of the smallest block's bytes.
const SHIFT_MIN: u32 = 12;
/// Binary logarithm of the bytes of the pieces in which samples are remembered, and most of these.
const SEEN_SHIFT: u32 = 16;
const SEEN_MAX: usize = 1 << 20;
/// Looks of a thousand that make memory count as used.
const USED_PERMILLE: u64 = 100;
/// Ranges named, at most.
const NAMED_MAX: usize = 3;

/// Memory that is used about evenly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Used {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Looks of a thousand that found it used.
    pub(crate) permille: u64,
}

/// Sums over all lists of regions.
#[derive(Debug)]
pub struct Heat {
    /// Bytes times looks that found them used, by number of the block.
    blocks: BTreeMap<u64, u128>,
    shift: u32,
    /// Looks of all lists together.
    looks: u64,
}

impl Default for Heat {
    fn default() -> Heat {
        Heat { blocks: BTreeMap::new(), shift: SHIFT_MIN, looks: 0 }
    }
}

impl Heat {
    /// Adds a list of regions, each of which was looked at `looks` times.
    pub(crate) fn add(&mut self, regions: &[Region], looks: u32) {
        self.looks += u64::from(looks);
        for r in regions.iter().filter(|r| r.start < r.end) {
            while self.blocks.len() as u64 + ((r.end - 1) >> self.shift) - (r.start >> self.shift) >= BLOCKS_MAX as u64
            {
                self.coarser();
            }
            for block in r.start >> self.shift..=(r.end - 1) >> self.shift {
                let first = block << self.shift;
                let last = first | ((1 << self.shift) - 1);
                let bytes = r.end.min(last.saturating_add(1)) - r.start.max(first);
                *self.blocks.entry(block).or_default() += u128::from(bytes) * u128::from(r.accesses.min(looks));
            }
        }
    }
    fn coarser(&mut self) {
        self.shift += 1;
        for (block, sum) in std::mem::take(&mut self.blocks) {
            *self.blocks.entry(block / 2).or_default() += sum;
        }
    }
    pub(crate) fn looks(&self) -> u64 {
        self.looks
    }
    /// Memory in use, ascending; neighbours whose use differs by less than a tenth are one range.
    pub(crate) fn used(&self) -> Vec<Used> {
        let mut ranges: Vec<Used> = Vec::new();
        for (block, sum) in &self.blocks {
            let whole = u128::from(self.looks) << self.shift;
            let permille = (sum * 1000).checked_div(whole).unwrap_or(0) as u64;
            if permille < USED_PERMILLE {
                continue;
            }
            let start = block << self.shift;
            let end = start.saturating_add(1 << self.shift);
            match ranges.last_mut() {
                Some(last) if last.end == start && last.permille.abs_diff(permille) < 100 => last.end = end,
                _ => ranges.push(Used { start, end, permille }),
            }
        }
        ranges
    }
}

/// Where samples came from.
#[derive(Debug, Default)]
pub struct Seen(BTreeSet<u64>);

impl Seen {
    /// Remembers a sample.
    pub fn at(&mut self, addr: u64) {
        if self.0.len() < SEEN_MAX {
            self.0.insert(addr >> SEEN_SHIFT);
        }
    }
    /// The parts of a range that no sample came from, in whole pieces.
    fn unseen(&self, used: &Used) -> Vec<Used> {
        let (mut parts, mut start) = (Vec::new(), used.start);
        for piece in self.0.range(used.start >> SEEN_SHIFT..=(used.end - 1) >> SEEN_SHIFT) {
            let begin = piece << SEEN_SHIFT;
            if start < begin {
                parts.push(Used { start, end: begin, ..*used });
            }
            start = begin.saturating_add(1 << SEEN_SHIFT);
        }
        if start < used.end {
            parts.push(Used { start, ..*used });
        }
        parts
    }
    /// What DAMON found beside the samples, as a sentence; nothing if it was not there.
    pub fn sentence(&self, heat: &Heat) -> Option<String> {
        if heat.looks() == 0 {
            return None;
        }
        let bytes = |ranges: &[Used]| ranges.iter().map(|u| u.end - u.start).sum::<u64>();
        let used = heat.used();
        let mut unseen: Vec<Used> =
            if self.0.len() < SEEN_MAX { used.iter().flat_map(|u| self.unseen(u)).collect() } else { Vec::new() };
        let (all, missed) = (mib(bytes(&used)), mib(bytes(&unseen)));
        unseen.sort_by_key(|u| (std::cmp::Reverse(u128::from(u.permille) * u128::from(u.end - u.start)), u.start));
        let named = unseen.iter().take(NAMED_MAX).map(|u| {
            format!("{:x}-{:x} ({} MiB, used in {} % of looks)", u.start, u.end, mib(u.end - u.start), u.permille / 10)
        });
        let named = named.collect::<Vec<_>>().join(", ");
        let most = if named.is_empty() { String::new() } else { format!(", most of all {named}") };
        Some(format!(
            "memory in use, whoever used it (DAMON, {} looks): {all} MiB; from {missed} MiB of that no sample came{most}",
            heat.looks()
        ))
    }
}

fn mib(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn region(start: u64, end: u64, accesses: u32) -> Region {
        Region { start, end, accesses, age: 0 }
    }

    #[test]
    fn regions_that_split_and_merge_add_up_by_their_bytes() {
        let mut heat = Heat::default();
        heat.add(&[region(0, 8 * MIB, 20), region(8 * MIB, 9 * MIB, 1)], 20);
        heat.add(&[region(0, 4 * MIB, 20), region(6 * MIB, 8 * MIB, 10)], 20);
        let wanted = [(0, 4 * MIB, 1000), (4 * MIB, 6 * MIB, 500), (6 * MIB, 8 * MIB, 750)];
        assert_eq!(heat.used(), wanted.map(|(start, end, permille)| Used { start, end, permille }));
        let mut seen = Seen::default();
        (0..5 * MIB).step_by(4096).for_each(|a| seen.at(a));
        let said = seen.sentence(&heat).unwrap();
        assert!(said.contains("40 looks): 8.0 MiB; from 3.0 MiB of that no sample came"), "{said}");
        assert!(said.contains("most of all 600000-800000 (2.0 MiB, used in 75 % of looks), 500000-600000"), "{said}");
        assert_eq!(seen.sentence(&Heat::default()), None);
    }

    #[test]
    fn any_regions_take_a_bounded_number_of_blocks() {
        let mut rng = homenode_base::Rng::new(5);
        let mut heat = Heat::default();
        heat.add(&[region(0, u64::MAX, u32::MAX), region(u64::MAX - 1, u64::MAX, 1), region(9, 9, 1)], 20);
        assert!(heat.blocks.len() <= BLOCKS_MAX && heat.used().len() == 1, "{}", heat.blocks.len());
        let mut heat = Heat::default();
        for _ in 0..6 {
            let one = |_| {
                let start = rng.next_u64() >> rng.below(50);
                region(start, start.saturating_add(rng.next_u64() >> rng.below(60)), rng.below(30) as u32)
            };
            heat.add(&(0..40).map(one).collect::<Vec<_>>(), 20);
            assert!(heat.blocks.len() <= BLOCKS_MAX);
        }
        assert!(heat.used().windows(2).all(|w| w[0].end <= w[1].start));
        assert!(Seen::default().sentence(&heat).is_some());
    }
}
