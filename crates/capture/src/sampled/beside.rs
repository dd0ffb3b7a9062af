//! A dataset beside somebody who has the samples anyway: what the live loop saw, as `record` would have written it.
use super::life::Life;
use super::session::Session;
use super::tally::Tally;
use super::{HOLD, end, start};
use crate::control::remove_rings;
use crate::error::CaptureError;
use crate::options::{RecordOptions, RecordSummary};
use crate::store::NewDataset;
use homenode_sampling::{Notice, RawSample, SampleSource};
use homenode_sys::dir::Dir;
use homenode_trace::framing::Codec;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A recording that is handed its samples. Killed at any moment, it leaves the prefix that was in files: what is older than
/// a second and [`HOLD`].
pub struct Beside {
    new: NewDataset,
    out: PathBuf,
    session: Session,
    began: Duration,
}

/// Whose samples they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BesideOf<'a> {
    /// Process id.
    pub pid: u32,
    /// The command, if the process is about to begin; empty if it runs already, then its threads and mappings are met now.
    pub command: &'a [OsString],
    /// Name of the backend whose samples they are.
    pub backend: &'a str,
}

impl std::fmt::Debug for Beside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Beside({})", self.out.display())
    }
}

impl Beside {
    /// Begins a dataset at `out`; `source` says what the samples are. With `force` an older dataset there is replaced.
    ///
    /// # Errors
    /// The dataset cannot be created, or the process is gone.
    pub fn create(
        out: &Path,
        force: bool,
        of: &BesideOf<'_>,
        source: &dyn SampleSource,
    ) -> Result<Beside, CaptureError> {
        let new = NewDataset::create(out, force)?;
        match Beside::begin(out, &new.dir, of, source) {
            Ok(session) => Ok(Beside { new, out: out.to_owned(), began: session.clock.now(), session }),
            Err(error) => {
                new.abandon();
                Err(error)
            }
        }
    }

    fn begin(out: &Path, root: &Dir, of: &BesideOf<'_>, source: &dyn SampleSource) -> Result<Session, CaptureError> {
        let running = of.command.is_empty();
        let options = RecordOptions {
            command: of.command.to_vec(),
            out: out.to_owned(),
            pid: running.then_some(of.pid),
            ..RecordOptions::default()
        };
        let mut tally = Tally { event: source.event(), unit: source.unit(), ..Tally::default() };
        tally.sees_writes = source.sees_writes();
        let control = start::control(root)?;
        let manifest = start::manifest(root, &options, of.backend, &tally)?;
        let writer =
            super::writer::Writer::new(root, Codec::Lz4).map_err(CaptureError::io("create events.bin in", out))?;
        let mut session = Session::assemble(control, manifest, Life::beside(of.pid)?, writer, tally, source.clock());
        if running {
            session.meet(of.pid);
        }
        Ok(session)
    }

    /// Takes in what a poll brought. Files that cannot be written end the recording, not the run: [`Beside::finish`] says so.
    pub fn add(&mut self, samples: &[RawSample], notices: &[Notice]) {
        self.session.fresh.extend_from_slice(samples);
        self.session.notices.extend_from_slice(notices);
        let (now_ns, now_ticks) = self.session.clocks.read();
        self.session.advance(now_ns.saturating_sub(HOLD.as_nanos() as u64), now_ticks, false);
        self.session.watch_huge_pages();
    }

    /// Completes the dataset; `source` tells what was lost, and `note` is put beside what else a reader should know.
    ///
    /// # Errors
    /// The manifest cannot be written.
    pub fn finish(mut self, source: &dyn SampleSource, note: &str) -> Result<RecordSummary, CaptureError> {
        let clock = self.session.clock.clone();
        let run_seconds = (clock.now() - self.began).as_secs_f64();
        let (_, now_ticks) = self.session.clocks.read();
        self.session.advance(u64::MAX, now_ticks, true);
        self.session.tally.told(source);
        self.session.tally.notes.push(note.to_owned());
        let mut summary = end::dataset(&self.new.dir, self.session)?;
        if !summary.write_failed {
            remove_rings(&self.new.dir)?;
        }
        self.new.settle()?;
        summary.path = Some(self.out);
        summary.run_seconds = run_seconds;
        summary.finish_seconds = (clock.now() - self.began).as_secs_f64() - run_seconds;
        Ok(summary)
    }
}
