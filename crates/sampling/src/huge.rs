//! Which memory of a running process is in huge pages: what `/proc/PID/smaps` says of it, looked at now and then.
use homenode_host::clock::Clock;
use homenode_trace::manifest::HugeRange;
use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

/// Size of a transparent huge page where the kernel does not say.
const USUAL: u64 = 2 << 20;
const SIZE_FILE: &str = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size";
/// Time between two looks, at least; the kernel gets to its huge pages about as slowly.
const EVERY: Duration = Duration::from_secs(1);
/// The kernel walks all page tables for one look and holds the process's map meanwhile: so many times as long is rest.
const REST: u32 = 100;

/// A mapping in huge pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Huge {
    pub(crate) addr: u64,
    pub(crate) bytes: u64,
    pub(crate) page_bytes: u64,
}

/// Mappings of which at least half is in huge pages, transparent (of `transparent` bytes) or explicit ones.
pub(crate) fn ranges(smaps: &str, transparent: u64) -> Vec<Huge> {
    let (mut found, mut range, mut rss) = (Vec::new(), None, 0);
    for line in smaps.lines() {
        let kb = |name: &str| line.strip_prefix(name)?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok();
        let huge = |page_bytes: u64| range.map(|(addr, end): (u64, u64)| Huge { addr, bytes: end - addr, page_bytes });
        if let Some(value) = kb("KernelPageSize:") {
            found.extend(huge(value.saturating_mul(1024)).filter(|h| h.page_bytes >= USUAL));
        } else if let Some(value) = kb("Rss:") {
            rss = value;
        } else if let Some(value) = kb("AnonHugePages:") {
            found.extend(huge(transparent).filter(|_| value > 0 && value.saturating_mul(2) >= rss));
        } else if let Some(r) = range_of(line) {
            range = Some(r);
        }
    }
    found
}

/// First byte and one past the last of the mapping that a line of `maps` or `smaps` begins with.
pub(crate) fn range_of(line: &str) -> Option<(u64, u64)> {
    let (first, end) = line.split_ascii_whitespace().next()?.split_once('-')?;
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    number(first).zip(number(end)).filter(|(first, end)| first < end)
}

/// Bytes of a transparent huge page here.
pub(crate) fn transparent_bytes() -> u64 {
    let text = fs::read_to_string(SIZE_FILE).unwrap_or_default();
    text.trim().parse().ok().filter(|n: &u64| n.is_power_of_two()).unwrap_or(USUAL)
}

/// What was last seen of each process.
#[derive(Debug)]
pub struct Watched {
    clock: Arc<dyn Clock>,
    next: Duration,
    seen: BTreeMap<u32, Vec<Huge>>,
}

impl Watched {
    /// Nothing seen; the first look is due soon.
    pub fn new(clock: Arc<dyn Clock>) -> Watched {
        Watched { next: clock.now() + EVERY / 4, clock, seen: BTreeMap::new() }
    }
    /// Looks at these processes if it is time. What has ended keeps what was seen last.
    pub fn look(&mut self, pids: impl Iterator<Item = u32>) {
        let begun = self.clock.now();
        if begun < self.next {
            return;
        }
        let transparent = transparent_bytes();
        for pid in pids.collect::<std::collections::BTreeSet<u32>>() {
            if let Some(smaps) = fs::read_to_string(format!("/proc/{pid}/smaps")).ok().filter(|s| !s.is_empty()) {
                self.seen.insert(pid, ranges(&smaps, transparent));
            }
        }
        let now = self.clock.now();
        self.next = now + EVERY.max((now - begun) * REST);
    }
    /// As the manifest says it, `process` being the dataset's number of a process id.
    pub fn told(&self, process: impl Fn(u32) -> Option<u32>) -> Vec<HugeRange> {
        let of = |(pid, all): (&u32, &Vec<Huge>)| {
            let known = process(*pid);
            let told = all.iter().filter_map(move |h| {
                Some(HugeRange { process: known?, addr: h.addr, bytes: h.bytes, page_bytes: h.page_bytes })
            });
            told.collect::<Vec<_>>()
        };
        self.seen.iter().flat_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_host::clock::Simulated;

    #[test]
    fn mappings_in_huge_pages_are_found_and_others_not() {
        let smaps = "00400000-00800000 rw-p 00000000 00:00 0 [heap]\nKernelPageSize: 4 kB\nRss: 4096 kB\n\
                     AnonHugePages: 4096 kB\nVmFlags: rd\n\
                     00a00000-00c00000 rw-p 00000000 00:00 0\nKernelPageSize: 4 kB\nRss: 2048 kB\nAnonHugePages: 0 kB\n\
                     00c00000-01c00000 rw-p 00000000 00:00 0\nRss: 16384 kB\nAnonHugePages: 2048 kB\n\
                     40000000-80000000 rw-s 00000000 00:0f 7 /anon_hugepage\nKernelPageSize: 1048576 kB\nRss: 0 kB\n\
                     AnonHugePages: 0 kB\nnonsense\nRss: x kB\n";
        let huge = |addr, bytes, page_bytes| Huge { addr, bytes, page_bytes };
        let wanted = [huge(0x40_0000, 4 << 20, 2 << 20), huge(1 << 30, 1 << 30, 1 << 30)];
        assert_eq!(ranges(smaps, 2 << 20), wanted);
        assert_eq!(ranges("2-1 rw-p\nAnonHugePages: 2048 kB\n", 2 << 20), []);
        assert_eq!(ranges("AnonHugePages: 2048 kB\n", 2 << 20), []);
    }

    #[test]
    fn the_first_look_is_not_at_once_and_unknown_processes_are_passed_over() {
        let clock = Simulated::new();
        let mut w = Watched::new(clock.clone());
        w.look([std::process::id()].into_iter());
        assert!(w.seen.is_empty());
        clock.sleep(EVERY / 4);
        w.look([std::process::id(), u32::MAX].into_iter());
        assert_eq!(w.seen.len(), 1);
        assert!(w.told(|_| None).is_empty() && w.next == clock.now() + EVERY);
        w.seen.insert(7, vec![Huge { addr: 1 << 21, bytes: 1 << 21, page_bytes: 1 << 21 }]);
        let told = w.told(|pid| (pid == 7).then_some(3));
        assert_eq!(told, [HugeRange { process: 3, addr: 1 << 21, bytes: 1 << 21, page_bytes: 1 << 21 }]);
    }
}
