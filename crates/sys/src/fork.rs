//! Children that go on with the memory of this process: forked while it has one thread only.
use crate::check;
use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long [`alone`] waits for threads that have been joined but that the kernel has not yet taken off its list.
const ENDING_THREADS: Duration = Duration::from_millis(200);
/// The process that [`fork_alone`] made this one from; 0 if it did not.
static PARENT: AtomicI32 = AtomicI32::new(0);
/// Forks between the program's start and this process.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Which of the two processes after [`fork_alone`] this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forked {
    /// The one that forked; the child has this process id.
    Parent(u32),
    /// The new one.
    Child,
}

/// Makes a child that has a copy of this process's memory and goes on here. The child may use all of the standard
/// library: no other thread can have held a lock. What this process's standard output still holds is written before, so
/// that it is not written twice; the buffers of C's stdio are the caller's to flush.
///
/// # Errors
/// [`io::ErrorKind::ResourceBusy`] if this process has more than one thread, else what fork(2) says.
pub fn fork_alone() -> io::Result<Forked> {
    alone()?;
    // Output that cannot be written is reported to whoever writes next.
    let _ = io::stdout().flush();
    // SAFETY: getpid and fork take nothing. The only thread of the process is this one, so the child's memory is in a state
    // that this thread made, with no lock held by a thread that does not exist there.
    let (own, pid) = unsafe { (libc::getpid(), libc::fork()) };
    match check(pid)? {
        0 => {
            PARENT.store(own, Ordering::Relaxed);
            Ok(Forked::Child)
        }
        pid => Ok(Forked::Parent(pid.unsigned_abs())),
    }
}

/// Whether the calling thread is this process's only one.
///
/// # Errors
/// [`io::ErrorKind::ResourceBusy`] if it is not, or what reading /proc says.
pub(crate) fn alone() -> io::Result<()> {
    let start = Instant::now();
    // A thread that has been joined is on the kernel's list for a moment more.
    let threads = loop {
        let threads = std::fs::read_dir("/proc/self/task")?.count();
        if threads == 1 || start.elapsed() > ENDING_THREADS {
            break threads;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    if threads != 1 {
        let why = format!("this process has {threads} threads, and only one with a single thread can be copied");
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, why));
    }
    Ok(())
}

/// The kernel's number of the calling thread, which no other thread of any process has at the same time.
pub fn thread_id() -> u32 {
    // SAFETY: gettid takes nothing and cannot fail.
    unsafe { libc::gettid() }.unsigned_abs()
}

/// From now on this process is killed when its parent ends; more exactly, when the thread of the parent that made it ends.
///
/// # Errors
/// The parent has ended already.
pub fn die_with_parent() -> io::Result<()> {
    let expected = match PARENT.load(Ordering::Relaxed) {
        // SAFETY: getppid takes nothing and cannot fail.
        0 => unsafe { libc::getppid() },
        parent => parent,
    };
    // SAFETY: PR_SET_PDEATHSIG takes a plain number.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) })?;
    // SAFETY: as above.
    if unsafe { libc::getppid() } != expected {
        return Err(io::Error::new(io::ErrorKind::NotFound, "the parent of this process has ended already"));
    }
    Ok(())
}

/// A number that a child made by fork(2), by whomever, does not share with its parent. One atomic load.
pub(crate) fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

/// Makes [`generation`] count from now on.
pub(crate) fn count_generations() -> io::Result<()> {
    extern "C" fn in_child() {
        GENERATION.fetch_add(1, Ordering::Relaxed);
    }
    static DONE: OnceLock<libc::c_int> = OnceLock::new();
    // SAFETY: the handler only adds to an atomic, which is allowed in the child of a process with threads.
    match DONE.get_or_init(|| unsafe { libc::pthread_atfork(None, None, Some(in_child)) }) {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(*error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_threads_is_not_forked() {
        std::thread::scope(|scope| {
            let (tell, wait) = std::sync::mpsc::channel::<()>();
            let other = scope.spawn(move || {
                let _ = wait.recv();
                thread_id()
            });
            let error = fork_alone().unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::ResourceBusy);
            assert!(error.to_string().contains("single thread"), "{error}");
            drop(tell);
            assert_ne!(other.join().unwrap(), thread_id());
        });
    }
}
