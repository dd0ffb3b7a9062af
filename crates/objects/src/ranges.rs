//! Address ranges that do not overlap, each an object's: heap blocks by the million, and what is larger than a page.
//!
//! Who looks up addresses at random waits for memory, so ranges of at most a page stand together with those that begin in
//! their page: a look-up touches the page's entry and its list.
use hashbrown::HashMap;
use std::collections::BTreeMap;

/// log2 of the bytes whose ranges stand together.
const PAGE_SHIFT: u32 = 12;
const PAGE_LAST: u64 = (1 << PAGE_SHIFT) - 1;

/// First byte, last byte, object.
pub(crate) type Range = (u64, u64, u32);

/// A range of at most a page.
#[derive(Clone, Copy, Debug)]
struct Small {
    /// First byte, less that of the page.
    first: u16,
    /// Bytes less one.
    more: u16,
    object: u32,
}

impl Small {
    fn range(self, page: u64) -> Range {
        let first = (page << PAGE_SHIFT) + u64::from(self.first);
        (first, first + u64::from(self.more), self.object)
    }
}

/// Ranges that do not overlap.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges {
    /// First byte to last byte and object.
    large: BTreeMap<u64, (u64, u32)>,
    /// By the page of the first byte, ascending.
    small: HashMap<u64, Vec<Small>>,
}

impl Ranges {
    /// A range that overlaps none.
    pub(crate) fn insert(&mut self, (first, last, object): Range) {
        if last - first > PAGE_LAST {
            self.large.insert(first, (last, object));
            return;
        }
        let small = Small { first: (first & PAGE_LAST) as u16, more: (last - first) as u16, object };
        let page = self.small.entry(first >> PAGE_SHIFT).or_default();
        page.insert(page.partition_point(|s| s.first < small.first), small);
    }

    /// Takes the range that begins here out.
    pub(crate) fn remove(&mut self, first: u64) -> Option<Range> {
        if let Some((last, object)) = self.large.remove(&first) {
            return Some((first, last, object));
        }
        let number = first >> PAGE_SHIFT;
        let page = self.small.get_mut(&number)?;
        let at = page.binary_search_by_key(&((first & PAGE_LAST) as u16), |s| s.first).ok()?;
        let removed = page.remove(at);
        if page.is_empty() {
            self.small.remove(&number);
        }
        Some(removed.range(number))
    }

    /// The small range that begins last of those that begin at `addr` or before, if it begins in this page or the one before;
    /// and the next one in this page.
    #[inline]
    fn beside(&self, addr: u64) -> (Option<Range>, Option<Range>) {
        let page = addr >> PAGE_SHIFT;
        let here = self.small.get(&page).map_or(&[][..], |all| &all[..]);
        let after = here.partition_point(|s| u64::from(s.first) <= addr & PAGE_LAST);
        let next = here.get(after).map(|s| s.range(page));
        let before = match here[..after].last() {
            Some(s) => Some(s.range(page)),
            None => page.checked_sub(1).and_then(|page| self.small.get(&page)?.last().map(|s| s.range(page))),
        };
        (before, next)
    }

    /// The range that covers `addr`.
    pub(crate) fn covering(&self, addr: u64) -> Option<Range> {
        let small = self.beside(addr).0.filter(|r| r.1 >= addr);
        small.or_else(|| self.large_before(addr).filter(|r| r.1 >= addr))
    }

    fn large_before(&self, addr: u64) -> Option<Range> {
        self.large.range(..=addr).next_back().map(|(first, (last, object))| (*first, *last, *object))
    }

    /// The range that covers `addr`, or the part of a gap in which it lies: to the ends of the page at most, where there are
    /// small ranges.
    pub(crate) fn around(&self, addr: u64) -> (u64, u64, Option<u32>) {
        let (before, next) = self.beside(addr);
        if let Some((first, last, object)) = before.filter(|r| r.1 >= addr) {
            return (first, last, Some(object));
        }
        let large = self.large_before(addr);
        if let Some((first, last, object)) = large.filter(|r| r.1 >= addr) {
            return (first, last, Some(object));
        }
        let page = if self.small.is_empty() { (0, u64::MAX) } else { (addr & !PAGE_LAST, addr | PAGE_LAST) };
        let behind = |r: Option<Range>| r.map_or(0, |r| r.1 + 1);
        let to = self.large.range(addr..).next().map_or(u64::MAX, |(first, _)| first - 1);
        (page.0.max(behind(before)).max(behind(large)), page.1.min(next.map_or(u64::MAX, |r| r.0 - 1)).min(to), None)
    }

    /// All that have a byte in common with a range, ascending.
    pub(crate) fn overlapping(&self, first: u64, last: u64) -> Vec<Range> {
        let before = self.large_before(first).filter(|r| r.0 < first);
        let large = self.large.range(first..=last).map(|(first, (last, object))| (*first, *last, *object));
        let mut found: Vec<Range> = before.into_iter().chain(large).collect();
        let pages = (first >> PAGE_SHIFT).saturating_sub(1)..=last >> PAGE_SHIFT;
        let of = |(page, all): (u64, &'_ Vec<Small>)| all.iter().map(|s| s.range(page)).collect::<Vec<_>>();
        if pages.end() - pages.start() < self.small.len() as u64 {
            found.extend(pages.filter_map(|page| Some((page, self.small.get(&page)?))).flat_map(of));
        } else {
            found
                .extend(self.small.iter().filter(|p| pages.contains(p.0)).map(|(page, all)| (*page, all)).flat_map(of));
        }
        found.retain(|r| r.0 <= last && r.1 >= first);
        found.sort_unstable();
        found
    }

    /// All of them, ascending.
    pub(crate) fn all(&self) -> Vec<Range> {
        self.overlapping(0, u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_base::Rng;

    /// The obvious way.
    fn around(plain: &[Range], addr: u64) -> (u64, u64, Option<u32>) {
        let from = plain.iter().filter(|r| r.1 < addr).map(|r| r.1 + 1).max().unwrap_or(0);
        let to = plain.iter().filter(|r| r.0 > addr).map(|r| r.0 - 1).min().unwrap_or(u64::MAX);
        let covers = plain.iter().find(|r| r.0 <= addr && addr <= r.1);
        covers.map_or((from, to, None), |r| (r.0, r.1, Some(r.2)))
    }

    #[test]
    fn ranges_by_page_are_a_sorted_list() {
        for seed in 0..400 {
            let mut rng = Rng::new(seed);
            let (mut ranges, mut plain) = (Ranges::default(), Vec::<Range>::new());
            let base = [0, 1 << 40, u64::MAX - (6 << PAGE_SHIFT)][rng.below(3) as usize];
            let any = |rng: &mut Rng| base + rng.below(6 << PAGE_SHIFT);
            for object in 0..80 {
                let first = any(&mut rng);
                let bytes = [8, 300, 1 << PAGE_SHIFT, 9000, 20_000][rng.below(5) as usize];
                let last = first.saturating_add(rng.below(bytes));
                let met = ranges.overlapping(first, last);
                let mut same: Vec<Range> = plain.iter().filter(|r| r.0 <= last && r.1 >= first).copied().collect();
                same.sort_unstable();
                assert_eq!(met, same, "seed {seed}");
                if met.is_empty() {
                    ranges.insert((first, last, object));
                    plain.push((first, last, object));
                } else {
                    let gone = met[rng.below(met.len() as u64) as usize];
                    assert_eq!(ranges.remove(gone.0), Some(gone), "seed {seed}");
                    plain.retain(|r| *r != gone);
                    assert_eq!(ranges.remove(gone.0), None);
                }
                for _ in 0..20 {
                    let addr = any(&mut rng);
                    let (from, to, found) = around(&plain, addr);
                    let (near, far, object) = ranges.around(addr);
                    assert_eq!((ranges.covering(addr).map(|r| r.2), object), (found, found), "seed {seed}");
                    // A gap is cut at the ends of pages.
                    assert!(near <= addr && addr <= far && from <= near && far <= to, "seed {seed}");
                    assert!(found.is_none() || (near, far) == (from, to), "seed {seed}");
                }
            }
            plain.sort_unstable();
            assert_eq!(ranges.all(), plain);
        }
    }
}
