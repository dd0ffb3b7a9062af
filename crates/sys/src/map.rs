//! Files mapped shared with another process, seen as atomics only.
//!
//! Another process may change a mapped byte at any time, so no `&[u8]` or `&u64` into a mapping is ever handed out: views
//! are atomics or copies made with atomic loads, which on the supported processors are as fast as plain ones. The one
//! thing a mapping cannot defend against is a file that *shrinks* afterwards (SIGBUS); files are opened by exact size, live
//! in the recorder's own directory, and their owner never truncates them.
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A file of known size mapped readable and, if asked, writable, shared.
#[derive(Debug)]
pub struct SharedMap {
    start: NonNull<u8>,
    len: usize,
    writable: bool,
}

// SAFETY: the mapping is owned by this value, unmapped only in `drop`, and reached only through atomics.
unsafe impl Send for SharedMap {}
// SAFETY: as above; every access through `&SharedMap` is atomic.
unsafe impl Sync for SharedMap {}

impl SharedMap {
    /// Maps the whole of `file`, which must have exactly `len` bytes.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if the size differs or is 0 (mapping past the end of a file would kill with SIGBUS),
    /// else what mmap(2) says.
    pub fn of_file(file: &File, len: u64, writable: bool) -> io::Result<SharedMap> {
        let found = file.metadata()?.len();
        let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
        if found != len {
            return Err(invalid(format!("the file has {found} bytes where {len} were expected")));
        }
        let size = usize::try_from(len).ok().filter(|&n| n > 0).ok_or_else(|| invalid("the file is empty".into()))?;
        let protection = if writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        // SAFETY: a fresh mapping at an address of the kernel's choice cannot disturb existing memory; the descriptor is
        // valid for the duration of the call and `size` bytes of the file exist.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), size, protection, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mmap returned address 0"))?;
        Ok(SharedMap { start, len: size, writable })
    }

    /// Opens and maps `path`; see [`SharedMap::of_file`]. Symbolic links are not followed and only regular files are
    /// accepted, since the directory may hold anything.
    pub fn open(path: &Path, len: u64, writable: bool) -> io::Result<SharedMap> {
        use std::os::unix::fs::OpenOptionsExt;
        let mut options = File::options();
        options.read(true).write(writable).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let file = options.open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a regular file"));
        }
        SharedMap::of_file(&file, len, writable)
    }

    /// Bytes mapped.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Never true: an empty file is refused.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Whether [`SharedMap::u32_mut`] and [`SharedMap::u64_mut`] hand out words to store to: on a read-only mapping they
    /// return `None`, since a store would kill the process.
    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// Copies the 16-byte slots that start at byte `offset` into `out` with relaxed loads; the caller has first loaded the
    /// word that published them with acquire order. False, and nothing copied, outside the file or unaligned.
    ///
    /// A copy, because the other process may misbehave: what is decoded must not change while it is decoded. One batch of
    /// 1 KiB stays in the first-level cache, so this costs about half a nanosecond a slot.
    #[inline]
    pub fn copy_slots(&self, offset: u64, out: &mut [[u64; 2]]) -> bool {
        let Some(at) = self.place(offset, out.len() * 16, 8) else { return false };
        // SAFETY: `place` checked that the words lie inside the mapping, aligned; they are only loaded, atomically, so a
        // read-only mapping and a concurrent writer are fine; any bit pattern is a valid u64.
        let words = unsafe { std::slice::from_raw_parts(at.cast::<[AtomicU64; 2]>().as_ptr(), out.len()) };
        for (to, from) in out.iter_mut().zip(words) {
            *to = [from[0].load(Ordering::Relaxed), from[1].load(Ordering::Relaxed)];
        }
        true
    }
    /// Copies bytes into `out`, word by word. False, and nothing copied, unless `offset` is a multiple of 8, the length is
    /// too, and all lie inside the file.
    pub fn copy_bytes(&self, offset: u64, out: &mut [u8]) -> bool {
        if !out.len().is_multiple_of(8) || self.place(offset, out.len(), 8).is_none() {
            return false;
        }
        for (i, chunk) in out.chunks_exact_mut(8).enumerate() {
            let word = self.load_u64(offset + 8 * i as u64).unwrap_or(0);
            chunk.copy_from_slice(&word.to_ne_bytes());
        }
        true
    }
    /// The 32-bit word at byte `offset`, for loading and, if the map is writable, storing.
    #[inline]
    pub fn u32_mut(&self, offset: u64) -> Option<&AtomicU32> {
        let at = self.place(offset, 4, 4).filter(|_| self.writable)?;
        // SAFETY: checked by `place`; the mapping lives as long as `self` and is writable.
        Some(unsafe { AtomicU32::from_ptr(at.cast().as_ptr()) })
    }
    /// The 64-bit word at byte `offset`, for loading and storing.
    #[inline]
    pub fn u64_mut(&self, offset: u64) -> Option<&AtomicU64> {
        let at = self.place(offset, 8, 8).filter(|_| self.writable)?;
        // SAFETY: checked by `place`; the mapping lives as long as `self` and is writable.
        Some(unsafe { AtomicU64::from_ptr(at.cast().as_ptr()) })
    }
    /// Loads the 32-bit word at byte `offset` with acquire order.
    #[inline]
    pub fn load_u32(&self, offset: u64) -> Option<u32> {
        let at = self.place(offset, 4, 4)?;
        // SAFETY: checked by `place`; only loaded from, so a read-only mapping is fine.
        Some(unsafe { AtomicU32::from_ptr(at.cast().as_ptr()) }.load(Ordering::Acquire))
    }
    /// Loads the 64-bit word at byte `offset` with acquire order.
    #[inline]
    pub fn load_u64(&self, offset: u64) -> Option<u64> {
        let at = self.place(offset, 8, 8)?;
        // SAFETY: checked by `place`; only loaded from, so a read-only mapping is fine.
        Some(unsafe { AtomicU64::from_ptr(at.cast().as_ptr()) }.load(Ordering::Acquire))
    }

    fn place(&self, offset: u64, bytes: usize, align: usize) -> Option<NonNull<u8>> {
        let from = usize::try_from(offset).ok()?;
        let end = from.checked_add(bytes)?;
        if end > self.len || !from.is_multiple_of(align) {
            return None;
        }
        // SAFETY: `from <= len`, so the result stays inside the mapping or one past its end.
        Some(unsafe { self.start.add(from) })
    }
}

impl Drop for SharedMap {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this value alone and no view can outlive it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn file_of(bytes: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        File::create(&path).unwrap().write_all(bytes).unwrap();
        (dir, path)
    }

    #[test]
    fn wrong_sizes_links_and_directories_are_refused() {
        let (dir, path) = file_of(&[7; 4096]);
        for len in [0, 1, 4095, 4097, u64::MAX] {
            assert_eq!(SharedMap::open(&path, len, true).unwrap_err().kind(), io::ErrorKind::InvalidData, "{len}");
        }
        let (_empty_dir, empty) = file_of(&[]);
        assert_eq!(SharedMap::open(&empty, 0, false).unwrap_err().kind(), io::ErrorKind::InvalidData);
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(SharedMap::open(&link, 4096, false).is_err());
        assert!(SharedMap::open(dir.path(), 4096, false).is_err());
    }

    #[test]
    fn offsets_outside_the_file_or_unaligned_are_none_and_stores_reach_the_other_mapping() {
        let (_dir, path) = file_of(&[0; 4096]);
        let (a, b) = (SharedMap::open(&path, 4096, true).unwrap(), SharedMap::open(&path, 4096, false).unwrap());
        a.u64_mut(4088).unwrap().store(0x0102_0304_0506_0708, Ordering::Release);
        assert_eq!((b.load_u64(4088), b.load_u32(4092)), (Some(0x0102_0304_0506_0708), Some(0x0102_0304)));
        let mut slots = [[0; 2]; 2];
        assert!(b.copy_slots(4064, &mut slots));
        assert_eq!(slots, [[0, 0], [0, 0x0102_0304_0506_0708]]);
        assert!(!b.copy_slots(4072, &mut slots) && !b.copy_slots(1, &mut slots) && !b.copy_slots(u64::MAX, &mut slots));
        let mut bytes = [0; 16];
        assert!(b.copy_bytes(4080, &mut bytes) && !b.copy_bytes(4084, &mut bytes) && !b.copy_bytes(4088, &mut bytes));
        assert_eq!(bytes[8..], 0x0102_0304_0506_0708_u64.to_ne_bytes());
        for bad in [4089, 4092, 4096, u64::MAX] {
            assert!(a.u64_mut(bad).is_none() && b.load_u64(bad).is_none(), "{bad}");
        }
        assert!(a.u32_mut(4092).is_some() && a.u32_mut(4094).is_none());
        assert!(b.u64_mut(0).is_none() && b.u32_mut(0).is_none(), "a read-only map hands out nothing to store to");
    }
}
