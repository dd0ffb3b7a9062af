//! # The sampled recorder: from a [`SampleSource`] and the preloaded library's rings to a dataset
//!
//! Any sampling backend brings a [`Sampler`]; this module starts the program or joins a running one, merges samples with
//! the events of the rings (allocations, mappings, threads, modules) by time, and writes frames with sample columns.
//!
//! **Invariant:** an index of the ring table is a dataset thread: threads that have no ring because the library is not in
//! them get an entry from the recorder. So threads are numbered in the order of their creation as far as that is known, and
//! `recover` needs nothing but what it needs for exact recordings. A ring's tail moves only after its events, and every
//! sample before them, are in files.
//!
//! **Time.** Samples carry CLOCK_MONOTONIC, rings and frames the time-stamp counter; `clock` converts, and states its error
//! in the manifest. What is younger than [`HOLD`] waits: the kernel delivers samples processor by processor.
//!
//! Reading order: this file, `tally` (what is counted), `session` (begin and loop), `turn` (from source and rings to the
//! writer), `names` (host thread ids to dataset threads), `awaited` (who has not reported yet), `ring_reader` (a ring
//! as a list of events), `clock`, `writer`, `life`, `end`; `beside` for who has the samples already.
mod awaited;
mod beside;
mod clock;
mod end;
mod life;
mod names;
mod ring_reader;
mod session;
mod start;
mod tally;
mod turn;
pub mod writer;

pub use beside::{Beside, BesideOf};

use crate::control::remove_rings;
use crate::error::CaptureError;
use crate::options::{Progress, RecordOptions, RecordSummary};
use crate::store::NewDataset;
use homenode_host::supervise::Outcome;
use homenode_sampling::SampleSource;
use session::Session;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long samples and events wait for others that are older: longer than any processor keeps a sample to itself, and than
/// a new thread takes to enter itself in the ring table. The first thread of a process may take longer: see `awaited`.
pub const HOLD: Duration = Duration::from_millis(250);

/// What is to be sampled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Process id.
    pub pid: u32,
    /// Whether the process waits before its first execve(2) (sample from there on, itself and what it creates) or runs
    /// already (sample all its threads, and those they create).
    pub held: bool,
    /// Directory of the rings and of whatever else the sampler and the preloaded library share.
    pub rings: PathBuf,
    /// What sampling may cost, in thousandths of the program's processor time.
    pub overhead_permille: u32,
    /// Whether kernel-wide settings may be changed for the time of the recording.
    pub tune_kernel: bool,
}

/// A sampling backend, seen from the recorder.
pub trait Sampler {
    /// Name of the backend, for the manifest.
    fn name(&self) -> &'static str;
    /// Whether a program that is started gets no transparent huge pages: one fault would stand for 2 MiB, whoever uses
    /// the parts.
    fn small_pages(&self) -> bool {
        false
    }
    /// Whether samples say whose memory is and not how much it is used, so that a look at that is worth it (`heat`).
    fn wants_heat(&self) -> bool {
        false
    }
    /// Variables for the environment of a program that is started; `rings` is [`Subject::rings`].
    ///
    /// # Errors
    /// What the backend needs is missing.
    fn environment(&mut self, _rings: &Path) -> Result<Vec<(OsString, OsString)>, CaptureError> {
        Ok(Vec::new())
    }
    /// Switches sampling on.
    ///
    /// # Errors
    /// The kernel refuses, or the process is gone.
    fn open(&mut self, subject: &Subject) -> Result<Box<dyn SampleSource>, CaptureError>;
}

/// Default of [`Subject::overhead_permille`].
pub const OVERHEAD_PERMILLE: u32 = 20;

/// Records `options.command` from its first instruction on, or the running process `options.pid`, by sampling. A program
/// that fails or crashes is recorded all the same; a running process is left alone at the end.
///
/// # Errors
/// [`CaptureError::Option`] for what sampling cannot do, [`CaptureError::Launch`], what the sampler says, and everything
/// that writing can meet. If sampling could not begin or nothing was seen ([`CaptureError::Unseen`]), no dataset is left behind.
pub fn record(
    sampler: &mut dyn Sampler,
    options: &RecordOptions,
    progress: &mut dyn Progress,
) -> Result<RecordSummary, CaptureError> {
    refuse(sampler.name(), options)?;
    start::check(options)?;
    let new = NewDataset::create(&options.out, options.force)?;
    let began = Instant::now();
    let session = Session::begin(sampler, options, &new.dir).inspect_err(|_| new.abandon())?;
    let finished = session.run(progress);
    if finished.saw_nothing() && options.pid.is_none() {
        new.abandon();
        return Err(unseen(sampler.name(), &options.command, &finished.tally.outcome));
    }
    let run_seconds = began.elapsed().as_secs_f64();
    let mut summary = end::dataset(&new.dir, finished)?;
    if !summary.write_failed {
        remove_rings(&new.dir)?;
    }
    new.settle()?;
    summary.path = Some(options.out.clone());
    summary.run_seconds = run_seconds;
    summary.finish_seconds = began.elapsed().as_secs_f64() - run_seconds;
    Ok(summary)
}

/// Why a program left nothing.
fn unseen(backend: &'static str, command: &[OsString], outcome: &Outcome) -> CaptureError {
    let path = homenode_host::launch::find_program(command);
    if let Some((program, what)) = path.iter().find_map(|p| homenode_host::launch::secure_mode(p).map(|what| (p, what)))
    {
        return CaptureError::Secure { program: program.display().to_string(), what };
    }
    let program = command.first().map(|p| p.to_string_lossy().into_owned()).unwrap_or_default();
    CaptureError::Unseen { program, backend, end: outcome.words() }
}

/// What no sampling backend can do is refused before anything is created.
fn refuse(backend: &str, options: &RecordOptions) -> Result<(), CaptureError> {
    let no = |what: &str| Err(CaptureError::Option(format!("backend {backend}: {what}")));
    if options.count_only {
        return no("samples are not counts of references; counting needs --backend hooks");
    }
    if options.roi.is_some() {
        return no("sampling is not restricted to a phase; use --backend hooks, or --duration");
    }
    if options.calibrate.is_some() {
        return no(
            "samples say nothing of what misses cost beside the program's own time; --calibrate needs --backend hooks",
        );
    }
    match (&options.pid, options.command.is_empty()) {
        (Some(_), false) => no("give either a command or --pid, not both"),
        (None, true) => no("no command to record; give it after `--`, or a running process with --pid"),
        _ => Ok(()),
    }
}
