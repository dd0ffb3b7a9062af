//! `homenode migrate`: the live loop on a running process.
use crate::child::Guest;
use crate::doc::{ActDoc, LiveDoc, MIGRATE_SCHEMA};
use crate::here::Here;
use crate::options::{LiveOptions, ONE_NODE, not_recorded};
use crate::tuned::Tuned;
use crate::watch::{LiveRun, SIGUSR1};
use crate::{kernel, source};
use homenode_command::{Failure, Progress};
use homenode_migrate::{MigrateError, where_are};
use homenode_sampling::perf::Target;
use homenode_sys::signals::StopRequests;
use std::path::Path;

/// What `homenode migrate --pid` is asked.
#[derive(Clone, Debug, Default)]
pub struct MigrateRequest {
    /// The process; its descendants are looked after too.
    pub pid: u32,
    /// Options of the live loop.
    pub options: LiveOptions,
}

/// Moves the pages of a running process to where they are used, until it ends, the time is over or Ctrl-C.
///
/// # Errors
/// One line: the process is gone or not this user's, sampling is not possible, an option cannot be honoured.
pub fn migrate(request: &MigrateRequest, progress: &mut dyn Progress) -> Result<ActDoc, Failure> {
    let choice = request.options.choice()?;
    let mut life = Guest::join(request.pid)?;
    where_are(request.pid, &[]).map_err(refused)?;
    let here = Here::read()?;
    let mut doc = ActDoc::new(MIGRATE_SCHEMA, "live");
    doc.pid = Some(request.pid);
    if here.one_node() {
        doc.mode = "plain";
        doc.notes.push(ONE_NODE.to_owned());
        doc.notes.extend(not_recorded(&request.options));
        return Ok(doc);
    }
    // Before any setting of the kernel changes, and until all are put back.
    let stop = StopRequests::install_with(&[SIGUSR1]).ok();
    let samples = source::open(Target::Running(request.pid), request.options.kernel())?;
    let before = kernel::bytes_on_nodes(request.pid);
    let kernel_before = kernel::moves_so_far();
    let record = request.options.recording(request.pid, &[], &*samples)?;
    let tuned = Tuned::beside(Path::new("/"), request.options.kernel(), samples.unit());
    let mut watch = LiveRun::new(&here, &request.options, samples, true)?.recording(record);
    let end = watch.run(&mut life, stop.as_ref(), progress)?;
    let after = kernel::bytes_on_nodes(request.pid);
    let left = watch.finish();
    doc.ended = end.words();
    doc.seconds = left.seconds;
    doc.set_nodes(&before, &after);
    doc.notes.extend(kernel::explain(homenode_migrate::process::balancing(), left.unit));
    doc.notes.extend(tuned.put_back());
    doc.notes.extend(left.notes.iter().cloned());
    let kernel_moves = kernel::moves_so_far().saturating_sub(kernel_before);
    doc.notes.extend(left.who_moved(kernel_moves));
    doc.live = Some(LiveDoc::of(&left, &here, choice.to_string(), kernel_moves));
    doc.calls = left.calls;
    Ok(doc)
}

fn refused(e: MigrateError) -> Failure {
    match e {
        MigrateError::Gone(_) => Failure::input(e),
        _ => Failure::work(e),
    }
}
