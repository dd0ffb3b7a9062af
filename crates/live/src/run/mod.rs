//! `homenode run`: a program placed by a plan, or followed by the live loop, or compared under several regimes.
mod compare;
mod followed;
mod planned;
mod program;
mod request;
mod tally;

pub use request::RunRequest;

use crate::child::{Child, cannot_start, start, wait};
use crate::doc::{ActDoc, LiveDoc, RUN_SCHEMA};
use crate::here::Here;
use crate::options::{ONE_NODE, not_recorded};
use crate::watch::SIGUSR1;
use homenode_command::{Failure, Progress};
use homenode_host::clock::{Clock, Real};
use homenode_host::launch::{find_program, secure_mode};
use homenode_sys::signals::StopRequests;
use std::path::Path;

/// Runs the program. Its failure is not this function's: see [`ActDoc::program_failed`].
///
/// # Errors
/// One line: it cannot be started, sampled or placed, or an option cannot be honoured.
pub fn run(request: &RunRequest, progress: &mut dyn Progress) -> Result<ActDoc, Failure> {
    let choice = request.options.choice()?;
    let program = find_program(&request.command)?;
    refuse_secure(&program)?;
    if request.options.record.is_some() && (request.plan.is_some() || !request.compare.is_empty()) {
        return Err(Failure::usage(
            "--record writes what the live loop saw, which does not run with --plan or --compare",
        ));
    }
    if !request.compare.is_empty() {
        return compare::compare(request, progress);
    }
    let here = Here::read()?;
    let mut doc = ActDoc::new(RUN_SCHEMA, "live");
    doc.command = request.words();
    match &request.plan {
        Some(plan) => planned::run(request, plan, &program, &here, &mut doc)?,
        None if here.one_node() => plain(request, &mut doc)?,
        None => {
            if let Some((live, calls)) = followed::followed(request, &here, &mut doc, true, progress)? {
                (doc.live, doc.calls) = (Some(LiveDoc { policy: choice.to_string(), ..live }), calls);
            }
        }
    }
    Ok(doc)
}

fn refuse_secure(program: &Path) -> Result<(), Failure> {
    let Some(what) = secure_mode(program) else { return Ok(()) };
    Err(Failure::work(format!(
        "{} is {what}: the kernel lets this user neither sample it nor move its pages, and it ignores preloaded \
         libraries; run it as root, or a copy without that bit (cp {} . keeps none)",
        program.display(),
        program.display()
    )))
}

/// Nothing to place: the program just runs.
fn plain(request: &RunRequest, doc: &mut ActDoc) -> Result<(), Failure> {
    let begin = Real.now();
    let stop = StopRequests::install_with(&[SIGUSR1]).ok();
    let held = start(&request.command, &[])?;
    let mut child = Child::new(held.go().map_err(|e| cannot_start(&request.command, &e))?);
    wait(&mut child, stop.as_ref(), &Real, |_| {});
    doc.mode = "plain";
    doc.exit_status = child.status;
    doc.ended = "the program ended".to_owned();
    doc.seconds = (Real.now() - begin).as_secs_f64();
    doc.notes.push(ONE_NODE.to_owned());
    doc.notes.extend(not_recorded(&request.options));
    Ok(())
}
