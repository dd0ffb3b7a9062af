//! Userfaultfd for memory files: pages of a mapping that fault with SIGBUS until they are mapped, read-only or writable.
//!
//! Numbers and layouts are those of the kernel's header `linux/userfaultfd.h`, which the C library's crate does not have.
//! Faults in the kernel's own accesses (system calls that are handed such memory) are not trapped: the call fails with
//! EFAULT. That needs no privilege.
use crate::check;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const USER_MODE_ONLY: libc::c_int = 1;
const API: u64 = 0xAA;
const FEATURES: u64 = {
    let (sigbus, minor_shmem, write_protect_shmem) = (1 << 7, 1 << 10, 1 << 12);
    sigbus | minor_shmem | write_protect_shmem
};
/// Traps for pages that the file does not have, pages that are write-protected, and pages that are not mapped.
const REGISTER_MODES: u64 = {
    let (missing, write_protect, minor) = (1 << 0, 1 << 1, 1 << 2);
    missing | write_protect | minor
};
/// Nobody sleeps in a fault: all get SIGBUS.
const CONTINUE_DONT_WAKE: u64 = 1 << 0;
/// Since Linux 6.4.
const CONTINUE_WRITE_PROTECTED: u64 = 1 << 1;
const PROTECT: u64 = 1 << 0;
const UNPROTECT_DONT_WAKE: u64 = 1 << 1;

#[repr(C)]
struct Api {
    api: u64,
    features: u64,
    ioctls: u64,
}
#[repr(C)]
struct Register {
    start: u64,
    bytes: u64,
    mode: u64,
    ioctls: u64,
}
#[repr(C)]
struct WriteProtect {
    start: u64,
    bytes: u64,
    mode: u64,
}
#[repr(C)]
struct Continue {
    start: u64,
    bytes: u64,
    mode: u64,
    /// Bytes that the kernel mapped, or an error number below 0.
    mapped: i64,
}

/// A range of this process's addresses whose faults are trapped, as long as this value lives.
#[derive(Debug)]
pub(crate) struct Userfault {
    handle: OwnedFd,
    page_bytes: usize,
    /// This process, for requests about several ranges at a time; a kernel that has userfaultfd has it.
    own: OwnedFd,
}

/// Ranges that one request unmaps, at most.
const BATCH: usize = 64;

impl Userfault {
    /// Traps every access to `range`, which is a shared mapping of a memory file.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`], and which part this kernel does not have or permit.
    pub(crate) fn trap(range: Range<usize>, page_bytes: usize) -> io::Result<Userfault> {
        let lacks = |what: &str, error: io::Error| {
            io::Error::new(io::ErrorKind::Unsupported, format!("this kernel does not offer {what}: {error}"))
        };
        let flags = libc::O_CLOEXEC | USER_MODE_ONLY;
        // SAFETY: userfaultfd takes plain numbers and returns a new descriptor or -1.
        let handle = unsafe { libc::syscall(libc::SYS_userfaultfd, flags) };
        if handle < 0 {
            return Err(lacks("userfaultfd", io::Error::last_os_error()));
        }
        // SAFETY: the kernel just returned this descriptor, so nothing else owns it; descriptors are ints.
        let handle = unsafe { OwnedFd::from_raw_fd(handle as libc::c_int) };
        // SAFETY: pidfd_open takes plain numbers and returns a new descriptor or -1.
        let own = unsafe { libc::syscall(libc::SYS_pidfd_open, libc::getpid(), 0) };
        if own < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: as above.
        let own = unsafe { OwnedFd::from_raw_fd(own as libc::c_int) };
        let kernel = Userfault { handle, page_bytes, own };
        let mut api = Api { api: API, features: FEATURES, ioctls: 0 };
        kernel.ioctl(0x3F, &mut api).map_err(|e| lacks("traps by SIGBUS for memory files", e))?;
        let (start, bytes) = (range.start as u64, range.len() as u64);
        let mut register = Register { start, bytes, mode: REGISTER_MODES, ioctls: 0 };
        kernel.ioctl(0x00, &mut register).map_err(|e| lacks("userfaultfd for this file", e))?;
        match kernel.try_map(&(range.start..range.start + page_bytes), true) {
            // The file has no such page, or we have just mapped it: either way the request is known.
            (_, Err(error)) if error.raw_os_error() == Some(libc::EINVAL) => Err(lacks("read-only mapping", error)),
            (0, _) => Ok(kernel),
            _ => unmap(&(range.start..range.start + page_bytes)).map(|()| kernel),
        }
    }

    /// Closes what it was made of, which a forked child inherited: it would reach into the parent's memory. Requests fail from then on.
    pub(crate) fn give_up(&self) -> io::Result<()> {
        let nothing = std::fs::File::open("/dev/null")?;
        for handle in [&self.handle, &self.own] {
            // SAFETY: the number stays open and this value's, as something that takes no request; dup3 takes plain numbers.
            check(unsafe { libc::dup3(nothing.as_raw_fd(), handle.as_raw_fd(), libc::O_CLOEXEC) })?;
        }
        Ok(())
    }

    /// Maps pages, read-only if so told, whatever they were before. Where the file has no page, `fill` is asked to make
    /// those of the range that it is given.
    pub(crate) fn map(
        &self,
        range: Range<usize>,
        read_only: bool,
        mut fill: impl FnMut(Range<usize>) -> io::Result<()>,
    ) -> io::Result<()> {
        let Range { start: mut at, end } = range;
        let (mut protected, mut filled) = (false, at);
        while at < end {
            let (mapped, result) = self.try_map(&(at..end), read_only);
            at += mapped;
            match result {
                Ok(()) => {}
                Err(_) if mapped > 0 => {}
                Err(error) => match error.raw_os_error() {
                    Some(libc::EAGAIN) => std::hint::spin_loop(),
                    // This page was mapped before, and maybe others behind it.
                    Some(libc::EEXIST) => {
                        if !protected {
                            self.protect(&(at..end), read_only)?;
                            protected = true;
                        }
                        at += self.page_bytes;
                    }
                    Some(libc::EFAULT) if at >= filled => {
                        fill(at..end)?;
                        filled = end;
                    }
                    _ => return Err(error),
                },
            }
        }
        Ok(())
    }

    /// Bytes that were mapped, and why not all.
    fn try_map(&self, range: &Range<usize>, read_only: bool) -> (usize, io::Result<()>) {
        let mode = CONTINUE_DONT_WAKE | if read_only { CONTINUE_WRITE_PROTECTED } else { 0 };
        let mut request = Continue { start: range.start as u64, bytes: range.len() as u64, mode, mapped: 0 };
        let result = self.ioctl(0x07, &mut request);
        (usize::try_from(request.mapped).map_or(0, |n| n.min(range.len())), result)
    }

    /// Makes pages that are mapped read-only, or writable. The others stay unmapped.
    pub(crate) fn protect(&self, range: &Range<usize>, read_only: bool) -> io::Result<()> {
        let mode = if read_only { PROTECT } else { UNPROTECT_DONT_WAKE };
        let mut request = WriteProtect { start: range.start as u64, bytes: range.len() as u64, mode };
        loop {
            match self.ioctl(0x06, &mut request) {
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => std::hint::spin_loop(),
                other => return other,
            }
        }
    }

    /// Unmaps pages as [`unmap`] does, with few requests for many ranges, which takes about a third off the
    /// cost of each.
    pub(crate) fn unmap_all(&self, mut ranges: impl Iterator<Item = Range<usize>>) -> io::Result<()> {
        loop {
            let mut batch = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; BATCH];
            let mut count = 0;
            for (slot, range) in batch.iter_mut().zip(&mut ranges) {
                *slot = libc::iovec { iov_base: range.start as *mut libc::c_void, iov_len: range.len() };
                count += 1;
            }
            let batch = &batch[..count];
            let bytes: usize = batch.iter().map(|b| b.iov_len).sum();
            if count == 0 {
                return Ok(());
            }
            let (own, advice) = (self.own.as_raw_fd(), libc::MADV_DONTNEED);
            // SAFETY: as in `unmap`, for the ranges in the array, which outlives the call.
            let done = unsafe { libc::syscall(libc::SYS_process_madvise, own, batch.as_ptr(), count, advice, 0) };
            // A kernel before 6.13 does not permit this advice, and a request may be done in part.
            if usize::try_from(done) != Ok(bytes) {
                for range in batch {
                    unmap(&(range.iov_base as usize..range.iov_base as usize + range.iov_len))?;
                }
            }
        }
    }

    fn ioctl<T>(&self, number: u8, argument: &mut T) -> io::Result<()> {
        let request = rustix::ioctl::opcode::read_write::<T>(API as u8, number);
        // SAFETY: the request's number says the size of `T`, and the types above have the layouts that the kernel expects
        // under their numbers. What the kernel does to pages affects no memory that is reached through references: only
        // which accesses through the range given to `trap` fault. It refuses addresses outside that range.
        match unsafe { libc::ioctl(self.handle.as_raw_fd(), request as libc::Ioctl, &raw mut *argument) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }
}

/// Unmaps pages of a shared mapping, whose file keeps the content.
pub(crate) fn unmap(range: &Range<usize>) -> io::Result<()> {
    // SAFETY: of shared mappings only page-table entries go; the pages are mapped again, or trapped, at the next access.
    // Callers pass ranges of the application's view only.
    crate::check(unsafe { libc::madvise(range.start as *mut libc::c_void, range.len(), libc::MADV_DONTNEED) }).map(drop)
}
