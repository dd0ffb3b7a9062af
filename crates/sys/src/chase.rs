//! Memory for measurements: mapped but untouched, so that a policy can be set first, and lines thrown out of the caches.
use std::io;
use std::ptr::NonNull;

/// Private anonymous memory, zero until written.
#[derive(Debug)]
pub struct Buffer {
    start: NonNull<u64>,
    words: usize,
}

// SAFETY: the mapping is private to this value, which hands out references by the borrowing rules only.
unsafe impl Send for Buffer {}
// SAFETY: as above; shared access is read-only.
unsafe impl Sync for Buffer {}

/// Huge page size that mappings are aligned to.
const HUGE: usize = 2 << 20;

impl Buffer {
    /// Maps at least `bytes`, rounded up to 2 MiB, and asks the kernel for huge pages or for none. No page is touched.
    ///
    /// # Errors
    /// What mmap(2) says: ENOMEM. A kernel without transparent huge pages is no error.
    pub fn map(bytes: usize, huge: bool) -> io::Result<Buffer> {
        let size = bytes.max(1).checked_next_multiple_of(HUGE).ok_or(io::ErrorKind::OutOfMemory)?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a fresh mapping at an address of the kernel's choice cannot disturb existing memory.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let advice = if huge { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
        // SAFETY: advice on the mapping just made; it does not change contents.
        unsafe { libc::madvise(start, size, advice) };
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mmap returned address 0"))?;
        Ok(Buffer { start, words: size / 8 })
    }
    /// Address of the first byte.
    pub fn address(&self) -> u64 {
        self.start.as_ptr() as u64
    }
    /// Bytes mapped.
    pub fn bytes(&self) -> usize {
        self.words * 8
    }
    /// The contents.
    pub fn words(&self) -> &[u64] {
        // SAFETY: `words` words are mapped readable for as long as this value lives, and private anonymous memory is
        // initialised to zero; writers need `&mut self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }
    /// The contents, to be written.
    pub fn words_mut(&mut self) -> &mut [u64] {
        // SAFETY: as in `words`; the exclusive borrow excludes every other reference.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.words) }
    }
    /// Throws all lines out of all caches where the processor has an instruction for that; says whether it has.
    pub fn flush(&self) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            for line in self.words().chunks(8) {
                // SAFETY: the address is mapped; flushing writes back what is dirty and changes no contents.
                unsafe { std::arch::x86_64::_mm_clflush(line.as_ptr().cast()) };
            }
            // SAFETY: a fence has no operands.
            unsafe { std::arch::x86_64::_mm_mfence() };
            true
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            false
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping and no reference into it outlives it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.words * 8) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_zero_until_written_and_keeps_what_is_written() {
        for huge in [false, true] {
            let mut buffer = Buffer::map(3 << 20, huge).unwrap();
            assert_eq!((buffer.bytes(), buffer.address() % 4096), (4 << 20, 0));
            assert!(buffer.words().iter().all(|w| *w == 0));
            buffer.words_mut().iter_mut().zip(0..).for_each(|(w, i)| *w = i);
            buffer.flush();
            assert!(buffer.words().iter().zip(0..).all(|(w, i)| *w == i));
        }
        assert!(Buffer::map(usize::MAX, false).is_err());
        assert!(Buffer::map(1 << 62, false).is_err());
    }
}
