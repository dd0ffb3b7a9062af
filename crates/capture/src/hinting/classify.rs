//! Which page faults are evidence of use.
//!
//! The first fault on a page brings it in: that is evidence of who touched it first, often a thread that only initialises.
//! Once a page is there, the next fault on it is a hinting fault (nothing else takes a present page away, but for memory
//! given back and got again, copies after fork, and reclaim, which are rare). The processor's error code does not tell: a
//! page taken away for a hint looks exactly like one that was never there.
use crate::samples::Notice;
use std::collections::{BTreeMap, HashMap};

const PAGE_SHIFT: u32 = 12;
/// Pages of a huge page.
const HUGE_PAGES: u64 = 512;

/// Pages of every process that are there.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    by_process: HashMap<u32, Process>,
    /// Faults that brought a page in.
    pub(crate) first_touches: u64,
}

#[derive(Debug, Default)]
struct Process {
    /// Bits of present pages by stretch of 64.
    pages: BTreeMap<u64, u64>,
    /// Ranges of memory in huge pages: first page to one past the last.
    huge: BTreeMap<u64, u64>,
}

impl Seen {
    /// Whether a fault at `addr` is evidence of use; the page is there from now on.
    pub(crate) fn is_use(&mut self, pid: u32, addr: u64) -> bool {
        let process = self.by_process.entry(pid).or_default();
        let page = addr >> PAGE_SHIFT;
        let in_huge = process.huge.range(..=page).next_back().is_some_and(|(_, &end)| page < end);
        let page = if in_huge { page / HUGE_PAGES * HUGE_PAGES } else { page };
        let (word, bit) = (process.pages.entry(page / 64).or_default(), 1 << (page % 64));
        let known = *word & bit != 0;
        *word |= bit;
        self.first_touches += u64::from(!known);
        known
    }
    /// New mappings begin without pages; a child begins with what its parent has.
    pub(crate) fn notice(&mut self, notice: &Notice) {
        match notice {
            Notice::Map { pid, addr, bytes, .. } => {
                if let Some(process) = self.by_process.get_mut(pid) {
                    process.forget(addr >> PAGE_SHIFT, addr.saturating_add(*bytes).div_ceil(1 << PAGE_SHIFT));
                }
            }
            Notice::Exit { pid, tid, .. } if pid == tid => drop(self.by_process.remove(pid)),
            _ => {}
        }
    }
    /// Learns from `/proc/PID/smaps` which memory is in huge pages: there, one fault stands for 2 MiB.
    pub(crate) fn learn_huge(&mut self, pid: u32, smaps: &str) {
        self.by_process.entry(pid).or_default().huge = huge_ranges(smaps);
    }
    /// Processes seen.
    pub(crate) fn processes(&self) -> Vec<u32> {
        self.by_process.keys().copied().collect()
    }
}

impl Process {
    fn forget(&mut self, first: u64, end: u64) {
        let words: Vec<u64> = self.pages.range(first / 64..=end / 64).map(|(&w, _)| w).collect();
        for w in words {
            let inside = |bit: u64| (first..end).contains(&(w * 64 + bit));
            let mask = (0..64).filter(|&b| inside(b)).fold(0u64, |m, b| m | 1 << b);
            if let Some(bits) = self.pages.get_mut(&w) {
                *bits &= !mask;
            }
        }
    }
}

/// Ranges of pages of which at least half are in huge pages.
fn huge_ranges(smaps: &str) -> BTreeMap<u64, u64> {
    let mut ranges = BTreeMap::new();
    let (mut range, mut rss) = (None, 0);
    for line in smaps.lines() {
        let kb = |name: &str| line.strip_prefix(name)?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok();
        if let Some(value) = kb("Rss:") {
            rss = value;
        } else if let Some(value) = kb("AnonHugePages:") {
            if let Some((first, end)) = range.filter(|_| value > 0 && value * 2 >= rss) {
                ranges.insert(first, end);
            }
        } else if let Some(r) = line.split_ascii_whitespace().next().and_then(|w| w.split_once('-')) {
            let page = |text: &str| u64::from_str_radix(text, 16).ok().map(|a| a >> PAGE_SHIFT);
            range = page(r.0).zip(page(r.1));
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_fault_on_a_page_is_use_until_it_is_mapped_anew() {
        let mut seen = Seen::default();
        assert!(
            !seen.is_use(1, 0x5000) && seen.is_use(1, 0x5fff) && !seen.is_use(1, 0x6000) && !seen.is_use(2, 0x5000)
        );
        let map = |pid, addr, bytes| Notice::Map {
            time_ns: 0,
            pid,
            addr,
            bytes,
            file_offset: 0,
            prot: 3,
            path: String::new(),
        };
        seen.notice(&map(1, 0x5000, 0x1000));
        assert!(!seen.is_use(1, 0x5008) && seen.is_use(1, 0x6008) && seen.is_use(2, 0x5008));
        seen.notice(&map(2, 0, u64::MAX));
        seen.notice(&map(3, 0, u64::MAX));
        assert!(!seen.is_use(2, 0x5008));
        seen.notice(&Notice::Exit { time_ns: 0, pid: 1, tid: 9 });
        assert!(seen.is_use(1, 0x6008));
        seen.notice(&Notice::Exit { time_ns: 0, pid: 1, tid: 1 });
        assert!(!seen.is_use(1, 0x6008));
        assert_eq!((seen.first_touches, seen.processes().len()), (6, 2));
    }

    #[test]
    fn in_huge_pages_one_first_fault_stands_for_all() {
        let smaps = "00400000-00800000 rw-p 00000000 00:00 0 [heap]\nRss: 4096 kB\nAnonHugePages: 4096 kB\nVmFlags: rd\n\
                     00a00000-00c00000 rw-p 00000000 00:00 0\nRss: 2048 kB\nAnonHugePages: 0 kB\n\
                     nonsense\nRss: x kB\nAnonHugePages: 2048 kB\n";
        assert_eq!(huge_ranges(smaps).into_iter().collect::<Vec<_>>()[0], (0x400, 0x800));
        let mut seen = Seen::default();
        seen.learn_huge(1, smaps);
        assert!(!seen.is_use(1, 0x40_0000) && seen.is_use(1, 0x40_5000) && !seen.is_use(1, 0x60_0000));
    }
}
