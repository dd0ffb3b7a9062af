//! What a recording is asked to do, what it says meanwhile, and what came of it: the same for every backend.
use homenode_base::pages::Drawn;
use homenode_trace::manifest::{Blind, Native};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// What to record and how.
#[derive(Clone, Debug, Default)]
pub struct RecordOptions {
    /// Program and arguments; the program is looked up in PATH.
    pub command: Vec<OsString>,
    /// Dataset directory to create. Not used with `count_only`.
    pub out: PathBuf,
    /// Name of a backend, or `auto`.
    pub backend: String,
    /// Stop recording after exactly this many references of all threads together; the program runs on.
    pub limit_refs: Option<u64>,
    /// Record references only inside the phase of this name.
    pub roi: Option<String>,
    /// Record the references to these pages alone (`hooks`); `None` = to all.
    pub pages: Option<Drawn>,
    /// Replace an existing dataset.
    pub force: bool,
    /// Count references and record nothing.
    pub count_only: bool,
    /// A running process to record instead of a command (sampling backends only).
    pub pid: Option<u32>,
    /// Sampling ends after this time; the program runs on. `None` = to the end of the program.
    pub duration: Option<Duration>,
    /// What sampling may cost, in thousandths of the program's processor time; `None` = the backend's default (20).
    pub overhead_permille: Option<u32>,
    /// Runs without hooks before the recording, which say what the program takes by itself.
    pub calibrate: Option<Calibrate>,
    /// Whether kernel-wide settings may be changed for the time of the recording (`faults`).
    pub tune_kernel: bool,
}

/// Runs of the same program without hooks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calibrate {
    /// The program built without hooks; it gets the arguments of the recorded one.
    pub program: OsString,
    /// How often it is run; the run with the least processor time counts.
    pub runs: u32,
}

/// Counters while a recording runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// References in the dataset.
    pub refs: u64,
    /// Bytes of the dataset.
    pub bytes: u64,
    /// Threads that began.
    pub threads: u32,
}

/// Is told how a recording gets on, about ten times a second.
pub trait Progress {
    /// The counters now.
    fn update(&mut self, now: &Snapshot);
}

impl Progress for () {
    fn update(&mut self, _now: &Snapshot) {}
}

/// What a recording came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordSummary {
    /// The dataset; absent if references were only counted.
    pub path: Option<PathBuf>,
    /// References recorded, or counted with `count_only`; spins included.
    pub refs: u64,
    /// References left out because their pages were not to be recorded.
    pub left_out: u64,
    /// Of those recorded, spins; 0 with `count_only`.
    pub spins: u64,
    /// Events recorded.
    pub events: u64,
    /// Threads recorded.
    pub threads: u32,
    /// Processes recorded.
    pub processes: u32,
    /// Bytes of the dataset.
    pub bytes: u64,
    /// Exit status of the program; negative = killed by that signal.
    pub exit_status: Option<i32>,
    /// Why the recording ended before the program did, or the program before its time; empty if neither.
    pub ended: String,
    /// Whether writing failed, so that references are missing.
    pub write_failed: bool,
    /// Whether the phase that was to be recorded never began; `ended` says so.
    pub phase_missed: bool,
    /// What could not be recorded.
    pub blind: Blind,
    /// What the program took without hooks, if that was asked for.
    pub native: Option<Native>,
    /// Seconds from the start of the program to its end and that of its children.
    pub run_seconds: f64,
    /// Seconds from the program's end to the finished dataset.
    pub finish_seconds: f64,
}
