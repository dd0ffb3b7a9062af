//! A program under the live loop.
use crate::child::{Child, cannot_start, start, wait};
use crate::doc::{ActDoc, LiveDoc};
use crate::here::Here;
use crate::run::request::RunRequest;
use crate::tuned::Tuned;
use crate::watch::{End, Life, LiveRun, SIGUSR1};
use crate::{kernel, source};
use homenode_command::{Failure, Progress};
use homenode_host::clock::{Clock, Real};
use homenode_sampling::perf::Target;
use homenode_sys::signals::StopRequests;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How often the bytes on each node are looked at: they are wanted as they were just before the end.
const LOOK_AT_NODES: Duration = Duration::from_secs(2);
/// Of the time, at most one part in so many goes into that.
const LOOK_SHARE: u32 = 500;

/// A child under the live loop, with a look at its memory now and then.
struct Followed {
    child: Child,
    pid: u32,
    clock: Arc<dyn Clock>,
    looked: Option<Duration>,
    every: Duration,
    first: BTreeMap<u32, u64>,
    last: BTreeMap<u32, u64>,
}

impl Life for Followed {
    fn over(&mut self) -> bool {
        // The first look is not at once: the program has hardly any memory yet.
        let begin = self.clock.now();
        let due = begin - *self.looked.get_or_insert(begin) >= self.every;
        if due {
            let now = kernel::bytes_on_nodes(self.pid);
            // The kernel goes through all page tables for this: a large program is looked at more rarely.
            self.every = LOOK_AT_NODES.max((self.clock.now() - begin) * LOOK_SHARE);
            self.looked = Some(self.clock.now());
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
pub(crate) type Reported = Option<(LiveDoc, Vec<String>)>;

/// Runs the program under the live loop. After the time asked for the loop ends and the program is waited for.
/// `moves` = false only looks; then a machine that cannot sample just runs it.
pub(crate) fn followed(
    request: &RunRequest,
    here: &Here,
    doc: &mut ActDoc,
    moves: bool,
    progress: &mut dyn Progress,
) -> Result<Reported, Failure> {
    let clock = Real::shared();
    let begin = clock.now();
    let held = start(&request.command, &[])?;
    let pid = held.pid();
    // Before any setting of the kernel changes: who is told to end puts back what was.
    let stop = StopRequests::install_with(&[SIGUSR1]).ok();
    let mut tuned = None;
    let mut watch = match source::open(Target::BeforeExec(pid), request.options.kernel()) {
        Ok(samples) => {
            tuned = moves.then(|| Tuned::beside(Path::new("/"), request.options.kernel(), samples.unit()));
            let record = request.options.recording(pid, &request.command, &*samples)?;
            Some(LiveRun::new(here, &request.options, samples, moves)?.recording(record))
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
    let mut life = Followed { child, pid, clock: clock.clone(), looked: None, every: LOOK_AT_NODES, first, last };
    // A loop that fails must not leave the program alone: it is waited for, and the report says what happened.
    let end = watch.as_mut().map(|w| w.run(&mut life, stop.as_ref(), progress));
    let left = watch.map(LiveRun::finish);
    let kernel_moves = kernel::moves_so_far().saturating_sub(kernel_before);
    wait(&mut life, stop.as_ref(), &*clock, |_| {});
    (doc.pid, doc.exit_status, doc.ended) = (Some(pid), life.child.status, End::Program.words());
    doc.seconds = (clock.now() - begin).as_secs_f64();
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
