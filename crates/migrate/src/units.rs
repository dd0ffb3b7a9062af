//! Which parts of an address space are huge pages: these move as a whole, so their samples belong together.
use crate::move_status::MigrateError;
use crate::process::Area;
use homenode_sys::numa;
use std::collections::BTreeSet;
use std::fs::File;

/// Bytes of a small page.
pub const PAGE_BYTES: u64 = 4096;
/// Bytes of a huge page that a page-table entry of the second level maps.
pub const HUGE_BYTES: u64 = 2 << 20;

/// What is known of the real sizes of pages, for the parts of an address space that were asked about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Units {
    huge: BTreeSet<u64>,
}

impl Units {
    /// Asks the kernel about the surroundings of these addresses: by a scan of the page table (Linux 6.7), else from the
    /// sums in `/proc/PID/smaps`, which only tell areas that are huge throughout.
    ///
    /// # Errors
    /// The process is gone or may not be looked into.
    pub fn read(pid: u32, addresses: &[u64]) -> Result<Units, MigrateError> {
        let chunks: BTreeSet<u64> = addresses.iter().map(|a| a / HUGE_BYTES).collect();
        let path = if pid == 0 { "/proc/self/pagemap".to_owned() } else { format!("/proc/{pid}/pagemap") };
        let file = File::open(&path).map_err(|e| MigrateError::read(pid, path.clone(), e))?;
        let mut huge = BTreeSet::new();
        for (first, last) in runs(&chunks) {
            match numa::scan_huge(&file, first * HUGE_BYTES, (last + 1) * HUGE_BYTES) {
                Ok(found) => huge.extend(found.iter().flat_map(|r| whole(r.start, r.end))),
                Err(_) => return Units::from_areas(&crate::process::areas(pid)?, &chunks),
            }
        }
        Ok(Units { huge })
    }

    fn from_areas(areas: &[Area], chunks: &BTreeSet<u64>) -> Result<Units, MigrateError> {
        let throughout =
            |a: &&Area| a.huge_bytes > 0 && a.huge_bytes >= whole(a.start, a.end).count() as u64 * HUGE_BYTES;
        let all = areas.iter().filter(throughout).flat_map(|a| whole(a.start, a.end));
        Ok(Units { huge: all.filter(|c| chunks.contains(c)).collect() })
    }

    /// First byte and bytes of the page that contains this address.
    pub fn page_of(&self, address: u64) -> (u64, u64) {
        if self.huge.contains(&(address / HUGE_BYTES)) {
            (address / HUGE_BYTES * HUGE_BYTES, HUGE_BYTES)
        } else {
            (address / PAGE_BYTES * PAGE_BYTES, PAGE_BYTES)
        }
    }

    /// How many huge pages are known.
    pub fn huge_pages(&self) -> usize {
        self.huge.len()
    }
}

/// Numbers of the huge-page frames that lie wholly within these bytes.
fn whole(start: u64, end: u64) -> std::ops::Range<u64> {
    let first = start.div_ceil(HUGE_BYTES);
    first..(end / HUGE_BYTES).max(first)
}

/// Adjacent numbers as first and last.
fn runs(numbers: &BTreeSet<u64>) -> Vec<(u64, u64)> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for &n in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == n => *last = n,
            _ => runs.push((n, n)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_frames_are_huge() {
        assert_eq!(whole(1, HUGE_BYTES * 3), 1..3);
        assert_eq!(whole(1, HUGE_BYTES).count(), 0);
        assert_eq!(runs(&BTreeSet::from([1, 2, 4, 7, 8, 9])), [(1, 2), (4, 4), (7, 9)]);
    }

    #[test]
    fn sums_tell_areas_that_are_huge_throughout() {
        let area = |start, end, huge_bytes| Area { start, end, huge_bytes, ..Area::default() };
        let areas = [
            area(HUGE_BYTES, 3 * HUGE_BYTES, 2 * HUGE_BYTES),
            area(4 * HUGE_BYTES, 6 * HUGE_BYTES, HUGE_BYTES),
            area(7 * HUGE_BYTES, 7 * HUGE_BYTES + 4096, 0),
        ];
        let units = Units::from_areas(&areas, &(0..9).collect()).unwrap();
        assert_eq!(units.huge, BTreeSet::from([1, 2]));
        assert_eq!(units.page_of(HUGE_BYTES + 5000), (HUGE_BYTES, HUGE_BYTES));
        assert_eq!(units.page_of(5 * HUGE_BYTES + 5000), (5 * HUGE_BYTES + 4096, PAGE_BYTES));
    }

    #[test]
    fn own_memory_can_be_asked_about() {
        let memory = vec![1u8; 4 << 20];
        let units = Units::read(0, &[memory.as_ptr() as u64]).unwrap();
        let (first, bytes) = units.page_of(memory.as_ptr() as u64);
        assert!(first <= memory.as_ptr() as u64 && (bytes == PAGE_BYTES || bytes == HUGE_BYTES));
        assert!(matches!(Units::read(u32::MAX >> 1, &[0]), Err(MigrateError::Gone(_))));
    }
}
