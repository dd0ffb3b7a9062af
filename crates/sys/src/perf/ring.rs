//! The ring into which the kernel writes an event's records.
//!
//! First page: a header with `data_head` (moved by the kernel) and `data_tail` (moved by the reader). Bytes between tail and
//! head belong to the reader: the kernel drops new records rather than write there, so plain copies are sound.
use super::{Event, invalid, page_bytes};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

// Offsets in `struct perf_event_mmap_page`.
const DATA_HEAD: usize = 1024;
const DATA_TAIL: usize = 1032;

/// A mapped ring; unmapped when dropped. The event stays open by its own value, and the mapping keeps the ring alive.
#[derive(Debug)]
pub struct Ring {
    start: NonNull<u8>,
    page: usize,
    data: usize,
}

// SAFETY: the mapping is owned by this value and read only through `&mut self` or atomics.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps a ring of `data_bytes` (rounded up to a power of two of pages) for `event`.
    ///
    /// # Errors
    /// EPERM beyond `kernel.perf_event_mlock_kb` without privilege, EINVAL for an inherited event of all processors.
    pub fn map(event: &Event, data_bytes: usize) -> io::Result<Ring> {
        let page = page_bytes();
        let pages = data_bytes.div_ceil(page).max(1).checked_next_power_of_two();
        let data = pages.and_then(|n| n.checked_mul(page)).ok_or_else(|| invalid("the ring is too large"))?;
        let all = data.checked_add(page).ok_or_else(|| invalid("the ring is too large"))?;
        let start = map_shared(event, all, 0)?;
        Ok(Ring { start, page, data })
    }

    /// Appends every record written so far to `out` and frees the room. Returns the bytes appended.
    pub fn drain(&mut self, out: &mut Vec<u8>) -> usize {
        // Acquire pairs with the kernel's barrier between writing records and moving the head.
        let head = self.word(DATA_HEAD).load(Ordering::Acquire);
        let tail = self.word(DATA_TAIL).load(Ordering::Relaxed);
        let waiting = usize::try_from(head.wrapping_sub(tail)).unwrap_or(usize::MAX);
        if waiting <= self.data {
            // SAFETY: the data area begins one page into the mapping and is `data` bytes long; what lies between tail
            // and head is not written by the kernel until the tail moves.
            let area = unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(self.page), self.data) };
            copy_wrapped(area, tail, waiting, out);
        }
        // Release: the copies above must be done before the kernel may overwrite.
        self.word(DATA_TAIL).store(head, Ordering::Release);
        if waiting <= self.data { waiting } else { 0 }
    }

    /// Bytes that the ring holds.
    pub fn bytes(&self) -> usize {
        self.data
    }

    pub(super) fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the offsets used lie in the first page, aligned to 8; the mapping is writable and lives as long as `self`.
        unsafe { AtomicU64::from_ptr(self.start.as_ptr().add(offset).cast()) }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this value alone and no view outlives it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.page + self.data) };
    }
}

/// Appends `bytes` bytes of a ring from position `tail` on; the length of `area` is a power of two.
pub(super) fn copy_wrapped(area: &[u8], tail: u64, bytes: usize, out: &mut Vec<u8>) {
    let from = (tail & (area.len() as u64 - 1)) as usize;
    let first = bytes.min(area.len() - from);
    out.extend_from_slice(&area[from..from + first]);
    out.extend_from_slice(&area[..bytes - first]);
}

/// Maps `bytes` of the event's descriptor from `offset`.
pub(super) fn map_shared(event: &Event, bytes: usize, offset: u64) -> io::Result<NonNull<u8>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let offset = libc::off_t::try_from(offset).map_err(|_| invalid("no such offset"))?;
    let fd = event.raw();
    // SAFETY: a fresh mapping at an address of the kernel's choice cannot disturb existing memory.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, libc::MAP_SHARED, fd, offset) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mmap returned address 0"))
}
