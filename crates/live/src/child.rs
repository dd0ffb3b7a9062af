//! A program that is started for a live run, and one that was there before.
use crate::watch::{Life, SIGUSR1};
use homenode_command::Failure;
use homenode_host::clock::Clock;
use homenode_sys::held::{SuspendedChild, hold};
use homenode_sys::process::{self, Change, PidFd, Polled, Terminal, Whom};
use homenode_sys::signals::StopRequests;
use std::ffi::OsString;
use std::time::Duration;

const SIGTTIN: i32 = 21;
const SIGTTOU: i32 = 22;

/// A child that waits before its first instruction.
pub(crate) fn start(command: &[OsString], environment: &[(OsString, OsString)]) -> Result<SuspendedChild, Failure> {
    if command.is_empty() {
        return Err(Failure::usage("no command to run; give it after `--`"));
    }
    hold(command, environment).map_err(|e| cannot_start(command, &e))
}

/// Why a command did not start, in one line.
pub(crate) fn cannot_start(command: &[OsString], e: &std::io::Error) -> Failure {
    let name = command.first().map(|c| c.to_string_lossy().into_owned()).unwrap_or_default();
    let why = match e.kind() {
        std::io::ErrorKind::NotFound if name.contains('/') => "there is no such file".to_owned(),
        std::io::ErrorKind::NotFound => "no such program in PATH".to_owned(),
        std::io::ErrorKind::PermissionDenied => "it is not executable (chmod +x)".to_owned(),
        _ => e.to_string(),
    };
    Failure::work(format!("cannot start {name}: {why}"))
}

/// A program of ours while it runs.
pub(crate) struct Child {
    pid: u32,
    terminal: Option<Terminal>,
    /// Exit status; negative = killed by that signal.
    pub(crate) status: Option<i32>,
}

impl Child {
    pub(crate) fn new(pid: u32) -> Child {
        Child { pid, terminal: Terminal::give_to(pid), status: None }
    }
    fn stopped(&mut self, signal: i32) {
        if self.terminal.take().is_some() && signal != SIGTTIN && signal != SIGTTOU {
            // Ctrl-Z: we stop with the program, and both go on when the shell says so.
            process::stop_self();
        }
        self.terminal = Terminal::give_to(self.pid);
        if self.terminal.is_some() {
            process::continue_group(self.pid);
        }
    }
}

impl Life for Child {
    fn over(&mut self) -> bool {
        while self.status.is_none() {
            match process::poll_child(Whom::Process(self.pid)) {
                Polled::Changed(_, Change::Stopped(signal)) => self.stopped(signal),
                Polled::Changed(_, Change::Exited(status)) => self.status = Some(status),
                Polled::Changed(_, Change::Killed(signal)) => self.status = Some(-signal),
                Polled::Quiet => return false,
                Polled::NoChild => return true,
            }
        }
        self.terminal = None;
        true
    }
    fn asked_to_stop(&mut self, signal: i32) -> bool {
        // The program decides what to do with it; we report when it ends.
        process::signal_group(self.pid, signal);
        false
    }
}

/// Waits for a program of ours, passes signals on, and calls `look` now and then with the time since then.
pub(crate) fn wait(
    child: &mut dyn Life,
    stop: Option<&StopRequests>,
    clock: &dyn Clock,
    mut look: impl FnMut(Duration),
) {
    let begin = clock.now();
    while !child.over() {
        if let Some(signal) = stop.and_then(StopRequests::take).filter(|s| *s != SIGUSR1) {
            child.asked_to_stop(signal);
        }
        look(clock.now() - begin);
        clock.sleep(Duration::from_millis(5));
    }
}

/// A process that was there before and stays when we go.
pub(crate) struct Guest(PidFd);

impl Guest {
    pub(crate) fn join(pid: u32) -> Result<Guest, Failure> {
        PidFd::open(pid).map(Guest).map_err(|e| match e.raw_os_error() {
            Some(3) | Some(22) => Failure::input(format!("process {pid} does not exist")),
            _ => Failure::work(format!("process {pid} cannot be watched: {e}")),
        })
    }
}

impl Life for Guest {
    fn over(&mut self) -> bool {
        self.0.wait(Duration::ZERO)
    }
    fn asked_to_stop(&mut self, _: i32) -> bool {
        true
    }
}
