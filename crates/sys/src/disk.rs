//! Disk space and file attributes.
use crate::check;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Makes `file` at least `bytes` long with its blocks allocated, so that stores through a mapping of it cannot fail for want
/// of space. Writes zeros where the file system cannot allocate ahead.
pub fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    let len = libc::off_t::try_from(bytes).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
    // SAFETY: posix_fallocate uses only the descriptor, which is valid for the call. It returns the error number itself.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, len) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Has the file system give `file` blocks for `bytes` bytes from byte `from` on, in the same way; nothing of it is written.
pub fn allocate_part(file: &File, from: u64, bytes: u64) -> io::Result<()> {
    Ok(rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), from, bytes)?)
}

/// Bytes that an unprivileged user may still write on the file system of `path`.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let path = c_path(path)?;
    // SAFETY: statvfs is a plain C struct for which all-zero is a valid value.
    let mut stat: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are valid for the call.
    check(unsafe { libc::statvfs(path.as_ptr(), &raw mut stat) })?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Whether the files of the file system of `path` lie in memory (tmpfs).
pub fn is_in_memory(path: &Path) -> bool {
    const TMPFS: u64 = 0x0102_1994;
    rustix::fs::statfs(path).is_ok_and(|s| s.f_type as u64 == TMPFS)
}

/// Whether the file carries capabilities (setcap), which make the kernel start it in secure mode as setuid does.
pub fn has_file_capabilities(path: &Path) -> bool {
    let Ok(path) = c_path(path) else { return false };
    // SAFETY: both strings are NUL-terminated; a size of 0 asks for the length only, so the value pointer is not used.
    unsafe { libc::getxattr(path.as_ptr(), c"security.capability".as_ptr(), std::ptr::null_mut(), 0) > 0 }
}

/// The effective user and group of this process.
pub fn effective_ids() -> (u32, u32) {
    // SAFETY: these calls have no argument and cannot fail.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// Limits the size of files that this process may write, and has writes beyond it fail with EFBIG instead of a signal: what
/// a full disk does, for tests. Cannot be undone by an unprivileged process.
pub fn limit_file_size(bytes: u64) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: ignoring a signal installs no handler; setrlimit only reads the struct.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        check(libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit))?;
    }
    Ok(())
}

fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocated_files_have_their_blocks() {
        use std::os::unix::fs::MetadataExt;
        let file = tempfile::tempfile().unwrap();
        allocate(&file, 1 << 20).unwrap();
        let meta = file.metadata().unwrap();
        assert_eq!(meta.len(), 1 << 20);
        assert!(meta.blocks() * 512 >= 1 << 20, "sparse");
        assert!(allocate(&file, u64::MAX).is_err());
    }

    #[test]
    fn questions_about_missing_files_are_errors_and_not_panics() {
        assert!(free_bytes(Path::new("/")).unwrap() > 0);
        assert!(free_bytes(Path::new("/no/such")).is_err());
        assert!(!is_in_memory(Path::new("/proc")) && !is_in_memory(Path::new("/no/such")));
        assert!(!has_file_capabilities(Path::new("/no/such")));
        assert!(!has_file_capabilities(Path::new("nul\0inside")));
    }
}
