//! Our workloads, built with the hooks and recorded now.
use homenode_capture::{DirStore, RecordOptions};
use homenode_command::{Failure, Progress, Recording};
use homenode_hooks::{Mode, compile, install};
use homenode_trace::dataset::DatasetReader;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

const HEADER: (&str, &str) = ("hn_workload.h", include_str!("../../../workloads/hn_workload.h"));

/// Runs a built workload with these options and so many threads, recorded with the hooks.
pub(crate) fn recorded<'w>(
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
    let done = homenode_capture::record(&options, &mut Recording(progress))?;
    if done.write_failed || done.exit_status != Some(0) {
        let status = done.exit_status.map_or_else(|| "unknown".to_owned(), |s| s.to_string());
        return Err(Failure::work(format!("{name} failed while it was recorded (status {status}) {}", done.ended)));
    }
    Ok(DatasetReader::open(Arc::new(DirStore::open(&out)?))?)
}

fn dataset(folder: &Path, name: &str, threads: u32) -> PathBuf {
    folder.join(format!("{name}.{threads}.hnt"))
}

/// Bytes on disk of what [`recorded`] has written.
pub(crate) fn recorded_bytes(folder: &Path, name: &str, threads: u32) -> Result<u64, Failure> {
    let store = DirStore::open(&dataset(folder, name, threads))?;
    store.bytes().map_err(|e| Failure::work(format!("cannot read {}: {e}", folder.display())))
}

/// Writes the source of a workload below `folder` and builds it; false without a compiler that can.
///
/// # Errors
/// The folder cannot be written.
pub(crate) fn built(folder: &Path, name: &str, source: &str, defines: &[&str]) -> std::io::Result<bool> {
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
