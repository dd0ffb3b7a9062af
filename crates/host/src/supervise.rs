//! Watching a program: its end, that of its descendants, and requests to stop.
use homenode_sys::process::{self, Change, PidFd, Polled, Terminal, Whom};
use homenode_sys::signals::{self, StopRequests};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
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
pub struct Watch {
    main: u32,
    main_fd: Option<PidFd>,
    requests: Option<StopRequests>,
    outcome: Outcome,
    terminal: Option<Terminal>,
    /// Attached processes other than the main one.
    handles: BTreeMap<u32, PidFd>,
}

impl Watch {
    /// Looks after the program `main`, leader of its process group, which gets the terminal.
    pub fn new(main: u32) -> Watch {
        let (main_fd, requests) = (PidFd::open(main).ok(), StopRequests::install().ok());
        let (outcome, handles) = Default::default();
        Watch { main, main_fd, requests, outcome, terminal: Terminal::give_to(main), handles }
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
                fd.wait(time);
            }
            _ => std::thread::sleep(time / 4),
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
