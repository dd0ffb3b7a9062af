//! The programs: our workloads, built with the hooks and recorded now; synthetic ones where there is no compiler.
use homenode_capture::{DirStore, RecordOptions};
use homenode_command::{Failure, Progress};
use homenode_hooks::compile::{self, Mode};
use homenode_hooks::install;
use homenode_trace::dataset::DatasetReader;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

const HEADER: (&str, &str) = ("hn_workload.h", include_str!("../../../../workloads/hn_workload.h"));

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
            None => super::synthetic::NAMES.to_vec(),
        }
    }

    /// The references of one program.
    pub(super) fn run(&self, name: &str, threads: u32, progress: &mut dyn Progress) -> Result<DatasetReader, Failure> {
        let Some(folder) = &self.folder else { return super::synthetic::dataset(name, threads) };
        recorded(folder, name, ["-s", &self.size], threads, progress)
    }
}

/// Runs a built workload with these options and so many threads, recorded with the hooks.
pub(super) fn recorded<'w>(
    folder: &Path,
    name: &str,
    words: impl IntoIterator<Item = &'w str>,
    threads: u32,
    progress: &mut dyn Progress,
) -> Result<DatasetReader, Failure> {
    let out = dataset(folder, name, threads);
    let mut command: Vec<OsString> = vec![folder.join(name).into()];
    command.extend(words.into_iter().map(OsString::from));
    command.extend(["-p".into(), threads.to_string().into()]);
    let options =
        RecordOptions { command, out: out.clone(), backend: "hooks".into(), force: true, ..RecordOptions::default() };
    let doc = crate::record(&options, progress)?;
    if doc.failed() {
        return Err(Failure::work(format!("{name} failed while it was recorded: {:?}", doc.warnings)));
    }
    Ok(DatasetReader::open(Arc::new(DirStore::open(&out)?))?)
}

fn dataset(folder: &Path, name: &str, threads: u32) -> PathBuf {
    folder.join(format!("{name}.{threads}.hnt"))
}

/// Bytes on disk of what [`recorded`] has written.
pub(super) fn recorded_bytes(folder: &Path, name: &str, threads: u32) -> Result<u64, Failure> {
    let store = DirStore::open(&dataset(folder, name, threads))?;
    store.bytes().map_err(|e| Failure::work(format!("cannot read {}: {e}", folder.display())))
}

/// Writes the source of a workload below `folder` and builds it; false without a compiler that can.
///
/// # Errors
/// The folder cannot be written.
pub(super) fn built(folder: &Path, name: &str, source: &str, defines: &[&str]) -> std::io::Result<bool> {
    std::fs::write(folder.join(HEADER.0), HEADER.1)?;
    std::fs::write(folder.join(format!("{name}.c")), source)?;
    Ok(compiled(folder, name, defines))
}

fn compiled(folder: &Path, name: &str, defines: &[&str]) -> bool {
    let mut args: Vec<OsString> = ["-O2", "-g", "-std=gnu11", "-pthread", "-o"].map(OsString::from).to_vec();
    args.extend([folder.join(name).into(), folder.join(format!("{name}.c")).into(), "-lm".into()]);
    args.extend(defines.iter().map(OsString::from));
    let planned = install::install().and_then(|archive| compile::plan(Mode::Cc, &args, &archive));
    let Ok(plan) = planned else { return false };
    let run = plan.command().stdout(Stdio::null()).stderr(Stdio::null()).status();
    run.is_ok_and(|status| status.success())
}
