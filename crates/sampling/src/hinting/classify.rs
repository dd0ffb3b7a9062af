//! Which page faults are evidence of use.
//!
//! The first fault on a page brings it in: that is evidence of who touched it first, often a thread that only initialises.
//! Once a page is there, the next fault on it is a hinting fault (nothing else takes a present page away, but for memory
//! given back and got again, copies after fork, and reclaim, which are rare). The processor's error code does not tell: a
//! page taken away for a hint looks exactly like one that was never there.
use crate::huge;
use crate::samples::Notice;
use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Seek, SeekFrom};

const PAGE_SHIFT: u32 = 12;
/// Pages of a huge page.
const HUGE_PAGES: u64 = 512;
/// Bytes of `/proc/PID/pagemap` read at once, 8 a page.
const PAGEMAP_CHUNK: usize = 64 << 10;
/// Bit 63 of an entry there, in its last byte.
const PRESENT: u8 = 0x80;

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
    /// Mappings as last heard of: first page to one past the last, and protection.
    maps: BTreeMap<u64, (u64, u32)>,
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
            Notice::Map { pid, addr, bytes, prot, .. } => {
                let (first, end) = (addr >> PAGE_SHIFT, addr.saturating_add(*bytes).div_ceil(1 << PAGE_SHIFT));
                self.by_process.entry(*pid).or_default().mapped(first, end, *prot);
            }
            Notice::Exit { pid, tid, .. } if pid == tid => drop(self.by_process.remove(pid)),
            _ => {}
        }
    }
    /// Learns from `/proc/PID/smaps` which memory is in huge pages: there, one fault stands for 2 MiB.
    pub(crate) fn learn_huge(&mut self, pid: u32, smaps: &str) {
        self.by_process.entry(pid).or_default().huge = huge_pages(smaps);
    }
    /// Learns which pages of a running process are there, so that its next fault on each counts. A page taken away for a
    /// hint is listed as present.
    pub(crate) fn learn_present(&mut self, pid: u32, maps: &str, pagemap: &mut (impl Read + Seek)) {
        let process = self.by_process.entry(pid).or_default();
        for (first, end, prot) in maps.lines().filter_map(mapping_of) {
            process.maps.insert(first, (end, prot));
            let mut bytes = vec![0; PAGEMAP_CHUNK];
            let mut at = first;
            while at < end && pagemap.seek(SeekFrom::Start(at * 8)).is_ok() {
                let wanted = usize::try_from(end - at).unwrap_or(usize::MAX).saturating_mul(8).min(PAGEMAP_CHUNK);
                let Ok(read @ 8..) = pagemap.read(&mut bytes[..wanted]) else { break };
                for entry in bytes[..read].chunks_exact(8) {
                    if entry[7] & PRESENT != 0 {
                        *process.pages.entry(at / 64).or_default() |= 1 << (at % 64);
                    }
                    at += 1;
                }
            }
        }
    }
    /// Whether any page of a process is known.
    pub(crate) fn knows(&self, pid: u32) -> bool {
        self.by_process.get(&pid).is_some_and(|p| !p.pages.is_empty())
    }
    /// Processes of which any page is known.
    pub(crate) fn processes(&self) -> Vec<u32> {
        self.by_process.iter().filter(|(_, p)| !p.pages.is_empty()).map(|(pid, _)| *pid).collect()
    }
}

impl Process {
    /// The kernel tells of a mapping when it is new, and tells of the whole of it when it grows, is joined with a neighbour, or a
    /// part of it gets other protection (malloc does that all the time); of unmapping it tells nothing. So what was mapped
    /// keeps its pages inside a larger mapping, and under other protection; the same again, or a part of it, is new.
    fn mapped(&mut self, first: u64, end: u64, prot: u32) {
        let overlapping: Vec<(u64, u64, u32)> =
            self.maps.range(..end).map(|(&s, &(e, p))| (s, e, p)).filter(|&(_, e, _)| e > first).collect();
        let mut forgotten = first;
        for &(s, e, p) in &overlapping {
            let (inside, around) = (first <= s && e <= end, s <= first && end <= e);
            if (around && p != prot) || (inside && !around) {
                self.forget(forgotten, s.max(first));
                forgotten = e.min(end);
            }
        }
        self.forget(forgotten, end);
        for (s, e, p) in overlapping {
            self.maps.remove(&s);
            // What sticks out stays as it was.
            if s < first {
                self.maps.insert(s, (first, p));
            }
            if end < e {
                self.maps.insert(end, (e, p));
            }
        }
        self.maps.insert(first, (end, prot));
    }
    fn forget(&mut self, first: u64, end: u64) {
        let last = if first < end { end / 64 } else { return };
        let words: Vec<u64> = self.pages.range(first / 64..=last).map(|(&w, _)| w).collect();
        for w in words {
            let inside = |bit: u64| (first..end).contains(&(w * 64 + bit));
            let mask = (0..64).filter(|&b| inside(b)).fold(0u64, |m, b| m | 1 << b);
            if let Some(bits) = self.pages.get_mut(&w) {
                *bits &= !mask;
            }
        }
    }
}

/// Mappings in transparent huge pages: first page to one past the last.
fn huge_pages(smaps: &str) -> BTreeMap<u64, u64> {
    let found = huge::ranges(smaps, HUGE_PAGES << PAGE_SHIFT);
    found.iter().map(|h| (h.addr >> PAGE_SHIFT, (h.addr + h.bytes) >> PAGE_SHIFT)).collect()
}

/// First page and one past the last of the mapping that a line of `maps` begins with, and its protection as in mmap(2).
fn mapping_of(line: &str) -> Option<(u64, u64, u32)> {
    let (first, end) = huge::range_of(line)?;
    let rights = line.split_ascii_whitespace().nth(1).unwrap_or("");
    let bit = |letter: char, value: u32| if rights.contains(letter) { value } else { 0 };
    Some((first >> PAGE_SHIFT, end >> PAGE_SHIFT, bit('r', 1) | bit('w', 2) | bit('x', 4)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pid: u32, addr: u64, bytes: u64, prot: u32) -> Notice {
        Notice::Map { time_ns: 0, pid, addr, bytes, file_offset: 0, prot, path: String::new() }
    }

    #[test]
    fn a_mapping_that_grows_or_gets_other_protection_keeps_its_pages() {
        let mut seen = Seen::default();
        let heap = 0x10_0000;
        let touch = |seen: &mut Seen, pages: u64| (0..pages).filter(|p| seen.is_use(1, heap + p * 4096)).count();
        seen.notice(&map(1, heap, 0x10_000, 3));
        assert_eq!((touch(&mut seen, 16), touch(&mut seen, 16)), (0, 16));
        // brk(2): the whole heap is told of. What is new has no pages yet.
        seen.notice(&map(1, heap, 0x20_000, 3));
        assert_eq!((touch(&mut seen, 32), touch(&mut seen, 32)), (16, 32));
        // A mapping put in front is joined with it.
        seen.notice(&map(1, heap - 0x1000, 0x21_000, 3));
        assert_eq!((touch(&mut seen, 32), seen.is_use(1, heap - 0x1000)), (32, false));
        // mprotect(2) of a part and back; the part is told of as a mapping of its own, then the whole.
        seen.notice(&map(1, heap + 0x8000, 0x8000, 1));
        seen.notice(&map(1, heap - 0x1000, 0x21_000, 3));
        assert_eq!(touch(&mut seen, 32), 32);
        // Unmapping is not told of, but what is mapped there afterwards is.
        seen.notice(&map(1, heap - 0x1000, 0x21_000, 3));
        assert_eq!((touch(&mut seen, 32), touch(&mut seen, 32)), (0, 32));
        seen.notice(&map(1, heap, 0x8000, 3));
        assert_eq!(touch(&mut seen, 32), 24);
    }

    #[test]
    fn an_arena_grows_by_protection() {
        // malloc's: a reservation without rights, of which ever more gets them.
        let (mut seen, arena) = (Seen::default(), 0x7f00_0000_0000);
        seen.notice(&map(1, arena, 64 << 20, 0));
        for pages in [33, 40, 64] {
            seen.notice(&map(1, arena, pages << 12, 3));
            let uses = (0..pages).filter(|p| seen.is_use(1, arena + (p << 12))).count();
            assert_eq!(uses as u64, [0, 33, 40][[33, 40, 64].iter().position(|p| *p == pages).unwrap()]);
        }
    }

    #[test]
    fn the_second_fault_on_a_page_is_use_until_it_is_mapped_anew() {
        let mut seen = Seen::default();
        assert!(
            !seen.is_use(1, 0x5000) && seen.is_use(1, 0x5fff) && !seen.is_use(1, 0x6000) && !seen.is_use(2, 0x5000)
        );
        let map = |pid, addr, bytes| map(pid, addr, bytes, 3);
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
        assert_eq!(huge_pages(smaps).into_iter().collect::<Vec<_>>()[0], (0x400, 0x800));
        let mut seen = Seen::default();
        seen.learn_huge(1, smaps);
        assert!(!seen.is_use(1, 0x40_0000) && seen.is_use(1, 0x40_5000) && !seen.is_use(1, 0x60_0000));
    }

    #[test]
    fn pages_that_are_there_count_from_their_first_fault_on() {
        let mut pagemap = std::io::Cursor::new(vec![0u8; 8 * 0x500]);
        for page in [0x400, 0x402] {
            pagemap.get_mut()[page * 8 + 7] = PRESENT;
        }
        let mut seen = Seen::default();
        // The second mapping lies beyond the end of the list, as the kernel's own page does.
        seen.learn_present(
            1,
            "00400000-00404000 rw-p 0 0:0 0\nffff0000-ffff1000 r-xp 0 0:0 0\nnonsense\n",
            &mut pagemap,
        );
        let uses: Vec<bool> = (0x400..0x404).map(|page| seen.is_use(1, page << 12)).collect();
        assert_eq!(uses, [true, false, true, false]);
        assert!(seen.knows(1) && !seen.knows(2) && !seen.is_use(1, 0xffff_0000));
        // This very process: a page that was written is there.
        let (own, word) = (std::process::id(), Box::new(7u64));
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        seen.learn_present(own, &maps, &mut std::fs::File::open("/proc/self/pagemap").unwrap());
        assert!(seen.is_use(own, std::ptr::from_ref(&*word) as u64));
    }
}
