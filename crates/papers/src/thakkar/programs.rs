//! The programs: our workloads, recorded now; synthetic ones where there is no compiler.
use super::synthetic;
use homenode_command::{Failure, Progress};
use homenode_reproducing::programs::{Run, built};
use homenode_trace::dataset::DatasetReader;
use std::path::{Path, PathBuf};

/// Name and source; the NAS program that each resembles.
const SOURCES: &[(&str, &str)] = &[
    ("lu", include_str!("../../../../workloads/lu.c")),
    ("sor", include_str!("../../../../workloads/sor.c")),
    ("radix", include_str!("../../../../workloads/radix.c")),
    ("stencil", include_str!("../../../../workloads/stencil.c")),
    ("kv", include_str!("../../../../workloads/kv.c")),
];

/// A program by name and how to have its references with so many threads.
pub(super) struct Programs {
    /// Folder with the built programs; `None`: synthetic ones.
    folder: Option<PathBuf>,
    size: String,
}

impl Programs {
    /// Builds the workloads below `folder`.
    pub(super) fn build(folder: &Path, size: &str) -> Result<Programs, Failure> {
        let failed = |e: std::io::Error| Failure::work(format!("cannot write {}: {e}", folder.display()));
        let built = SOURCES.iter().map(|(name, text)| built(folder, name, text, &[]).map_err(failed));
        let all = built.collect::<Result<Vec<bool>, Failure>>()?.into_iter().all(|ok| ok);
        Ok(Programs { folder: all.then(|| folder.to_owned()), size: size.to_owned() })
    }

    /// What they are, for the reader.
    pub(super) fn words(&self) -> String {
        match &self.folder {
            Some(_) => format!("the workloads of Homenode at size {}, recorded with the hooks just now", self.size),
            None => "synthetic programs, since no compiler could build the workloads".to_owned(),
        }
    }

    pub(super) fn names(&self) -> Vec<&'static str> {
        match &self.folder {
            Some(_) => SOURCES.iter().map(|(name, _)| *name).collect(),
            None => synthetic::NAMES.to_vec(),
        }
    }

    /// Where the recording of one program is; nowhere of a synthetic one.
    pub(super) fn recording(&self, name: &str, threads: u32) -> Option<PathBuf> {
        Some(Run { folder: self.folder.as_deref()?, name, threads, number: 0, phase: None }.dataset())
    }

    /// The references of one program.
    pub(super) fn run(&self, name: &str, threads: u32, progress: &mut dyn Progress) -> Result<DatasetReader, Failure> {
        let Some(folder) = &self.folder else { return synthetic::dataset(name, threads) };
        Run { folder, name, threads, number: 0, phase: None }.recorded(["-s", &self.size], progress)
    }
}
