//! Starting the program with the preloaded library, or finding the process to join.
use super::tally::Tally;
use super::{Sampler, Subject};
use crate::control::{Control, RINGS};
use crate::error::CaptureError;
use crate::manifest;
use crate::options::RecordOptions;
use homenode_base::ring::CONTROL_ENV;
use homenode_hooks::{CompileError, agent};
use homenode_host::launch;
use homenode_sys::dir::Dir;
use homenode_sys::held::{SuspendedChild, hold};
use homenode_sys::process;
use homenode_trace::Manifest;
use std::ffi::OsString;

/// What the dynamic loader loads before everything else.
const PRELOAD_ENV: &str = "LD_PRELOAD";

/// A phase that no program has: an instrumented program then sends its events and none of its references.
pub(super) const NO_PHASE: &str = "(sampled: no references)";

/// What can be known to fail before anything is created.
pub(super) fn check(options: &RecordOptions) -> Result<(), CaptureError> {
    if options.pages.is_some() {
        return Err(CaptureError::Option(
            "--sample is for the exact backend (hooks): samples are few as they are".to_owned(),
        ));
    }
    match options.pid {
        None => Ok(launch::find_program(&options.command).map(drop)?),
        Some(pid) if process::alive(pid) => Ok(()),
        Some(pid) => Err(CaptureError::Option(format!("there is no process {pid}"))),
    }
}

/// The control file of a recording that wants events only.
pub(super) fn control(root: &Dir) -> Result<Control, CaptureError> {
    let rings = root.sub(RINGS).map_err(CaptureError::io("open rings in", root.path()))?;
    Control::create(&rings, false, Some(NO_PHASE))
}

/// The manifest that stands in the dataset while it is being recorded: it says already that the dataset is sampled.
pub(super) fn manifest(
    root: &Dir,
    options: &RecordOptions,
    backend: &str,
    tally: &Tally,
) -> Result<Manifest, CaptureError> {
    let mut first = Manifest { backend: backend.to_owned(), synchronised: false, ..manifest::first_manifest(options) };
    first.mark_sampled(tally.sampling(0));
    if let Some(pid) = options.pid {
        first.command = command_of(pid);
    }
    manifest::write_manifest(root, &first)?;
    Ok(first)
}

/// A program that waits for its start, or nothing if a running process is joined; and the subject.
pub(super) fn subject(
    sampler: &mut dyn Sampler,
    options: &RecordOptions,
    control: &Control,
    root: &Dir,
) -> Result<(Option<SuspendedChild>, Subject), CaptureError> {
    let rings = root.path().join(RINGS);
    let overhead_permille = options.overhead_permille.unwrap_or(super::OVERHEAD_PERMILLE);
    if let Some(pid) = options.pid {
        return Ok((None, Subject { pid, held: false, rings, overhead_permille, tune_kernel: options.tune_kernel }));
    }
    let mut environment = vec![(OsString::from(CONTROL_ENV), control.path().into_os_string())];
    environment.push(preload()?);
    environment.extend(sampler.environment(&rings)?);
    let refuse = |source: std::io::Error| launch::not_started(&options.command, &source);
    if sampler.small_pages() {
        // Inherited by the child over execve. Where the kernel does not know it, huge pages blur the evidence, no more.
        let _ = homenode_sys::process::disable_huge_pages();
    }
    let held = hold(&options.command, &environment).map_err(refuse)?;
    let pid = held.pid();
    Ok((Some(held), Subject { pid, held: true, rings, overhead_permille, tune_kernel: options.tune_kernel }))
}

/// The preloaded library, in front of what the user preloads.
fn preload() -> Result<(OsString, OsString), CaptureError> {
    let failed = |e: CompileError| CaptureError::Option(e.to_string());
    let mut list = agent::install().map_err(failed)?.into_os_string();
    if let Some(more) = std::env::var_os(PRELOAD_ENV).filter(|v| !v.is_empty()) {
        list.push(":");
        list.push(more);
    }
    Ok((PRELOAD_ENV.into(), list))
}

/// The command line of a running process.
fn command_of(pid: u32) -> Vec<String> {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = bytes.split(|&b| b == 0).filter(|w| !w.is_empty());
    words.map(|w| String::from_utf8_lossy(w).into_owned()).collect()
}
