//! `homenode migrate`: the live loop on a running process, and the replay of a recorded one.
use crate::live::child::Guest;
use crate::live::doc::{ActDoc, LiveDoc, MIGRATE_SCHEMA};
use crate::live::tuned::Tuned;
use crate::live::{End, Here, LiveOptions, ONE_NODE, Watch, kernel, not_recorded, source};
use homenode_capture::perf::Target;
use homenode_command::{Failure, Progress};
use homenode_migrate::{MigrateError, where_are};
use homenode_placement::live::replay;
use homenode_placement::policies::Choice;
use homenode_sys::signals::{self, StopRequests};
use std::path::Path;

/// What `homenode migrate --pid` is asked.
#[derive(Clone, Debug, Default)]
pub struct MigrateRequest {
    /// The process; its descendants are looked after too.
    pub pid: u32,
    /// How.
    pub options: LiveOptions,
}

/// Off switch of the live loop (and on again).
pub(crate) const SIGUSR1: i32 = 10;

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
    let mut watch = Watch::new(&here, &request.options, samples, true)?.recording(record);
    let end = watch.run(&mut life, stop.as_ref(), progress)?;
    let after = kernel::bytes_on_nodes(request.pid);
    let left = watch.finish();
    doc.ended = ended(end);
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

pub(crate) fn ended(end: End) -> String {
    match end {
        End::Program => "the program ended".to_owned(),
        End::Duration => "the time asked for was over; the program runs on".to_owned(),
        End::Signal(signal) => format!("stopped by {}; the program runs on", signals::name(signal)),
    }
}

fn refused(e: MigrateError) -> Failure {
    match e {
        MigrateError::Gone(_) => Failure::input(e),
        _ => Failure::work(e),
    }
}

/// What a replay came to.
#[derive(Clone, Debug, serde::Serialize)]
pub struct ReplayDoc {
    /// Identifier, described by `docs/schema/replay.json`.
    pub schema: &'static str,
    /// The journal.
    pub journal: String,
    /// Policy it was decided by now.
    pub policy: String,
    /// Policy it was decided by then.
    pub recorded_policy: String,
    /// Events replayed.
    pub events: u64,
    /// Decisions that came out as recorded.
    pub effects: u64,
    /// Moves among them.
    pub wishes: u64,
    /// Whether all decisions are the same.
    pub same: bool,
    /// First line of the journal where they are not; absent if there is none.
    pub differs_at: Option<usize>,
    /// Whether the journal is whole (one of a run that was killed may end within a line).
    pub complete: bool,
    /// Small pages moved in the recorded run.
    pub moved_pages: u64,
}

/// Decides a journal again, by another policy if one is named.
///
/// # Errors
/// It cannot be read, or is no journal.
pub fn replay_journal(path: &Path, policy: Option<&str>) -> Result<ReplayDoc, Failure> {
    let text = std::fs::read_to_string(path).map_err(|e| Failure::input(format!("{}: {e}", path.display())))?;
    let other = policy.map(Choice::parse).transpose().map_err(Failure::usage)?;
    let done = replay(&text, other.as_ref()).map_err(|e| Failure::input(format!("{}: {e}", path.display())))?;
    Ok(ReplayDoc {
        schema: "https://github.com/homenode/homenode/schema/replay-1",
        journal: path.display().to_string(),
        policy: other.map_or_else(|| done.header.policy.clone(), |c| c.to_string()),
        recorded_policy: done.header.policy.clone(),
        events: done.events,
        effects: done.effects,
        wishes: done.wishes,
        same: done.differs.is_none(),
        differs_at: done.differs.map(|d| d.0),
        complete: done.complete,
        moved_pages: done.stats.moved_pages,
    })
}

impl ReplayDoc {
    /// The JSON document on one line.
    pub fn to_json(&self) -> String {
        homenode_command::json_line(self)
    }
    /// A few lines for people.
    pub fn to_text(&self) -> String {
        let verdict = match self.differs_at {
            None => "all decisions are the same".to_owned(),
            Some(line) => format!("the first other decision is at line {line}"),
        };
        let whole = if self.complete { "" } else { " (the journal ends within a line)" };
        format!(
            "{}: {} events, {} decisions, {} moves asked for, {} pages moved; by {}: {verdict}{whole}\n",
            self.journal, self.events, self.effects, self.wishes, self.moved_pages, self.policy
        )
    }
}
