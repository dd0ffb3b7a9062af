//! Who writes to standard output.
use crate::check;
use std::fs::File;
use std::io;
use std::os::fd::FromRawFd;

/// Standard output for results alone: the file returned is what standard output was; from now on whatever this process and
/// the programs that it starts write to standard output goes to standard error. Programs that are started do not get the
/// file.
///
/// # Errors
/// Standard output or standard error is closed, or there is no descriptor left.
pub fn results_only() -> io::Result<File> {
    // SAFETY: duplicating takes plain numbers; a descriptor that is not open is an error.
    let kept = check(unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_DUPFD_CLOEXEC, 3) })?;
    // SAFETY: `kept` was just made and belongs to nobody else.
    let kept = unsafe { File::from_raw_fd(kept) };
    // SAFETY: as above; Rust's handle of standard output names the number, not the file behind it.
    check(unsafe { libc::dup2(libc::STDERR_FILENO, libc::STDOUT_FILENO) })?;
    Ok(kept)
}
