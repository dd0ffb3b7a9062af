//! Harmless attempts that tell whether the kernel grants something. Each leaves the process as it was.
use crate::perf::attr::flag;
use crate::perf::{Attr, Event};
use crate::{check, numa};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// Opens the page-fault event of the calling thread, user level only, and closes it.
///
/// # Errors
/// EACCES (perf_event_paranoid), EPERM or ENOSYS (a filter of system calls, or a kernel without performance events).
pub fn fault_event() -> io::Result<()> {
    const SOFTWARE: u32 = 1;
    const PAGE_FAULTS: u64 = 2;
    let attr = Attr::new(SOFTWARE, PAGE_FAULTS).with(flag::EXCLUDE_KERNEL | flag::EXCLUDE_HV);
    Event::open(&attr, Some(0), None, None).map(drop)
}

/// Makes a descriptor for user-level page faults and closes it.
///
/// # Errors
/// ENOSYS, EPERM.
pub fn userfaultfd() -> io::Result<()> {
    const USER_MODE_ONLY: libc::c_int = 1;
    // SAFETY: the call takes plain flags and returns a new descriptor or -1.
    let fd = unsafe { libc::syscall(libc::SYS_userfaultfd, USER_MODE_ONLY | libc::O_CLOEXEC) };
    let fd = check(i32::try_from(fd).unwrap_or(-1))?;
    // SAFETY: the kernel just returned this descriptor, so nothing else owns it.
    drop(unsafe { OwnedFd::from_raw_fd(fd) });
    Ok(())
}

/// Switches Syscall User Dispatch off, which it is.
///
/// # Errors
/// EINVAL on a kernel or processor without it.
pub fn user_dispatch() -> io::Result<()> {
    const PR_SET_SYSCALL_USER_DISPATCH: libc::c_int = 59;
    const OFF: libc::c_ulong = 0;
    let zero: libc::c_ulong = 0;
    // SAFETY: switching off takes no addresses; all other arguments must be 0.
    check(unsafe { libc::prctl(PR_SET_SYSCALL_USER_DISPATCH, OFF, zero, zero, zero) }).map(drop)
}

/// Asks where a page of this process is, and moves it to where it is.
///
/// # Errors
/// ENOSYS, EPERM.
pub fn move_pages() -> io::Result<()> {
    let page = Box::new([1u8; 64]);
    let address = [page.as_ptr() as u64 & !4095];
    let mut status = [numa::UNTOUCHED];
    numa::query_pages(0, &address, &mut status)?;
    // A page without a node (-ENOENT) cannot be moved to it; that the question was answered is enough then.
    if status[0] < 0 {
        return Ok(());
    }
    numa::move_pages(0, &address, &[status[0]], &mut [numa::UNTOUCHED], false).map(drop)
}

/// Binds fresh memory of this process to a node that it may use.
///
/// # Errors
/// ENOSYS, EPERM.
pub fn mbind() -> io::Result<()> {
    let buffer = crate::chase::Buffer::map(4096, false)?;
    let nodes = numa::allowed_nodes()?;
    numa::mbind(buffer.address(), 4096, numa::Mode::Preferred as i32, &nodes[..nodes.len().min(1)], 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_granted_or_refused_with_a_number_and_leave_no_descriptor_open() {
        let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        for attempt in [fault_event, userfaultfd, user_dispatch, move_pages, mbind] {
            attempt().ok();
            let before = open();
            let mut fewest = usize::MAX;
            for _ in 0..20 {
                if let Err(e) = attempt() {
                    assert!(e.raw_os_error().is_some(), "{e}");
                }
                fewest = fewest.min(open());
            }
            // Other tests open files at the same time, but not more and more of them.
            assert!(fewest <= before + 10, "{fewest} {before}");
        }
    }
}
