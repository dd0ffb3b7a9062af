//! A signal that makes a thread of another process serve requests while it computes.
//!
//! The signal is a real-time one, of the numbers that are left to programs: each that is sent is delivered, also several of
//! them at a time, and a program that uses none itself never sees it.
use crate::check;
use std::io;
use std::sync::atomic::{AtomicPtr, Ordering};

static HANDLER: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// The number of the signal: SIGRTMIN + 3, where SIGRTMIN is the first that the C library leaves to programs.
pub fn signal() -> i32 {
    libc::SIGRTMIN() + 3
}

/// From now on `handler` runs in whichever thread of this process is interrupted; system calls are restarted, and errno is
/// the same afterwards. A later call replaces the handler. It may do only what is allowed in a signal handler: no
/// allocation and no lock that the interrupted thread may hold.
///
/// # Errors
/// What sigaction(2) says.
pub fn on_interrupt(handler: fn()) -> io::Result<()> {
    HANDLER.store(handler as *mut (), Ordering::Release);
    // SAFETY: sigaction is a plain C struct for which all-zero means default action, no flags, empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = serve as *const () as libc::sighandler_t;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: `serve` keeps errno and calls what the caller says may run in a signal handler.
    check(unsafe { libc::sigaction(signal(), &raw const action, std::ptr::null_mut()) }).map(drop)
}

extern "C" fn serve(_signal: libc::c_int) {
    let handler = HANDLER.load(Ordering::Acquire);
    if handler.is_null() {
        return;
    }
    // SAFETY: the only pointers ever stored are of functions of this type.
    let handler = unsafe { std::mem::transmute::<*mut (), fn()>(handler) };
    keep_errno(handler);
}

/// Runs `body` and leaves errno as it was: the code that a signal interrupted may be about to read it.
pub(crate) fn keep_errno<R>(body: impl FnOnce() -> R) -> R {
    // SAFETY: the C library returns the address of the calling thread's errno, which lives as long as the thread.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above; only this thread accesses it.
    let before = unsafe { errno.read() };
    let result = body();
    // SAFETY: as above.
    unsafe { errno.write(before) };
    result
}

/// Interrupts a thread of a process. False if there is no such thread any more.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] if so many signals wait already that the kernel queues no more (`ulimit -i`), else what
/// tgkill(2) says: a process of another user.
pub fn interrupt(process: u32, thread: u32) -> io::Result<bool> {
    let number = |n: u32| libc::pid_t::try_from(n).ok().filter(|&n| n > 0);
    let (Some(process), Some(thread)) = (number(process), number(thread)) else { return Ok(false) };
    // SAFETY: tgkill takes plain numbers, here of one process and one thread.
    let sent = unsafe { libc::syscall(libc::SYS_tgkill, process, thread, signal()) };
    match sent {
        0 => Ok(true),
        _ => match io::Error::last_os_error() {
            gone if gone.raw_os_error() == Some(libc::ESRCH) => Ok(false),
            error => Err(error),
        },
    }
}

/// Runs `body`, during which this thread is not interrupted: interruptions wait until it returns (or panics). Calls may
/// be nested.
pub fn blocked<R>(body: impl FnOnce() -> R) -> R {
    struct Unblock(libc::sigset_t);
    impl Drop for Unblock {
        fn drop(&mut self) {
            // SAFETY: the set is what the kernel returned; only this thread's mask changes.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
        }
    }
    let only = set_of(&[signal()]);
    let mut before = Unblock(set_of(&[]));
    // SAFETY: both sets are valid; only this thread's mask changes.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const only, &raw mut before.0) };
    body()
}

/// The set of these signals; numbers that are no signals are left out.
pub(crate) fn set_of(signals: &[i32]) -> libc::sigset_t {
    // SAFETY: sigset_t is a plain array of bits for which all-zero is valid.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is valid; sigaddset refuses numbers out of range.
    unsafe { libc::sigemptyset(&raw mut set) };
    for signal in signals {
        // SAFETY: as above.
        unsafe { libc::sigaddset(&raw mut set, *signal) };
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_nobody_are_no_threads() {
        for (process, thread) in [(0, 0), (0, 1), (1, 0), (u32::MAX, 1), (std::process::id(), i32::MAX as u32)] {
            assert!(!interrupt(process, thread).unwrap(), "{process} {thread}");
        }
    }
}
