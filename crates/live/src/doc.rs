//! What a run came to: the document of `homenode run` and `homenode migrate`.
use crate::here::Here;
use crate::watch::Left;
use homenode_base::NodeId;
use homenode_placement::live::{Locality as Sum, MoveRefusal, RejectedCandidates};
use homenode_trace::SampleUnit;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What was done and what it was good for.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ActDoc {
    /// Identifier of this kind of document, described by `docs/schema/run.json` or `docs/schema/migrate.json`.
    #[schemars(extend("enum" = [RUN_SCHEMA, MIGRATE_SCHEMA]))]
    pub schema: &'static str,
    /// `live`, `plan`, `plain` (nothing to place) or `compare`.
    #[schemars(extend("enum" = ["live", "plan", "plain", "compare"]))]
    pub mode: &'static str,
    /// The command that was run; empty for a process that was there before.
    pub command: Vec<String>,
    /// The process.
    pub pid: Option<u32>,
    /// Exit status; negative = killed by that signal; null = it runs on, or unknown.
    pub exit_status: Option<i32>,
    /// Why this report was written now, in words.
    pub ended: String,
    /// Seconds from the start (or the joining) to the end.
    pub seconds: f64,
    /// Bytes of the program on each node, at the start and as last seen.
    pub nodes: Vec<NodeBytes>,
    /// The live loop, if one ran.
    pub live: Option<LiveDoc>,
    /// What came of a plan, if one was given.
    pub plan: Option<PlanOutcome>,
    /// One per regime of `--compare`.
    pub regimes: Vec<Regime>,
    /// Calls of a dry run, one each.
    pub calls: Vec<String>,
    /// What a reader should know, in sentences.
    pub notes: Vec<String>,
}

/// Bytes on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NodeBytes {
    /// Operating-system number.
    pub node: u32,
    /// At the start.
    pub before_bytes: u64,
    /// As last seen.
    pub after_bytes: u64,
}

/// What the live loop did.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LiveDoc {
    /// Policy with its parameters.
    pub policy: String,
    /// What was sampled.
    pub evidence: Evidence,
    /// Windows decided.
    pub windows: u64,
    /// Windows since the last move.
    pub calm_windows: u64,
    /// Moves confirmed by the kernel; a huge page is one.
    pub moves: u64,
    /// Small pages in them.
    pub moved_pages: u64,
    /// From where to where.
    pub matrix: Vec<Flow>,
    /// Moves that the kernel refused, by reason.
    pub refused: Vec<Reason>,
    /// Candidates of the policy not carried out, by reason; a page counts once a window.
    pub held: RejectedCandidates,
    /// Sampled pages that somebody else moved meanwhile.
    pub moved_by_others: u64,
    /// Pages that the kernel's balancing moved meanwhile on the whole machine.
    pub kernel_moves: u64,
    /// Pages frozen.
    pub freezes: u64,
    /// Time taken.
    pub time: Time,
    /// Where the sampled accesses went.
    pub locality: Locality,
    /// Mean cost of a metered access from beginning to end, by the cost model; null like the locality.
    pub mean_cost: Option<f64>,
    /// Mean cost of a metered access in the last seconds, by the cost model; null like the locality.
    pub mean_cost_after: Option<f64>,
    /// What the moves are worth in the cost model.
    pub gain: Gain,
}

/// What was sampled.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Evidence {
    /// Event in words.
    pub event: String,
    /// What a weight counts: `reference`, `miss` or `window`.
    pub unit: SampleUnit,
    /// Samples.
    pub samples: u64,
    /// Of them, those that no move could help: cache hits, unknown processor.
    pub unusable: u64,
    /// Samples lost.
    pub lost: u64,
}

/// Small pages that went from one node to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Flow {
    /// Operating-system node.
    pub from: u32,
    /// Operating-system node.
    pub to: u32,
    /// Small pages.
    pub pages: u64,
}

/// A reason and how often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reason {
    /// In words.
    pub reason: &'static str,
    /// Pages.
    pub pages: u64,
}

/// Time taken by the loop.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Time {
    /// Processor time for looking and deciding, milliseconds.
    pub deciding_ms: f64,
    /// Processor time for looking and deciding, percent of one processor.
    pub deciding_percent: f64,
    /// Time for moving, milliseconds.
    pub moving_ms: f64,
    /// Time for moving, percent of the time that passed.
    pub moving_percent: f64,
}

/// Shares of the accesses that went to the accessing node's own memory, by samples that weigh by use, each with the place of
/// its page at that time. Null where the evidence does not tell (hinting faults show who uses a page and not how much).
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Locality {
    /// Share from beginning to end; null where the evidence does not tell.
    pub whole: Option<f64>,
    /// Share before the first move; null where the evidence does not tell.
    pub before: Option<f64>,
    /// Share in the last seconds; null where the evidence does not tell.
    pub after: Option<f64>,
    /// How many seconds that is.
    #[schemars(range(min = 0))]
    pub after_seconds: f64,
}

/// Worth in the cost model, not measured.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Gain {
    /// Unit of the machine.
    pub unit: String,
    /// What the moves were expected to save a window, from the counts at the time.
    pub expected_per_window: f64,
    /// What the accesses of the last seconds cost less than they would at the mean cost before the first move; null like the
    /// locality.
    pub realised_per_window: Option<f64>,
    /// What these figures rest on.
    pub basis: String,
}

/// What came of a plan.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct PlanOutcome {
    /// The plan file.
    pub file: String,
    /// `preloaded library` or `from outside`.
    #[schemars(extend("enum" = ["preloaded library", "from outside"]))]
    pub way: &'static str,
    /// Threads and ranges of data that the plan names.
    pub entries: u64,
    /// Of them, carried out: a thread pinned, a range given its home.
    pub placed: u64,
    /// Bytes given a home, touched or not.
    pub placed_bytes: u64,
    /// Whether not a single range (of a plan without ranges: thread) was carried out, so that the status is 1; `false` for a
    /// dry run.
    pub nothing_placed: bool,
    /// Objects that came with another size and were placed by shares of it.
    pub scaled: Vec<Scaled>,
    /// What was not carried out and why, the largest first.
    pub unplaced: Vec<Unplaced>,
    /// Pages found where the plan says, of those that could be looked at.
    pub pages_right: u64,
    /// Pages looked at.
    pub pages_looked_at: u64,
    /// Pages moved from outside.
    pub moved_pages: u64,
    /// What the library reports, one line a process.
    pub library: Vec<String>,
}

/// An object that came with another size than it had in the recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Scaled {
    /// What people call it.
    pub name: String,
    /// Size of the object in the plan.
    pub planned_bytes: u64,
    /// The size that it came with.
    pub came_bytes: u64,
    /// Ranges of it.
    pub ranges: u64,
}

/// What a plan names and a run did not place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Unplaced {
    /// What people call it.
    pub name: String,
    /// Why, in words.
    pub why: String,
    /// Ranges or threads.
    pub ranges: u64,
    /// Bytes in the plan; 0 for threads.
    pub bytes: u64,
}

/// One way of running the program, for `--compare`.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Regime {
    /// `first-touch`, `interleave`, `autonuma` or `homenode`.
    pub name: String,
    /// Whether it was run.
    pub ran: bool,
    /// Reason why it was not run, or what to know.
    pub note: String,
    /// Seconds on the wall clock.
    pub seconds: f64,
    /// Exit status.
    pub exit_status: Option<i32>,
    /// Share of the accesses that were local, from beginning to end; null where the evidence does not tell.
    pub locality: Option<f64>,
    /// Mean cost of a unit of evidence, by the cost model; null like the locality.
    pub mean_cost: Option<f64>,
    /// Pages moved by Homenode.
    pub moved_pages: u64,
    /// Pages moved by the kernel, on the whole machine.
    pub kernel_moves: u64,
    /// Bytes on each node as last seen: pairs of node and bytes.
    pub bytes_on_nodes: Vec<(u32, u64)>,
}

/// Schema of `homenode run`.
pub(crate) const RUN_SCHEMA: &str = "https://github.com/homenode/homenode/schema/run-1";
/// Schema of `homenode migrate`.
pub(crate) const MIGRATE_SCHEMA: &str = "https://github.com/homenode/homenode/schema/migrate-1";

impl ActDoc {
    pub(crate) fn new(schema: &'static str, mode: &'static str) -> ActDoc {
        ActDoc {
            schema,
            mode,
            command: Vec::new(),
            pid: None,
            exit_status: None,
            ended: String::new(),
            seconds: 0.0,
            nodes: Vec::new(),
            live: None,
            plan: None,
            regimes: Vec::new(),
            calls: Vec::new(),
            notes: Vec::new(),
        }
    }
    /// Whether the program that was run ended badly.
    pub fn program_failed(&self) -> bool {
        !self.command.is_empty() && self.exit_status != Some(0)
            || self.regimes.iter().any(|r| r.ran && r.exit_status != Some(0))
    }
    /// Whether a plan was given and nothing of it could be carried out.
    pub fn nothing_placed(&self) -> bool {
        self.plan.as_ref().is_some_and(|p| p.nothing_placed)
    }
    /// The JSON document on one line.
    pub fn to_json(&self) -> String {
        homenode_command::json_line(self)
    }
    pub(crate) fn set_nodes(&mut self, before: &BTreeMap<u32, u64>, after: &BTreeMap<u32, u64>) {
        let all: BTreeSet<u32> = before.keys().chain(after.keys()).copied().collect();
        let of = |m: &BTreeMap<u32, u64>, n: u32| m.get(&n).copied().unwrap_or(0);
        let row = |n: u32| NodeBytes { node: n, before_bytes: of(before, n), after_bytes: of(after, n) };
        self.nodes = all.into_iter().map(row).collect();
    }
}

impl LiveDoc {
    pub(crate) fn of(left: &Left<'_>, here: &Here, policy: String, kernel_moves: u64) -> LiveDoc {
        let s = left.governor.stats();
        let os = |n: NodeId| here.topology.os_id(n).unwrap_or(u32::MAX);
        let (m, ns) = (&left.metered, (left.seconds * 1e9).max(1.0));
        let share = |l: &Sum| (l.weight > 0).then(|| l.share());
        let cost = |l: &Sum| (l.weight > 0).then(|| l.mean_cost());
        LiveDoc {
            policy,
            evidence: Evidence {
                event: left.event.clone(),
                unit: left.unit,
                samples: left.samples,
                unusable: left.unusable,
                lost: left.lost,
            },
            windows: s.windows,
            calm_windows: s.calm_windows,
            moves: s.moves,
            moved_pages: s.moved_pages,
            matrix: s.matrix.iter().map(|((f, t), p)| Flow { from: os(*f), to: os(*t), pages: *p }).collect(),
            refused: s.refused.iter().map(|(why, n)| Reason { reason: words(*why), pages: *n }).collect(),
            held: s.held,
            moved_by_others: s.moved_by_others,
            kernel_moves,
            freezes: s.freezes,
            time: Time {
                deciding_ms: s.deciding_ns as f64 / 1e6,
                deciding_percent: s.deciding_ns as f64 / ns * 100.0,
                moving_ms: s.moving_ns as f64 / 1e6,
                moving_percent: s.moving_ns as f64 / ns * 100.0,
            },
            locality: Locality {
                whole: share(&m.whole),
                before: share(&m.before),
                after: share(&m.now()),
                after_seconds: m.recent_seconds(),
            },
            mean_cost: cost(&m.whole),
            mean_cost_after: cost(&m.now()),
            gain: gain(left, here),
        }
    }
}

fn gain(left: &Left<'_>, here: &Here) -> Gain {
    let s = left.governor.stats();
    let (before, now) = (&left.metered.before, left.metered.now());
    let windows = (left.metered.recent_seconds() / left.window_s).max(1.0);
    let known = before.weight > 0 && now.weight > 0;
    let realised = || (before.mean_cost() - now.mean_cost()) * now.weight as f64 / windows;
    let each = if left.unit == SampleUnit::Window { "sampled fault" } else { "microsecond of processor time" };
    let assumed =
        left.assumed.map(|n| format!(", each {each} taken for {n} accesses (an assumption)")).unwrap_or_default();
    Gain {
        unit: here.machine.unit.to_string(),
        expected_per_window: s.expected_gain.as_f64(),
        realised_per_window: known.then(realised),
        basis: format!("cost model of machine {}, weighted by samples{assumed}; not measured", here.machine.name),
    }
}

fn words(why: MoveRefusal) -> &'static str {
    match why {
        MoveRefusal::Shared => "shared with other processes",
        MoveRefusal::Busy => "busy in the kernel",
        MoveRefusal::NodeFull => "node full",
        MoveRefusal::NodeForbidden => "node forbidden to the process (cpuset)",
        MoveRefusal::Absent => "no longer there",
        MoveRefusal::Gone => "process ended",
        MoveRefusal::NotPermitted => "not permitted",
        MoveRefusal::OutOfTime => "out of time",
        MoveRefusal::Other => "other",
    }
}
