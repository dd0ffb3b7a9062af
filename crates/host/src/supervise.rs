//! Watching a program: its end, that of its descendants, and requests to stop.
use crate::clock::Clock;
use homenode_sys::process::{self, Change, PidFd, Polled, Terminal, Whom};
use homenode_sys::signals::{self, StopRequests};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Duration;

const SIGKILL: i32 = 9;
const SIGTTIN: i32 = 21;
const SIGTTOU: i32 = 22;

/// How the program ended.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Exit status; negative = killed by that signal.
    pub status: Option<i32>,
    /// Signal with which the user stopped the recording.
    pub stopped_by: Option<i32>,
}

impl Outcome {
    /// In words.
    pub fn words(&self) -> String {
        match self.status {
            Some(status) if status < 0 => format!("it was killed by {}", signals::name(-status)),
            Some(status) => format!("exit status {status}"),
            None => "its exit status is unknown".to_owned(),
        }
    }
}

/// A recording, seen from its supervisor.
pub trait Supervised {
    /// Recording stops, because the user wants it.
    fn stop(&self);
    /// Processes that are recorded and were not found dead.
    fn live_pids(&self) -> Vec<u32>;
    /// This process was found dead.
    fn orphan(&self, pid: u32);
}

/// The program, everything it started, and the user's requests to stop.
#[derive(Debug)]
pub struct Supervisor {
    clock: Arc<dyn Clock>,
    main: u32,
    main_fd: Option<PidFd>,
    requests: Option<StopRequests>,
    outcome: Outcome,
    terminal: Option<Terminal>,
    /// Attached processes other than the main one.
    handles: BTreeMap<u32, PidFd>,
}

impl Supervisor {
    /// Looks after the program `main`, leader of its process group, which gets the terminal; waits by `clock`.
    pub fn new(main: u32, clock: Arc<dyn Clock>) -> Supervisor {
        let (main_fd, requests) = (PidFd::open(main).ok(), StopRequests::install().ok());
        let (outcome, handles) = Default::default();
        Supervisor { clock, main, main_fd, requests, outcome, terminal: Terminal::give_to(main), handles }
    }
    /// Looks once at everything; how the program ended once it and everything it started has.
    pub fn look(&mut self, recording: &dyn Supervised) -> Option<Outcome> {
        if let Some(signal) = self.requests.as_ref().and_then(StopRequests::take) {
            self.stop(recording, signal);
        }
        let group_lives = self.reap_group();
        let others_live = self.look_at_others(recording);
        let over = self.outcome.status.is_some() && !group_lives && !others_live;
        over.then(|| self.outcome.clone())
    }
    /// Sleeps for `time`, or until the program ends; for a quarter of it once it has, as its children may go on.
    pub fn wait(&self, time: Duration) {
        match &self.main_fd {
            Some(fd) if self.outcome.status.is_none() => {
                self.clock.wait(fd, time);
            }
            _ => self.clock.sleep(time / 4),
        }
    }

    /// First request: recording stops and the program gets the signal; a later one kills what is left of it.
    fn stop(&mut self, recording: &dyn Supervised, signal: i32) {
        let again = self.outcome.stopped_by.replace(signal).is_some();
        recording.stop();
        process::signal_group(self.main, if again { SIGKILL } else { signal });
        process::continue_group(self.main);
    }

    /// Reaps children in the program's group; whether any process of the group is left.
    fn reap_group(&mut self) -> bool {
        loop {
            match process::poll_child(Whom::Group(self.main)) {
                Polled::Changed(_, Change::Stopped(signal)) => self.stopped(signal),
                Polled::Changed(pid, change) if pid == self.main => self.outcome.status = Some(status_of(change)),
                Polled::Changed(..) => {}
                Polled::Quiet => return true,
                Polled::NoChild => {
                    if self.outcome.status.is_none() {
                        // It left its group or somebody else reaped it.
                        self.poll_main_alone();
                    }
                    return process::group_exists(self.main);
                }
            }
        }
    }
    fn poll_main_alone(&mut self) {
        match process::poll_child(Whom::Process(self.main)) {
            Polled::Changed(_, change @ (Change::Exited(_) | Change::Killed(_))) => {
                self.outcome.status = Some(status_of(change));
            }
            Polled::NoChild if !process::alive(self.main) => self.outcome.status = Some(0),
            _ => {}
        }
    }

    /// Job control: the program was stopped.
    fn stopped(&mut self, signal: i32) {
        if self.terminal.take().is_some() && signal != SIGTTIN && signal != SIGTTOU {
            // Ctrl-Z: this process stops with its program, and both go on when the shell says so.
            process::stop_self();
        }
        self.terminal = Terminal::give_to(self.main);
        if self.terminal.is_some() {
            process::continue_group(self.main);
        }
    }

    /// Looks after attached processes that are not (or no longer) in the group; whether any lives.
    fn look_at_others(&mut self, recording: &dyn Supervised) -> bool {
        let mut any = false;
        for pid in recording.live_pids() {
            let lives = if pid == self.main { self.outcome.status.is_none() } else { self.lives(pid) };
            any |= lives;
            if !lives {
                self.handles.remove(&pid);
                recording.orphan(pid);
            }
        }
        any
    }
    fn lives(&mut self, pid: u32) -> bool {
        // Its parent may be dead, then it is ours to reap.
        let reaped = matches!(
            process::poll_child(Whom::Process(pid)),
            Polled::Changed(_, Change::Exited(_) | Change::Killed(_))
        );
        if reaped {
            return false;
        }
        let handle = match self.handles.entry(pid) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => match PidFd::open(pid) {
                Ok(handle) => new.insert(handle),
                Err(_) => return process::alive(pid),
            },
        };
        !handle.wait(Duration::ZERO)
    }
}

fn status_of(change: Change) -> i32 {
    match change {
        Change::Exited(status) => status,
        Change::Killed(signal) | Change::Stopped(signal) => -signal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Simulated;
    use std::cell::RefCell;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    /// A recording of one process, and who was found dead.
    struct One(u32, RefCell<Vec<u32>>);

    impl Supervised for One {
        fn stop(&self) {}
        fn live_pids(&self) -> Vec<u32> {
            if self.1.borrow().contains(&self.0) { Vec::new() } else { vec![self.0] }
        }
        fn orphan(&self, pid: u32) {
            self.1.borrow_mut().push(pid);
        }
    }

    #[test]
    fn waiting_is_by_the_clock_given_and_over_once_the_program_is() {
        let clock = Simulated::new();
        let mut child = Command::new("cat").stdin(Stdio::piped()).process_group(0).spawn().expect("cat");
        let (mut watch, one) = (Supervisor::new(child.id(), clock.clone()), One(child.id(), RefCell::default()));
        for hours in 1..=24 {
            assert!(watch.look(&one).is_none(), "it waits for input");
            watch.wait(Duration::from_secs(3600));
            assert_eq!(clock.now(), Duration::from_secs(3600) * hours);
        }
        drop(child.stdin.take());
        assert!(watch.main_fd.as_ref().expect("it lived").wait(Duration::from_secs(30)), "cat ends with its input");
        watch.wait(Duration::from_secs(3600));
        assert_eq!(clock.now(), Duration::from_secs(24 * 3600), "who has ended is waited for no longer");
        let outcome = watch.look(&one).expect("it is over");
        assert_eq!((outcome.status, outcome.words().as_str()), (Some(0), "exit status 0"));
        assert_eq!(*one.1.borrow(), [child.id()]);
        watch.wait(Duration::from_secs(4));
        assert_eq!(clock.now(), Duration::from_secs(24 * 3600 + 1), "a look at its children comes sooner");
        assert!(child.wait().is_err(), "the supervisor has reaped it");
    }
}
