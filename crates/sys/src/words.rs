//! Memory of 64-bit words that others may change at any time, seen as atomics only; and files that live in memory.
//!
//! A file mapped here must not shrink afterwards: an access behind its new end would kill with SIGBUS. Files made by
//! [`memory_file`] cannot.
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// Words of memory, mapped while this value lives.
#[derive(Debug)]
pub struct Words {
    start: NonNull<AtomicU64>,
    words: usize,
}

// SAFETY: the mapping is owned by this value, unmapped only in `drop`, and reached only through atomics.
unsafe impl Send for Words {}
// SAFETY: as above; every access through `&Words` is atomic.
unsafe impl Sync for Words {}

impl Words {
    /// Words of this process alone (and, as copies, of its children) that are 0 at first. Memory is taken page by page when
    /// they are first stored to.
    ///
    /// # Errors
    /// More than the address space holds, or what mmap(2) says.
    pub fn zeroed(words: usize) -> io::Result<Words> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        Words::map(words, flags, -1, 0)
    }

    /// The words of `file` from byte `offset_bytes` on, which is a multiple of the system's page size; stores reach
    /// everybody who maps the same file.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if the file is shorter than that, else what mmap(2) says: an offset inside a page,
    /// a file that may not be written.
    pub fn of_file(file: &File, offset_bytes: u64, words: usize) -> io::Result<Words> {
        let found = file.metadata()?.len();
        let needed = bytes_of(words)? as u64;
        if offset_bytes.checked_add(needed).is_none_or(|end| end > found) {
            let why = format!("the file has {found} bytes where {needed} from byte {offset_bytes} on were expected");
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        let offset = libc::off_t::try_from(offset_bytes).map_err(|_| io::ErrorKind::InvalidInput)?;
        Words::map(words, libc::MAP_SHARED | libc::MAP_NORESERVE, file.as_raw_fd(), offset)
    }

    /// Puts zeros in place of what is mapped there, in this process alone: from now on this memory is nobody else's. A child that
    /// was forked gives up so what it inherited.
    ///
    /// # Errors
    /// What mmap(2) says; then nothing has changed.
    pub fn detach(&self) -> io::Result<()> {
        if self.words == 0 {
            return Ok(());
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
        // SAFETY: the range is this value's own mapping, replaced as a whole in one step by one of the same length and protection: views
        // stay valid, and that words change at any time is what they expect.
        let done = unsafe { libc::mmap(self.start.as_ptr().cast(), self.words * 8, protection, flags, -1, 0) };
        if done == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn map(words: usize, flags: libc::c_int, file: libc::c_int, offset: libc::off_t) -> io::Result<Words> {
        let bytes = bytes_of(words)?;
        if bytes == 0 {
            return Ok(Words { start: NonNull::dangling(), words });
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh mapping at an address of the kernel's choice cannot disturb existing memory, and `file` is -1 or
        // valid for the duration of the call.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, file, offset) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mmap returned address 0"))?;
        Ok(Words { start, words })
    }
}

fn bytes_of(words: usize) -> io::Result<usize> {
    // No slice may be longer than isize::MAX bytes.
    let bytes = words.checked_mul(8).filter(|&b| b <= isize::MAX as usize);
    bytes.ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

impl Deref for Words {
    type Target = [AtomicU64];
    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: the mapping holds that many words, page aligned, and lives as long as `self`; without words the pointer
        // is aligned and not null. Any bit pattern is a valid word, and others who change it do so behind atomics.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        if self.words > 0 {
            // SAFETY: the mapping belongs to this value alone and no view can outlive it.
            unsafe { libc::munmap(self.start.as_ptr().cast(), self.words * 8) };
        }
    }
}

/// A new file of that many zero bytes that lives in memory and has no path: it can be mapped through this handle and by
/// the processes that inherit or are sent it (it stays open across execve). It cannot be shrunk, so that mappings of it
/// stay accessible. `name` is what /proc/PID/maps calls it.
///
/// # Errors
/// A name with a zero byte or of more than 249 bytes, more bytes than a file can have, no descriptor left.
pub fn memory_file(name: &str, bytes: u64) -> io::Result<File> {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
    // A kernel can be told to make no memory files that could be executed (vm.memfd_noexec); one before 6.3 does not know
    // the flag.
    let made = match memfd_create(name, MemfdFlags::ALLOW_SEALING | MemfdFlags::NOEXEC_SEAL) {
        Err(rustix::io::Errno::INVAL) => memfd_create(name, MemfdFlags::ALLOW_SEALING),
        other => other,
    };
    let file = File::from(made?);
    file.set_len(bytes)?;
    fcntl_add_seals(&file, SealFlags::SHRINK)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::sync::atomic::Ordering;

    #[test]
    fn words_are_zero_at_first_and_cost_nothing_until_stored_to() {
        let many = Words::zeroed(1 << 33).unwrap();
        assert_eq!((many.len(), many[0].load(Ordering::Relaxed)), (1 << 33, 0));
        many[(1 << 33) - 1].store(7, Ordering::Relaxed);
        assert_eq!(many[(1 << 33) - 1].load(Ordering::Relaxed), 7);
        assert!(Words::zeroed(0).unwrap().is_empty());
        for bad in [usize::MAX, usize::MAX / 8, usize::MAX / 8 + 1, 1 << 60] {
            assert_eq!(Words::zeroed(bad).unwrap_err().kind(), io::ErrorKind::OutOfMemory, "{bad}");
        }
    }

    #[test]
    fn words_of_a_file_are_shared_and_lie_inside_it() {
        let file = memory_file("words", 3 * 4096).unwrap();
        let (all, second) = (Words::of_file(&file, 0, 1536).unwrap(), Words::of_file(&file, 4096, 1024).unwrap());
        all[512].store(11, Ordering::Release);
        second[1023].store(12, Ordering::Release);
        assert_eq!((second[0].load(Ordering::Acquire), all[1535].load(Ordering::Acquire)), (11, 12));
        assert!(Words::of_file(&file, 4096, 0).unwrap().is_empty());
        for (offset, words) in [(0, 1537), (4096, 1025), (12_288, 1), (u64::MAX, 0), (u64::MAX - 4095, 512)] {
            let kind = Words::of_file(&file, offset, words).unwrap_err().kind();
            assert_eq!(kind, io::ErrorKind::InvalidData, "{offset} {words}");
        }
        assert_eq!(Words::of_file(&file, 8, 1).unwrap_err().kind(), io::ErrorKind::InvalidInput, "inside a page");
    }

    #[test]
    fn detached_words_are_nobody_elses() {
        let file = memory_file("detached", 8192).unwrap();
        let (kept, left) = (Words::of_file(&file, 0, 1024).unwrap(), Words::of_file(&file, 0, 1024).unwrap());
        left[1000].store(5, Ordering::Release);
        left.detach().unwrap();
        assert_eq!((kept[1000].load(Ordering::Acquire), left[1000].load(Ordering::Acquire)), (5, 0));
        left[7].store(6, Ordering::Release);
        assert_eq!(kept[7].load(Ordering::Acquire), 0);
        Words::zeroed(0).unwrap().detach().unwrap();
    }

    #[test]
    fn a_memory_file_grows_but_does_not_shrink_and_is_inherited() {
        let mut file = memory_file("sealed", 8192).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 8192);
        assert_eq!(file.set_len(4096).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        file.set_len(16_384).unwrap();
        file.write_all(b"x").unwrap();
        assert!(!rustix::io::fcntl_getfd(&file).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
        assert!(memory_file("a\0b", 1).is_err() && memory_file("big", u64::MAX).is_err());
    }
}
