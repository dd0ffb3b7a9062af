//! The AUX area: a second ring beside the first, into which the processor itself writes trace data (ARM SPE).
use super::ring::{Ring, copy_wrapped, map_shared};
use super::{Event, invalid, page_bytes};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

// Offsets in `struct perf_event_mmap_page`.
const AUX_HEAD: usize = 1056;
const AUX_TAIL: usize = 1064;
const AUX_OFFSET: usize = 1072;
const AUX_SIZE: usize = 1080;

/// A ring with a mapped AUX area, whose bounds stand in the ring's first page.
#[derive(Debug)]
pub struct AuxRing {
    ring: Ring,
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping is owned by this value and read only through `&mut self`.
unsafe impl Send for AuxRing {}

impl AuxRing {
    /// Maps a ring of `data_bytes` and an AUX area of `aux_bytes` (each rounded up to a power of two of pages) for `event`.
    ///
    /// # Errors
    /// EOPNOTSUPP for events that have no such area; else as [`Ring::map`].
    pub fn map(event: &Event, data_bytes: usize, aux_bytes: usize) -> io::Result<AuxRing> {
        let ring = Ring::map(event, data_bytes)?;
        let page = page_bytes();
        let pages = aux_bytes.div_ceil(page).max(1).checked_next_power_of_two();
        let bytes = pages.and_then(|n| n.checked_mul(page)).ok_or_else(|| invalid("the AUX area is too large"))?;
        let offset = (page + ring.bytes()) as u64;
        ring.word(AUX_OFFSET).store(offset, Ordering::Relaxed);
        ring.word(AUX_SIZE).store(bytes as u64, Ordering::Release);
        let start = map_shared(event, bytes, offset)?;
        Ok(AuxRing { ring, start, bytes })
    }

    /// The ring of records.
    pub fn ring(&mut self) -> &mut Ring {
        &mut self.ring
    }

    /// Appends everything that the processor has written so far to `out` and frees the room. Returns the bytes appended.
    pub fn drain(&mut self, out: &mut Vec<u8>) -> usize {
        let head = self.ring.word(AUX_HEAD).load(Ordering::Acquire);
        let tail = self.ring.word(AUX_TAIL).load(Ordering::Relaxed);
        let waiting = usize::try_from(head.wrapping_sub(tail)).unwrap_or(usize::MAX);
        let sound = waiting <= self.bytes;
        if sound {
            // SAFETY: the mapping is `bytes` long; the processor does not write between tail and head.
            let area = unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) };
            copy_wrapped(area, tail, waiting, out);
        }
        self.ring.word(AUX_TAIL).store(head, Ordering::Release);
        if sound { waiting } else { 0 }
    }
}

impl Drop for AuxRing {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this value alone and no view outlives it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
