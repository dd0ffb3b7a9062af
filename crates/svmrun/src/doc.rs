//! What a run came to: the document of `homenode svm run`.
use homenode_placement::plan::SourceLine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Identifier of these documents, described by `docs/schema/svm-run.json`.
pub(crate) const SCHEMA: &str = "https://github.com/homenode/homenode/schema/svm-run-1";

/// A program that ran on nodes that share their memory by a protocol.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SvmDoc {
    /// Identifier of this kind of document, described by `docs/schema/svm-run.json`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The command that was run.
    pub command: Vec<String>,
    /// Exit status of the program; negative = killed by that signal.
    pub exit_status: i32,
    /// Seconds from the start to the end.
    pub seconds: f64,
    /// Step of the ladder.
    pub protocol: String,
    /// Options of the protocol beside the step, as on the command line; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Transport.
    pub transport: String,
    /// Threads a node.
    pub threads_per_node: u16,
    /// Processors that the nodes could use.
    pub processors: u32,
    /// Rule for homes of pages; empty in documents of an older version.
    #[serde(default)]
    #[schemars(required)]
    pub homes: String,
    /// What came of the plan; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PlannedDoc")]
    pub planned: Option<PlannedDoc>,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Bytes of the heap that were given out.
    pub heap_used_bytes: u64,
    /// Nodes; only the first one if the program created no thread.
    pub nodes: Vec<NodeDoc>,
    /// Phases of the program, in the order in which they first began; what is outside of all, without a name, comes first.
    pub phases: Vec<PhaseDoc>,
    /// Shared memory that the program took, in that order; at most 1024 pieces a node.
    pub objects: Vec<ObjectDoc>,
    /// Pages that were fetched or changed most, at most 64.
    pub pages: Vec<PageDoc>,
    /// Locks, barriers, conditions and flags with the most time in them, at most 64.
    pub locks: Vec<LockDoc>,
    /// All locks, those in one object together; those outside of shared memory come last.
    pub lock_groups: Vec<LockGroupDoc>,
    /// What a reader should know, in sentences.
    pub notes: Vec<String>,
}

impl SvmDoc {
    /// The step and what it was run with.
    pub(crate) fn with_options(&self) -> String {
        [&self.protocol].into_iter().chain(&self.options).map(String::as_str).collect::<Vec<_>>().join(" ")
    }
}

/// What came of a plan.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedDoc {
    /// The plan as it was named.
    pub file: String,
    /// Allocations of which it places a part.
    pub objects: u64,
    /// Variables and stacks that it places: each node has its own, so they are no shared memory.
    pub own: u64,
    /// Of these, how many were found in pieces of shared memory that the program took.
    pub met: u64,
    /// Pages that were given a home by it before anybody touched them.
    pub placed_pages: u64,
    /// Bytes of these pages.
    pub placed_bytes: u64,
    /// Allocations that came with another size: their parts kept their shares.
    pub resized: Vec<ResizedDoc>,
    /// Allocations that were not found, the largest first.
    pub unmet: Vec<UnmetDoc>,
}

/// An allocation of a plan that came with another size.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResizedDoc {
    /// Name in the plan.
    pub name: String,
    /// Bytes in the plan.
    pub planned_bytes: u64,
    /// Bytes in this run.
    pub came_bytes: u64,
}

/// An allocation of a plan that was not found.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnmetDoc {
    /// Name in the plan.
    pub name: String,
    /// Bytes that the plan places.
    pub bytes: u64,
    /// Ranges of it that the plan places.
    pub ranges: u64,
    /// Why it was not found.
    pub why: String,
}

/// What a node did.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeDoc {
    /// Number.
    pub node: u16,
    /// Host that it ran on, if there were several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Process id there.
    pub pid: u32,
    /// Threads that ran there.
    pub threads: Vec<ThreadDoc>,
    /// What the protocol did.
    pub counts: Vec<Counted>,
    /// Interrupts of other nodes that this node asked for, by kind.
    pub interrupts: Vec<Counted>,
    /// Signals that were really sent to threads of this node.
    pub signals: u64,
    /// Messages to other nodes, by kind.
    pub messages: Vec<Messages>,
}

/// A thing and how often.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Counted {
    /// In words.
    pub what: String,
    /// How often.
    pub times: u64,
}

/// Messages of a kind.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Messages {
    /// In words.
    pub kind: String,
    /// How many.
    pub messages: u64,
    /// Bytes of data in them, without heads.
    pub bytes: u64,
}

/// What a thread did with its time.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadDoc {
    /// Number in the cluster.
    pub thread: u32,
    /// Faults at reads.
    pub read_faults: u64,
    /// Faults at writes.
    pub write_faults: u64,
    /// Seconds of its life; 0 if it was not over when the program ended.
    pub seconds: f64,
    /// Seconds of its own work: its life without all that follows; 0 like that.
    pub compute_seconds: f64,
    /// Seconds for data: faults.
    pub data_seconds: f64,
    /// Seconds for locks, conditions, flags, and words that are changed at once.
    pub lock_seconds: f64,
    /// Seconds at barriers and reductions.
    pub barrier_seconds: f64,
    /// Seconds for serving other nodes, interrupted.
    pub serving_seconds: f64,
    /// Seconds for creating and joining threads, and for memory.
    pub other_seconds: f64,
    /// Of all these, seconds for changing what the program may do to pages.
    pub protect_seconds: f64,
    /// Of all these, seconds for looking for changes and sending them.
    pub diff_seconds: f64,
}

/// A phase: what threads spent while it was the innermost one.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PhaseDoc {
    /// Name; empty for what is outside of all phases.
    pub name: String,
    /// Times that threads entered it.
    pub entered: u64,
    /// Threads that were in it; their seconds and faults are those of the phase.
    pub threads: Vec<ThreadDoc>,
}

/// A piece of shared memory.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ObjectDoc {
    /// Who asked for it: file and line, or function; empty if that is not known.
    pub site: String,
    /// The line that asked for it, and how many pieces of at least 4096 bytes its thread had taken there before; absent if that is not
    /// known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SourceLine")]
    pub source: Option<SourceLine>,
    /// Number of the thread that took it.
    #[serde(default)]
    #[schemars(required)]
    pub thread: u32,
    /// Bytes that were asked for; 0 in documents of an older version.
    #[serde(default)]
    #[schemars(required)]
    pub asked_bytes: u64,
    /// Address.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
    /// What happened to its pages.
    pub traffic: TrafficDoc,
    /// Pages of the object from the first one on; empty in documents of an older version, and if there were too many runs of them.
    #[serde(default)]
    #[schemars(required)]
    pub pages: Vec<PageRunDoc>,
    /// Fetches that pages ahead would have saved, by their number; empty in documents of an older version.
    #[serde(default)]
    #[schemars(required)]
    pub ahead: Vec<AheadDoc>,
}

/// What it saves to fetch pages ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AheadDoc {
    /// How many pages come with one that is fetched.
    pub ahead: u8,
    /// Fetches of pages that would have come with one before them, from the same home.
    pub saved_fetches: u64,
}

/// Pages that follow one another, with the same home and the same main writer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageRunDoc {
    /// How many.
    pub pages: u64,
    /// Home; none if no node touched them.
    pub home: Option<u16>,
    /// The node that made nine of ten writes; none if there is none.
    pub writer: Option<u16>,
    /// Intervals in which a node wrote one of them: a diff each, but at its home.
    pub writes: u64,
    /// Of these, those of the home.
    pub of_home: u64,
    /// Of the writes, those of the main writer.
    pub of_writer: u64,
}

/// What happened to pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrafficDoc {
    /// Pages fetched, by node.
    pub fetches: Vec<u64>,
    /// Intervals in which a page was written, by node: a diff each, but at its home.
    pub writes: Vec<u64>,
    /// Runs of changed words in diffs.
    pub runs: u64,
    /// Invalidations.
    pub invalidations: u64,
    /// Of the fetches, those of pages of which no node made nine of ten writes.
    pub fetches_of_shared_writes: u64,
    /// Of the fetches, those of pages of which one node did, which is not their home.
    pub fetches_of_remote_writes: u64,
    /// Of the fetches, those right after the page before it, by the same thread, which did not synchronise in between; 0 in documents of an
    /// older version.
    #[serde(default)]
    #[schemars(required)]
    pub fetches_in_order: u64,
}

/// A page.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageDoc {
    /// Number, from the beginning of the heap.
    pub page: u32,
    /// Index of the object that it is of, if that is known.
    pub object: Option<u32>,
    /// Bytes from the object's beginning, or from that of the heap.
    pub offset: u64,
    /// Home; unknown if no node touched it.
    pub home: Option<u16>,
    /// What happened to it.
    pub traffic: TrafficDoc,
}

/// A lock, barrier, condition or flag.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LockDoc {
    /// What it is: lock, barrier, condition, flag, words (that are changed at once), reductions.
    pub what: String,
    /// Name, an address; of words and reductions a number.
    pub name: u64,
    /// Index of the object that the address is in, if it is in shared memory and that is known.
    pub object: Option<u32>,
    /// Bytes from that object's beginning.
    pub offset: u64,
    /// Times used: a lock taken, a barrier waited at.
    pub times: u64,
    /// Of these, times that a lock came from another node.
    pub remote: u64,
    /// Seconds in it, all threads together: of a lock, of taking it and giving it back.
    pub seconds: f64,
}

/// Locks of one object.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LockGroupDoc {
    /// Index of the object; none for those outside of shared memory.
    pub object: Option<u32>,
    /// Locks that were taken.
    pub locks: u64,
    /// Times that a thread took one.
    pub taken: u64,
    /// Of these, times that it came from another node.
    pub remote: u64,
    /// Seconds of taking and giving back, all threads together.
    pub seconds: f64,
}

impl SvmDoc {
    /// The JSON document on one line.
    pub fn to_json(&self) -> String {
        homenode_command::json_line(self)
    }
    /// Status of the process: the program's; that of a shell if a signal killed it.
    pub fn status(&self) -> u8 {
        match self.exit_status {
            status if status < 0 => u8::try_from(128 - status).unwrap_or(1),
            status => u8::try_from(status).unwrap_or(1),
        }
    }
}
