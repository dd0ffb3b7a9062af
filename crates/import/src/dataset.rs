//! The dataset of an import.
use crate::error::ImportError;
use crate::exact::Exact;
use crate::report::{ExactSink, FileReport, ImportSink};
use crate::sampled::Sampled;
use homenode_capture::manifest::bare_manifest;
use homenode_capture::{CaptureError, DirStore};
use homenode_sampling::perf::Counts;
use homenode_sampling::{Notice, RawSample};
use homenode_sys::dir::Dir;
use homenode_trace::Sampling;
use homenode_trace::manifest::{Clock, Manifest};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What an import came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportSummary {
    /// The dataset.
    pub path: PathBuf,
    /// Name of the format.
    pub format: &'static str,
    /// Samples in it; 0 for an exact recording.
    pub samples: u64,
    /// References in it; 0 for samples.
    pub references: u64,
    /// Events in it.
    pub events: u64,
    /// Threads in it.
    pub threads: u32,
    /// Processes in it.
    pub processes: u32,
    /// Bytes of the dataset.
    pub bytes: u64,
    /// How the recording was sampled.
    pub sampling: Sampling,
    /// What was seen and dropped of samples.
    pub counts: Counts,
    /// What was counted in the file of an exact recording.
    pub counted: Vec<(&'static str, u64)>,
    /// Whether what orders its threads was recorded.
    pub synchronised: bool,
    /// What a reader should know, in sentences.
    pub notes: Vec<String>,
}

/// Takes what a format delivers; what comes first decides which files are written.
#[derive(Debug)]
pub(super) struct Writer {
    root: Dir,
    files: Files,
}

#[derive(Debug)]
enum Files {
    None,
    Sampled(Box<Sampled>),
    Exact(Box<Exact>),
}

impl Writer {
    /// A writer into a dataset directory just created.
    pub(super) fn new(root: &Dir) -> Writer {
        Writer { root: root.clone(), files: Files::None }
    }

    fn sampled(&mut self) -> Result<&mut Sampled, ImportError> {
        if matches!(self.files, Files::None) {
            self.files = Files::Sampled(Box::new(Sampled::new(&self.root)?));
        }
        if let Files::Sampled(files) = &mut self.files { Ok(files) } else { Err(mixed()) }
    }

    /// Completes the dataset.
    pub(super) fn finish(self, format: &'static str, mut report: FileReport) -> Result<ImportSummary, ImportError> {
        let manifest = manifest(format, &mut report);
        let (mut samples, mut references) = (0, 0);
        let manifest = match self.files {
            Files::Sampled(files) => {
                let (manifest, count) = files.finish(manifest, &mut report)?;
                samples = count;
                manifest
            }
            Files::Exact(files) => {
                let (manifest, count) = files.finish(manifest, &report.exact)?;
                references = count;
                manifest
            }
            Files::None => Exact::new(&self.root)?.finish(manifest, &report.exact)?.0,
        };
        let bytes = DirStore::of(&self.root).bytes().map_err(CaptureError::io("read", self.root.path()))?;
        Ok(ImportSummary {
            path: self.root.path().to_owned(),
            format,
            samples,
            references,
            events: manifest.threads.iter().map(|t| t.events).sum(),
            threads: manifest.threads.len() as u32,
            processes: manifest.processes.len() as u32,
            bytes,
            sampling: report.sampling,
            counts: report.counts,
            counted: report.exact.counted,
            synchronised: manifest.synchronised,
            notes: report.notes,
        })
    }
}

fn mixed() -> ImportError {
    ImportError::Content("it has samples and exact references".to_owned())
}

/// What the file says of itself.
fn manifest(format: &str, report: &mut FileReport) -> Manifest {
    let facts = std::mem::take(&mut report.facts);
    let mut manifest = Manifest {
        backend: format.to_owned(),
        command: facts.command,
        clock: if report.timed { Clock::Ns } else { Clock::Logical },
        host_cpus: facts.cpus,
        host: format!("Linux {} {}, {}", facts.kernel, facts.arch, facts.processor),
        synchronised: false,
        ..bare_manifest()
    };
    manifest.blind.notes = report.notes.clone();
    manifest.imported = counted(report);
    manifest
}

/// What was counted in the file, of samples or of all references.
fn counted(report: &FileReport) -> BTreeMap<String, u64> {
    let c = &report.counts;
    let samples = [
        ("samples", c.seen),
        ("samples without an address", c.unaddressed),
        ("samples of the kernel", c.kernel),
        ("samples lost", c.lost),
    ];
    let samples = samples.into_iter().filter(|_| c.seen > 0);
    samples.chain(report.exact.counted.iter().copied()).map(|(name, n)| (name.to_owned(), n)).collect()
}

impl ImportSink for Writer {
    fn sample(&mut self, sample: &RawSample) -> Result<(), ImportError> {
        self.sampled()?.sample(sample)
    }
    fn notice(&mut self, notice: &Notice) -> Result<(), ImportError> {
        self.sampled()?.notice(notice)
    }
    fn name(&mut self, pid: u32, name: &str, exec: bool) {
        // What cannot be written cannot be with the first sample either, and is said then.
        if let Ok(files) = self.sampled() {
            files.name(pid, name, exec);
        }
    }
    fn exact(&mut self) -> Result<&mut dyn ExactSink, ImportError> {
        if matches!(self.files, Files::None) {
            self.files = Files::Exact(Box::new(Exact::new(&self.root)?));
        }
        if let Files::Exact(files) = &mut self.files { Ok(&mut **files) } else { Err(mixed()) }
    }
}
