//! Whose end a recording waits for.
use crate::control::Control;
use crate::error::CaptureError;
use homenode_base::ring::STOP_USER;
use homenode_host::clock::Clock;
use homenode_host::supervise::{Outcome, Supervised, Supervisor};
use homenode_sys::process::PidFd;
use homenode_sys::signals::StopRequests;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Program or process whose end a recording waits for.
pub(super) enum Life {
    /// A program that this process started.
    Child {
        /// Supervisor of the program and of what it created.
        watch: Box<Supervisor>,
        /// Processes that ended.
        dead: RefCell<BTreeSet<u32>>,
    },
    /// A process that was there before and will be left alone.
    Joined {
        /// Handle that tells when the process ends.
        handle: PidFd,
        /// Ctrl-C.
        requests: Option<StopRequests>,
        /// The signal with which the user stopped the recording.
        outcome: Outcome,
    },
}

/// What the supervisor of a started program may ask.
struct StopControl<'a>(&'a Control, &'a RefCell<BTreeSet<u32>>);

impl Supervised for StopControl<'_> {
    fn stop(&self) {
        self.0.stop(STOP_USER);
    }
    fn live_pids(&self) -> Vec<u32> {
        let dead = self.1.borrow();
        let pids = (0..self.0.rings()).map(|i| self.0.entry(i).pid);
        let live: BTreeSet<u32> = pids.filter(|pid| *pid != 0 && !dead.contains(pid)).collect();
        live.into_iter().collect()
    }
    fn orphan(&self, pid: u32) {
        self.1.borrow_mut().insert(pid);
    }
}

impl Life {
    /// A program just started, leader of its process group.
    pub(super) fn child(pid: u32, clock: Arc<dyn Clock>) -> Life {
        Life::Child { watch: Box::new(Supervisor::new(pid, clock)), dead: RefCell::default() }
    }
    /// A running process.
    pub(super) fn join(pid: u32) -> Result<Life, CaptureError> {
        let gone = |e| CaptureError::Option(format!("process {pid} cannot be watched: {e}"));
        let handle = PidFd::open(pid).map_err(gone)?;
        Ok(Life::Joined { handle, requests: StopRequests::install().ok(), outcome: Outcome::default() })
    }
    /// A process whose end somebody else waits for.
    pub(super) fn beside(pid: u32) -> Result<Life, CaptureError> {
        let gone = |e| CaptureError::Option(format!("process {pid} cannot be watched: {e}"));
        Ok(Life::Joined { handle: PidFd::open(pid).map_err(gone)?, requests: None, outcome: Outcome::default() })
    }
    /// Whether the process was there before.
    pub(super) fn is_joined(&self) -> bool {
        matches!(self, Life::Joined { .. })
    }
    /// Looks once; how it ended, once it has.
    pub(super) fn look(&mut self, control: &Control) -> Option<Outcome> {
        match self {
            Life::Child { watch, dead } => watch.look(&StopControl(control, dead)),
            Life::Joined { handle, requests, outcome } => {
                if let Some(signal) = requests.as_ref().and_then(StopRequests::take) {
                    outcome.stopped_by = Some(signal);
                    control.stop(STOP_USER);
                }
                handle.wait(Duration::ZERO).then(|| outcome.clone())
            }
        }
    }
    /// What is known of its end so far.
    pub(super) fn outcome(&self) -> Outcome {
        match self {
            Life::Child { .. } => Outcome::default(),
            Life::Joined { outcome, .. } => outcome.clone(),
        }
    }
    /// Sleeps by `clock`, or until it ends.
    pub(super) fn wait(&self, clock: &dyn Clock, time: Duration) {
        match self {
            Life::Child { watch, .. } => watch.wait(time),
            Life::Joined { handle, .. } => drop(clock.wait(handle, time)),
        }
    }
    /// Whether this process is known to have ended.
    pub(super) fn is_dead(&self, pid: u32) -> bool {
        matches!(self, Life::Child { dead, .. } if dead.borrow().contains(&pid))
    }
}
