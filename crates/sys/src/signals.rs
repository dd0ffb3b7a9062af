//! Requests to stop: SIGINT, SIGTERM and SIGHUP counted instead of killing the recorder.
use crate::check;
use crate::interrupt::set_of;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};

const STOPPING: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];
static REQUESTS: AtomicU32 = AtomicU32::new(0);
static LAST: AtomicI32 = AtomicI32::new(0);
static INSTALLED: AtomicBool = AtomicBool::new(false);
/// Requests before the handlers were installed.
static BEFORE: AtomicU32 = AtomicU32::new(0);

extern "C" fn count(signal: libc::c_int) {
    LAST.store(signal, Ordering::Relaxed);
    REQUESTS.fetch_add(1, Ordering::Release);
}

/// While this value lives, stop signals are counted and do not kill. A second one of these at the same time sees the signals
/// since the first began, so that whoever prepares something, and cleans it up, loses none for whoever waits for them.
#[derive(Debug)]
pub struct StopRequests {
    old: Mutex<Vec<(libc::c_int, OldAction)>>,
    seen: AtomicU32,
}

struct OldAction(libc::sigaction);
impl std::fmt::Debug for OldAction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OldAction")
    }
}

impl StopRequests {
    /// Installs the handlers (without SA_RESTART, so that a sleeping futex or poll returns). A signal that is ignored stays
    /// ignored: `nohup` must keep working.
    pub fn install() -> io::Result<StopRequests> {
        StopRequests::install_with(&[])
    }

    /// As [`StopRequests::install`], and counts these signals too.
    pub fn install_with(extra: &[i32]) -> io::Result<StopRequests> {
        if INSTALLED.swap(true, Ordering::AcqRel) {
            let seen = AtomicU32::new(BEFORE.load(Ordering::Acquire));
            return Ok(StopRequests { old: Mutex::default(), seen });
        }
        let now = REQUESTS.load(Ordering::Acquire);
        BEFORE.store(now, Ordering::Release);
        let requests = StopRequests { old: Mutex::default(), seen: AtomicU32::new(now) };
        let mut old = Vec::new();
        for signal in STOPPING.into_iter().chain(extra.iter().copied()) {
            old.push((signal, OldAction(replace_action(signal)?)));
        }
        *requests.old.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = old;
        Ok(requests)
    }

    /// The signal that arrived since the last call, if any.
    pub fn take(&self) -> Option<i32> {
        let now = REQUESTS.load(Ordering::Acquire);
        (self.seen.swap(now, Ordering::AcqRel) != now).then(|| LAST.load(Ordering::Relaxed))
    }
}

extern "C" fn nothing(_signal: libc::c_int) {}

/// From now on a write beyond the limit on the size of files (`ulimit -f`) fails with an error, which can be told, instead of
/// killing this process. Programs that it starts get the signal as they would have: a handler does not outlive execve(2). If
/// the signal is ignored already it stays so.
pub fn fail_beyond_file_limit() -> io::Result<()> {
    // SAFETY: sigaction is a plain C struct for which all-zero means default action, no flags, empty mask.
    let (mut old, mut new): (libc::sigaction, libc::sigaction) = unsafe { std::mem::zeroed() };
    // SAFETY: a null new action only reads the current one into `old`.
    check(unsafe { libc::sigaction(libc::SIGXFSZ, std::ptr::null(), &raw mut old) })?;
    if old.sa_sigaction == libc::SIG_DFL {
        new.sa_sigaction = nothing as *const () as libc::sighandler_t;
        new.sa_flags = libc::SA_RESTART;
        // SAFETY: `nothing` does nothing, which is allowed in a signal handler.
        check(unsafe { libc::sigaction(libc::SIGXFSZ, &raw const new, std::ptr::null_mut()) })?;
    }
    Ok(())
}

/// Runs `body`, during which this thread gets no signals; threads that it makes get none for good.
pub fn blocked<R>(body: impl FnOnce() -> R) -> R {
    struct Unblock(libc::sigset_t);
    impl Drop for Unblock {
        fn drop(&mut self) {
            // SAFETY: the set is what the kernel returned; only this thread's mask changes.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
        }
    }
    let (mut all, mut before) = (set_of(&[]), Unblock(set_of(&[])));
    // SAFETY: both sets are valid; only this thread's mask changes.
    unsafe {
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before.0);
    }
    body()
}

fn replace_action(signal: libc::c_int) -> io::Result<libc::sigaction> {
    // SAFETY: sigaction is a plain C struct for which all-zero means default action, no flags, empty mask.
    let (mut old, mut new): (libc::sigaction, libc::sigaction) = unsafe { std::mem::zeroed() };
    // SAFETY: a null new action only reads the current one into `old`.
    check(unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut old) })?;
    if old.sa_sigaction != libc::SIG_IGN {
        new.sa_sigaction = count as *const () as libc::sighandler_t;
        // SAFETY: `count` only stores to two atomics, which is allowed in a signal handler.
        check(unsafe { libc::sigaction(signal, &raw const new, std::ptr::null_mut()) })?;
    }
    Ok(old)
}

impl Drop for StopRequests {
    fn drop(&mut self) {
        let old = self.old.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        if old.is_empty() {
            return;
        }
        for (signal, action) in old.iter() {
            // SAFETY: `action` is what sigaction returned for this signal.
            unsafe { libc::sigaction(*signal, &raw const action.0, std::ptr::null_mut()) };
        }
        INSTALLED.store(false, Ordering::Release);
    }
}

/// The name of a signal, such as `SIGSEGV`.
pub fn name(signal: i32) -> String {
    let known = match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGSYS => "SIGSYS",
        other => return format!("signal {other}"),
    };
    known.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_counted_once_and_the_old_action_returns() {
        let requests = StopRequests::install().unwrap();
        assert_eq!(requests.take(), None);
        // SAFETY: the handler is installed, so the signal only counts.
        unsafe { libc::raise(libc::SIGTERM) };
        assert_eq!((requests.take(), requests.take()), (Some(libc::SIGTERM), None));
        let second = StopRequests::install().unwrap();
        assert_eq!((second.take(), second.take()), (Some(libc::SIGTERM), None), "what came since the first began");
        drop(second);
        assert!(INSTALLED.load(Ordering::Acquire));
        drop(requests);
        assert_eq!(StopRequests::install().unwrap().take(), None);
        assert!(!INSTALLED.load(Ordering::Acquire));
        assert_eq!((name(11), name(64)), ("SIGSEGV".to_owned(), "signal 64".to_owned()));
    }

    #[test]
    fn threads_that_are_made_meanwhile_get_no_signals() {
        let mask = || {
            let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
            let line = status.lines().find_map(|l| l.strip_prefix("SigBlk:")).unwrap().trim().to_owned();
            u64::from_str_radix(&line, 16).unwrap()
        };
        let term = 1 << (libc::SIGTERM - 1);
        let inside = blocked(|| std::thread::spawn(mask)).join().unwrap();
        assert_eq!((mask() & term, inside & term), (0, term));
    }
}
