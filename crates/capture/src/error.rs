//! What can go wrong while recording, recovering or compacting. Each message says what, where and what to do.
use homenode_host::launch::LaunchError;
use homenode_sampling::SamplingError;
use homenode_trace::TraceError;
use std::io;
use std::path::{Path, PathBuf};

/// A recording, recovery or compaction that did not happen, or not wholly.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The output is in the way.
    #[error("{0} exists; use --force to replace it or -o for another name")]
    OutputExists(PathBuf),
    /// The output exists and is nothing that this program would delete.
    #[error("{0} exists and is not a Homenode dataset, so --force does not remove it; use -o for another name")]
    NotReplaceable(PathBuf),
    /// A path that should be a dataset and is not.
    #[error("{path} is not a Homenode dataset: {why}")]
    NotADataset {
        /// The path.
        path: PathBuf,
        /// What is missing or wrong.
        why: String,
    },
    /// A recorder writes the dataset at this moment.
    #[error("{path} is being recorded by process {pid}; wait for it, or stop it with Ctrl-C or SIGTERM")]
    RecorderAlive {
        /// The dataset.
        path: PathBuf,
        /// Process id of the recorder, 0 if unknown.
        pid: u32,
    },
    /// A file operation failed.
    #[error("cannot {doing} {path}: {source}")]
    Io {
        /// The verb.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The program could not be started.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The program without hooks did not run to a good end.
    #[error("{program}, run to calibrate, did not end well ({end}), so nothing was recorded")]
    Native {
        /// As given.
        program: String,
        /// How it ended, in words.
        end: String,
    },
    /// The program ran and never reported to the recorder.
    #[error(
        "{program} made no contact with the recorder, so nothing was recorded ({end}): {why}; \
         build it with `homenode cc` or `homenode c++` (CC='homenode cc' CXX='homenode c++')"
    )]
    NotInstrumented {
        /// As given.
        program: String,
        /// How it ended, in words.
        end: String,
        /// The likely reason.
        why: String,
    },
    /// A program was sampled that took no sample and never loaded the preloaded library.
    #[error(
        "nothing of {program} was seen with backend {backend} ({end}): no sample, and no thread of it loaded the preloaded library, \
         as programs do not that are linked statically, are 32-bit or clear LD_PRELOAD; link it dynamically for this \
         processor, or build it with `homenode cc` or `homenode c++`, which needs no preloading"
    )]
    Unseen {
        /// As given.
        program: String,
        /// Name of the backend.
        backend: &'static str,
        /// How it ended, in words.
        end: String,
    },
    /// The program runs with raised privileges, and its runtime then ignores the environment.
    #[error(
        "{program} is {what}, so the kernel starts it in secure mode and it ignores {variable}; nothing was recorded. \
         Record a copy without that bit (cp {program} . keeps none)",
        variable = homenode_base::ring::CONTROL_ENV
    )]
    Secure {
        /// As given.
        program: String,
        /// `setuid`, `setgid` or `given file capabilities`.
        what: &'static str,
    },
    /// No such backend, or not usable here.
    #[error("backend {name}: {why}")]
    Backend {
        /// As asked for.
        name: String,
        /// Reason in words, and what there is instead.
        why: String,
    },
    /// An option that cannot be honoured.
    #[error("{0}")]
    Option(String),
    /// The dataset is damaged or contradicts itself.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

impl From<SamplingError> for CaptureError {
    fn from(SamplingError { name, why }: SamplingError) -> CaptureError {
        CaptureError::Backend { name: name.to_owned(), why }
    }
}

impl CaptureError {
    /// Wraps what the system said about `path`.
    pub fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CaptureError {
        let path = path.to_owned();
        move |source| CaptureError::Io { doing, path, source }
    }
    /// Exit status of the command line: 1 the work failed, 2 usage, 3 bad input.
    pub fn exit_status(&self) -> u8 {
        match self {
            // Nobody named a backend that cannot be had: it is the program and the machine that offer none.
            CaptureError::Backend { name, .. } if name == "auto" => 1,
            CaptureError::Backend { .. } | CaptureError::Option(_) | CaptureError::Launch(LaunchError::NoCommand) => 2,
            // As for every other output that exists.
            CaptureError::OutputExists(_) | CaptureError::NotReplaceable(_) => 2,
            CaptureError::NotADataset { .. } | CaptureError::Trace(_) => 3,
            _ => 1,
        }
    }
}
