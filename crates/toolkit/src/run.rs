//! `homenode run`: a program placed by a plan, or followed by the live loop, or compared under several regimes.
mod compare;
mod planned;
mod program;
mod tally;

use crate::live::child::{Child, cannot_start, start};
use crate::live::doc::{ActDoc, LiveDoc, RUN_SCHEMA};
use crate::live::tuned::Tuned;
use crate::live::{End, Here, Life, LiveOptions, ONE_NODE, Watch, kernel, not_recorded, source};
use crate::migrate::{SIGUSR1, ended};
use homenode_capture::perf::Target;
use homenode_capture::{find_program, secure_mode};
use homenode_command::{Failure, Progress};
use homenode_place::Match;
use homenode_sys::signals::StopRequests;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What `homenode run` is asked.
#[derive(Clone, Debug, Default)]
pub struct RunRequest {
    /// Program and arguments.
    pub command: Vec<OsString>,
    /// Plan to carry out; without one the live loop runs.
    pub plan: Option<PathBuf>,
    /// How objects of the plan are found.
    pub matching: Match,
    /// Regimes to compare: of `first-touch`, `interleave`, `autonuma`, `homenode`; empty = no comparison.
    pub compare: Vec<String>,
    /// The live loop's settings; [`LiveOptions::dry_run`] counts with a plan too.
    pub options: LiveOptions,
}

/// How often the bytes on each node are looked at: they are wanted as they were just before the end.
const LOOK_AT_NODES: Duration = Duration::from_secs(2);
/// Of the time, at most one part in so many goes into that.
const LOOK_SHARE: u32 = 500;

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
    doc.command = words(&request.command);
    match &request.plan {
        Some(plan) => planned::run(request, plan, &program, &here, &mut doc)?,
        None if here.one_node() => plain(request, &mut doc)?,
        None => {
            if let Some((live, calls)) = followed(request, &here, &mut doc, true, progress)? {
                (doc.live, doc.calls) = (Some(LiveDoc { policy: choice.to_string(), ..live }), calls);
            }
        }
    }
    Ok(doc)
}

/// The command for the report.
fn words(command: &[OsString]) -> Vec<String> {
    command.iter().map(|w| w.to_string_lossy().into_owned()).collect()
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
    let begin = Instant::now();
    let stop = StopRequests::install_with(&[SIGUSR1]).ok();
    let held = start(&request.command, &[])?;
    let mut child = Child::new(held.go().map_err(|e| cannot_start(&request.command, &e))?);
    wait(&mut child, stop.as_ref(), |_| {});
    doc.mode = "plain";
    doc.exit_status = child.status;
    doc.ended = "the program ended".to_owned();
    doc.seconds = begin.elapsed().as_secs_f64();
    doc.notes.push(ONE_NODE.to_owned());
    doc.notes.extend(not_recorded(&request.options));
    Ok(())
}

/// Waits for a program of ours, passes signals on, and calls `look` now and then.
fn wait(child: &mut dyn Life, stop: Option<&StopRequests>, mut look: impl FnMut(Duration)) {
    let begin = Instant::now();
    while !child.over() {
        if let Some(signal) = stop.and_then(StopRequests::take).filter(|s| *s != SIGUSR1) {
            child.asked_to_stop(signal);
        }
        look(begin.elapsed());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A child under the live loop, with a look at its memory now and then.
struct Followed {
    child: Child,
    pid: u32,
    looked: Option<Instant>,
    every: Duration,
    first: BTreeMap<u32, u64>,
    last: BTreeMap<u32, u64>,
}

impl Life for Followed {
    fn over(&mut self) -> bool {
        // The first look is not at once: the program has hardly any memory yet.
        let due = self.looked.get_or_insert_with(Instant::now).elapsed() >= self.every;
        if due {
            let begin = Instant::now();
            let now = kernel::bytes_on_nodes(self.pid);
            // The kernel goes through all page tables for this: a large program is looked at more rarely.
            self.every = LOOK_AT_NODES.max(begin.elapsed() * LOOK_SHARE);
            self.looked = Some(Instant::now());
            if !now.is_empty() {
                if self.first.is_empty() {
                    self.first.clone_from(&now);
                }
                self.last = now;
            }
        }
        self.child.over()
    }
    fn asked_to_stop(&mut self, signal: i32) -> bool {
        self.child.asked_to_stop(signal)
    }
}

/// What there is to report of the loop: nothing if nothing could be sampled.
type Reported = Option<(LiveDoc, Vec<String>)>;

/// Runs the program under the live loop. After the time asked for the loop ends and the program is waited for.
/// `moves` = false only looks; then a machine that cannot sample just runs it.
fn followed(
    request: &RunRequest,
    here: &Here,
    doc: &mut ActDoc,
    moves: bool,
    progress: &mut dyn Progress,
) -> Result<Reported, Failure> {
    let begin = Instant::now();
    let held = start(&request.command, &[])?;
    let pid = held.pid();
    // Before any setting of the kernel changes: who is told to end puts back what was.
    let stop = StopRequests::install_with(&[SIGUSR1]).ok();
    let mut tuned = None;
    let mut watch = match source::open(Target::BeforeExec(pid), request.options.kernel()) {
        Ok(samples) => {
            tuned = moves.then(|| Tuned::beside(Path::new("/"), request.options.kernel(), samples.unit()));
            let record = request.options.recording(pid, &request.command, &*samples)?;
            Some(Watch::new(here, &request.options, samples, moves)?.recording(record))
        }
        Err(why) if moves => return Err(why),
        Err(why) => {
            doc.notes.push(why.to_string());
            None
        }
    };
    let kernel_before = kernel::moves_so_far();
    let child = Child::new(held.go().map_err(|e| cannot_start(&request.command, &e))?);
    let (first, last) = (BTreeMap::new(), BTreeMap::new());
    let mut life = Followed { child, pid, looked: None, every: LOOK_AT_NODES, first, last };
    // A loop that fails must not leave the program alone: it is waited for, and the report says what happened.
    let end = watch.as_mut().map(|w| w.run(&mut life, stop.as_ref(), progress));
    let left = watch.map(Watch::finish);
    let kernel_moves = kernel::moves_so_far().saturating_sub(kernel_before);
    wait(&mut life, stop.as_ref(), |_| {});
    (doc.pid, doc.exit_status, doc.ended) = (Some(pid), life.child.status, ended(End::Program));
    doc.seconds = begin.elapsed().as_secs_f64();
    doc.set_nodes(&life.first, &life.last);
    Ok(left.map(|left| {
        match end {
            Some(Ok(End::Duration)) => {
                doc.notes.push(format!("the live loop ended after {:.1} s, as asked", left.seconds));
            }
            Some(Err(why)) => doc.notes.push(format!("the live loop ended after {:.1} s: {why}", left.seconds)),
            _ => {}
        }
        doc.notes.extend(kernel::explain(homenode_migrate::process::balancing(), left.unit));
        doc.notes.extend(tuned.and_then(Tuned::put_back));
        doc.notes.extend(left.notes.iter().cloned());
        doc.notes.extend(left.who_moved(kernel_moves));
        (LiveDoc::of(&left, here, request.options.policy.clone(), kernel_moves), left.calls)
    }))
}
