//! Starting the recorded program and learning what becomes of it and of its descendants.
use crate::check;
use rustix::io::FdFlags;
use std::ffi::{OsStr, OsString};
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

/// While this value lives, orphaned descendants become children of this process, so that it can wait for them.
#[derive(Debug)]
pub struct Subreaper {
    before: libc::c_int,
}

impl Subreaper {
    /// Sets PR_SET_CHILD_SUBREAPER.
    pub fn set() -> io::Result<Subreaper> {
        let mut before: libc::c_int = 0;
        // SAFETY: PR_GET_CHILD_SUBREAPER stores one int at the given, valid address.
        check(unsafe { libc::prctl(libc::PR_GET_CHILD_SUBREAPER, &raw mut before) })?;
        // SAFETY: PR_SET_CHILD_SUBREAPER takes a plain number.
        check(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1 as libc::c_ulong) })?;
        Ok(Subreaper { before })
    }
}

impl Drop for Subreaper {
    fn drop(&mut self) {
        // SAFETY: as in `set`.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, self.before as libc::c_ulong) };
    }
}

/// Starts `command` (program and arguments, looked up in PATH) as the leader of a new process group with extra environment
/// variables, and gives it the terminal if this process has it. Returns its process id, which is also the group's.
///
/// # Errors
/// What execvp(3) says: not found, permission denied, not an executable format.
pub fn spawn(command: &[OsString], environment: &[(&str, &OsStr)]) -> io::Result<u32> {
    let (program, arguments) =
        command.split_first().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no command given"))?;
    let mut start = Command::new(program);
    start.args(arguments).process_group(0);
    for (name, value) in environment {
        start.env(name, value);
    }
    let child = start.spawn()?;
    Ok(child.id())
}

/// While this value lives, programs that the calling thread starts are placed in memory without randomness: the same program, with the
/// same libraries and limits, lies at the same addresses.
#[derive(Debug)]
pub struct Unrandomized {
    before: libc::c_int,
    /// The thread's own.
    _here: PhantomData<*const ()>,
}

impl Unrandomized {
    /// Sets ADDR_NO_RANDOMIZE.
    ///
    /// # Errors
    /// What personality(2) says; containers may forbid it.
    pub fn set() -> io::Result<Unrandomized> {
        const ASK: libc::c_ulong = 0xffff_ffff;
        // SAFETY: personality takes a plain number, and this one only asks.
        let before = check(unsafe { libc::personality(ASK) })?;
        // SAFETY: as above; the flag concerns programs that are started from now on.
        check(unsafe { libc::personality((before | libc::ADDR_NO_RANDOMIZE) as libc::c_ulong) })?;
        Ok(Unrandomized { before, _here: PhantomData })
    }
}

impl Drop for Unrandomized {
    fn drop(&mut self) {
        // SAFETY: as in `set`.
        unsafe { libc::personality(self.before as libc::c_ulong) };
    }
}

/// Keeps a descriptor from programs that are started.
///
/// # Errors
/// What fcntl(2) says.
pub fn hide(file: BorrowedFd<'_>) -> io::Result<()> {
    Ok(rustix::io::fcntl_setfd(file, FdFlags::CLOEXEC)?)
}

/// While this value lives, programs that are started inherit these descriptors, and afterwards do not.
#[derive(Debug)]
pub struct Inherited<'f>(Vec<BorrowedFd<'f>>);

impl<'f> Inherited<'f> {
    /// Takes close-on-exec from them.
    ///
    /// # Errors
    /// What fcntl(2) says.
    pub fn of(files: impl IntoIterator<Item = BorrowedFd<'f>>) -> io::Result<Inherited<'f>> {
        let mut inherited = Inherited(Vec::new());
        for file in files {
            rustix::io::fcntl_setfd(file, FdFlags::empty())?;
            inherited.0.push(file);
        }
        Ok(inherited)
    }
}

impl Drop for Inherited<'_> {
    fn drop(&mut self) {
        for file in &self.0 {
            // What worked the other way round works.
            let _ = hide(*file);
        }
    }
}

/// From now on this process, and every program it starts, gets no transparent huge pages.
///
/// # Errors
/// The kernel does not know the request.
pub fn disable_huge_pages() -> io::Result<()> {
    // SAFETY: PR_SET_THP_DISABLE takes plain numbers; the unused ones must be zero.
    let done = unsafe {
        libc::prctl(
            libc::PR_SET_THP_DISABLE,
            1 as libc::c_ulong,
            0 as libc::c_ulong,
            0 as libc::c_ulong,
            0 as libc::c_ulong,
        )
    };
    check(done).map(drop)
}

/// A handle that becomes readable when the process ends; never refers to a later process of the same number.
#[derive(Debug)]
pub struct PidFd(OwnedFd);

impl PidFd {
    /// Opens the handle of a process that this process may see.
    pub fn open(pid: u32) -> io::Result<PidFd> {
        // SAFETY: pidfd_open takes two plain numbers and returns a new descriptor or -1.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, libc::pid_t::try_from(pid).unwrap_or(0), 0) };
        let fd = check(i32::try_from(fd).unwrap_or(-1))?;
        // SAFETY: the kernel just returned this descriptor, so nothing else owns it.
        Ok(PidFd(unsafe { OwnedFd::from_raw_fd(fd) }))
    }
    /// Sleeps until the process has ended (true) or the time is over or a signal came (false).
    pub fn wait(&self, timeout: Duration) -> bool {
        let mut poll = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let milliseconds = libc::c_int::try_from(timeout.as_millis()).unwrap_or(libc::c_int::MAX);
        // SAFETY: one valid pollfd.
        unsafe { libc::poll(&raw mut poll, 1, milliseconds) == 1 }
    }
}

/// What happened to a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The child returned this status.
    Exited(i32),
    /// This signal killed it.
    Killed(i32),
    /// This signal stopped it; it still exists.
    Stopped(i32),
}

/// Answer of [`poll_child`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polled {
    /// Something happened to this process; if it ended, it has been reaped.
    Changed(u32, Change),
    /// There are such children, but nothing happened.
    Quiet,
    /// There is no such child.
    NoChild,
}

/// Whose child [`poll_child`] asks about.
#[derive(Clone, Copy, Debug)]
pub enum Whom {
    /// One process.
    Process(u32),
    /// Any process of this group.
    Group(u32),
}

/// Asks without sleeping whether a child of this process ended or stopped, and reaps it.
pub fn poll_child(whom: Whom) -> Polled {
    let target = match whom {
        Whom::Process(pid) => libc::pid_t::try_from(pid).ok(),
        Whom::Group(group) => libc::pid_t::try_from(group).ok().map(|g| -g),
    };
    // 0, 1 and -1 mean "any child" or "init" to waitpid: never ask that by accident.
    let Some(target) = target.filter(|t| t.unsigned_abs() > 1) else { return Polled::NoChild };
    let mut status = 0;
    // SAFETY: `status` is valid for the call.
    let pid = unsafe { libc::waitpid(target, &raw mut status, libc::WNOHANG | libc::WUNTRACED) };
    match pid {
        0 => Polled::Quiet,
        p if p < 0 => Polled::NoChild,
        p => Polled::Changed(p.unsigned_abs(), change_of(status)),
    }
}

fn change_of(status: libc::c_int) -> Change {
    if libc::WIFSTOPPED(status) {
        Change::Stopped(libc::WSTOPSIG(status))
    } else if libc::WIFSIGNALED(status) {
        Change::Killed(libc::WTERMSIG(status))
    } else {
        Change::Exited(libc::WEXITSTATUS(status))
    }
}

/// Sends a signal to every process of a group; false if there is none left.
pub fn signal_group(group: u32, signal: i32) -> bool {
    match libc::pid_t::try_from(group) {
        // SAFETY: kill takes plain numbers; 0 and 1 are excluded, so it never means "everybody".
        Ok(g) if g > 1 => unsafe { libc::kill(-g, signal) == 0 },
        _ => false,
    }
}

/// Sends a signal to one process; false if there is none of this number or it is not ours to signal.
pub fn signal(pid: u32, signal: i32) -> bool {
    match libc::pid_t::try_from(pid) {
        // SAFETY: kill takes plain numbers; 0 and 1 are excluded, so it never means "everybody" or init.
        Ok(p) if p > 1 => unsafe { libc::kill(p, signal) == 0 },
        _ => false,
    }
}

/// Whether any process of the group exists.
pub fn group_exists(group: u32) -> bool {
    signal_group(group, 0)
}

/// Whether the process exists and is no zombie.
pub fn alive(pid: u32) -> bool {
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        // The state letter follows the command name, which is in parentheses and may contain any character.
        Ok(stat) => !matches!(stat.rsplit(')').next().and_then(|s| s.trim_start().chars().next()), Some('Z' | 'X')),
        Err(_) => false,
    }
}

/// While this value lives, the terminal of standard input (if any, and if this process had it) belongs to another process
/// group, as a shell does with its jobs: Ctrl-C and Ctrl-Z reach that group.
#[derive(Debug)]
pub struct Terminal {
    own_group: libc::pid_t,
}

impl Terminal {
    /// Gives the terminal to `group`; `None` if standard input is no terminal or not ours to give.
    pub fn give_to(group: u32) -> Option<Terminal> {
        // SAFETY: these calls take plain numbers and have no effect on memory.
        let (holder, own_group) = unsafe { (libc::tcgetpgrp(0), libc::getpgrp()) };
        (holder == own_group && set_foreground(libc::pid_t::try_from(group).ok()?)).then_some(Terminal { own_group })
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        set_foreground(self.own_group);
    }
}

fn set_foreground(group: libc::pid_t) -> bool {
    // SAFETY: SIGTTOU would stop a background process that does this; ignoring it installs no handler, and the former
    // disposition is put back.
    unsafe {
        let before = libc::signal(libc::SIGTTOU, libc::SIG_IGN);
        let done = libc::tcsetpgrp(0, group) == 0;
        libc::signal(libc::SIGTTOU, before);
        done
    }
}

/// Stops this process as Ctrl-Z does, until somebody continues it.
pub fn stop_self() {
    // SAFETY: raise takes a plain number; SIGSTOP only pauses.
    unsafe { libc::raise(libc::SIGSTOP) };
}

/// Continues a stopped group.
pub fn continue_group(group: u32) {
    signal_group(group, libc::SIGCONT);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn sh(script: &str) -> u32 {
        let words = ["sh", "-c", script].map(OsString::from);
        spawn(&words, &[("HN_TEST", OsStr::new("7"))]).unwrap()
    }
    fn end_of(pid: u32) -> Change {
        let start = Instant::now();
        PidFd::open(pid).unwrap().wait(Duration::from_secs(20));
        loop {
            match poll_child(Whom::Group(pid)) {
                Polled::Changed(p, change) if p == pid => return change,
                _ => assert!(start.elapsed() < Duration::from_secs(20)),
            }
        }
    }

    #[test]
    fn status_signal_and_environment_reach_the_parent() {
        assert_eq!(end_of(sh("exit $HN_TEST")), Change::Exited(7));
        assert_eq!(end_of(sh("kill -SEGV $$")), Change::Killed(libc::SIGSEGV));
        let pid = sh("exec sleep 60");
        assert!(alive(pid) && group_exists(pid));
        assert_eq!(poll_child(Whom::Process(pid)), Polled::Quiet);
        assert!(!PidFd::open(pid).unwrap().wait(Duration::from_millis(1)));
        assert!(signal_group(pid, libc::SIGTERM));
        assert_eq!(end_of(pid), Change::Killed(libc::SIGTERM));
        assert!(!alive(pid));
    }

    #[test]
    fn what_cannot_start_is_an_error() {
        let start = |p: &str| spawn(&[p.into()], &[]).unwrap_err().kind();
        assert_eq!(start("/no/such/program"), io::ErrorKind::NotFound);
        assert_eq!(start("/"), io::ErrorKind::PermissionDenied);
        assert_eq!(spawn(&[], &[]).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn dangerous_numbers_reach_nobody() {
        for pid in [0, 1, u32::MAX] {
            assert_eq!(poll_child(Whom::Process(pid)), Polled::NoChild);
            assert!(!signal_group(pid, 0));
        }
    }

    #[test]
    fn an_orphan_in_the_group_can_be_waited_for() {
        let _reaper = Subreaper::set().unwrap();
        let pid = sh("(sleep 0.2; exit 5) & exit 3");
        let (mut ends, start) = (Vec::new(), Instant::now());
        while ends.len() < 2 && start.elapsed() < Duration::from_secs(20) {
            if let Polled::Changed(_, change) = poll_child(Whom::Group(pid)) {
                ends.push(change);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(ends, [Change::Exited(3), Change::Exited(5)]);
        assert!(!group_exists(pid));
    }
}
