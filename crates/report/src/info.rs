//! The documents of `homenode info` and `homenode check`.
use crate::doc::to_json_line;
use crate::provenance::Provenance;
use crate::quick::PagesDoc;
use crate::sampling::SamplingDoc;
use homenode_trace::event::SyncKind;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Value of [`InfoDoc::schema`], described by `docs/schema/info.json`.
pub const INFO_SCHEMA: &str = "https://github.com/homenode/homenode/schema/info-1";
/// Value of [`CheckDoc::schema`], described by `docs/schema/check.json`.
pub const CHECK_SCHEMA: &str = "https://github.com/homenode/homenode/schema/check-1";

/// What `homenode info --json` prints: what is in a dataset.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct InfoDoc {
    /// Identifier of this kind of document.
    #[schemars(extend("const" = INFO_SCHEMA))]
    pub schema: &'static str,
    /// Facts of the manifest.
    pub provenance: Provenance,
    /// How it was sampled; null for exact recordings.
    pub sampling: Option<SamplingDoc>,
    /// Which pages were recorded (`record --sample`); null if all.
    pub pages: Option<PagesDoc>,
    /// What the recording could not see, in sentences.
    pub blind: Vec<String>,
    /// What was counted in the recording of another tool that the dataset was made of, by name; absent for recordings of Homenode's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imported: Option<BTreeMap<String, u64>>,
    /// One row a thread.
    pub threads: Vec<InfoThread>,
    /// References by operation, all threads.
    pub ops: OpCounts,
    /// Bytes referenced, spins left out.
    pub bytes_referenced: u64,
    /// Bytes of the dataset on disk.
    pub dataset_bytes: u64,
    /// `dataset_bytes` per reference; null if there is no reference.
    pub bytes_per_ref: Option<f64>,
    /// Instructions of the program between its references; null for sampled recordings and those of some pages.
    pub instructions: Option<InfoInstructions>,
    /// Frames in all thread files.
    pub frames: u64,
    /// Named phases in order of their first begin.
    pub phases: Vec<InfoPhase>,
    /// Acquires and releases by kind of synchronisation, in the order of the kinds; none if there are none.
    pub synchronisation: Vec<InfoSync>,
    /// Data objects known (globals, allocation stacks, stacks).
    pub objects: u64,
    /// Code locations that made references.
    pub sites: u64,
}

/// References by operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OpCounts {
    /// Loads.
    pub read: u64,
    /// Stores.
    pub write: u64,
    /// Read-modify-writes.
    pub atomic: u64,
    /// Busy-wait references.
    pub spin: u64,
}

impl OpCounts {
    /// All four together.
    pub fn total(&self) -> u64 {
        [self.read, self.write, self.atomic, self.spin].into_iter().fold(0, u64::saturating_add)
    }
}

/// Instructions of the program's own from one reference of a thread to the next, and how they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InfoInstructions {
    /// Instructions counted by the recorder.
    pub counted: u64,
    /// Instructions estimated from the program's machine code: shortest paths.
    pub estimated: u64,
    /// References before which the instructions are counted.
    pub counted_refs: u64,
    /// References before which the instructions are estimated.
    pub estimated_refs: u64,
    /// References before which nothing is known of instructions.
    pub unknown_refs: u64,
    /// Different pairs of code locations that follow each other.
    pub pairs: u64,
    /// Of these, pairs with an estimate.
    pub estimated_pairs: u64,
}

/// One recorded thread.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct InfoThread {
    /// Dataset thread.
    pub thread: u32,
    /// Dataset process.
    pub process: u32,
    /// Thread id on the recorded machine.
    pub tid: u32,
    /// Thread that created it; null for initial threads.
    pub parent: Option<u32>,
    /// References by operation.
    pub ops: OpCounts,
    /// Bytes referenced, spins left out.
    pub bytes: u64,
    /// Events.
    pub events: u64,
}

/// One kind of synchronisation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InfoSync {
    /// What it is called.
    #[schemars(extend("enum" = SyncKind::names()))]
    pub kind: String,
    /// How many threads a barrier takes; null for everything else, and where it is not known.
    pub parties: Option<u32>,
    /// Locks, barriers and so on: addresses.
    pub objects: u64,
    /// Acquires; read-modify-writes are one of these and one of those.
    pub acquires: u64,
    /// Releases.
    pub releases: u64,
}

/// One named phase.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct InfoPhase {
    /// Name.
    pub name: String,
    /// Times it was entered, all threads.
    pub entered: u64,
    /// References made inside, all threads, spins included.
    pub refs: u64,
}

impl InfoDoc {
    /// The JSON document on one line, with a newline at the end.
    pub fn to_json(&self) -> String {
        to_json_line(self)
    }
}

/// What `homenode check --json` prints: whether a dataset can be believed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CheckDoc {
    /// Identifier of this kind of document.
    #[schemars(extend("const" = CHECK_SCHEMA))]
    pub schema: &'static str,
    /// Path of the dataset as the user gave it.
    pub dataset: String,
    /// Whether there are no problems.
    pub ok: bool,
    /// Whether the recording ended in order; an incomplete one may still be sound.
    pub complete: bool,
    /// Frames read.
    pub frames: u64,
    /// References read.
    pub refs: u64,
    /// What is wrong, one line each: what, where, what to do.
    pub problems: Vec<String>,
}

impl CheckDoc {
    /// The outcome of a check; `ok` if there are no problems.
    pub fn new(dataset: &str, complete: bool, frames: u64, refs: u64, problems: Vec<String>) -> CheckDoc {
        let ok = problems.is_empty();
        CheckDoc { schema: CHECK_SCHEMA, dataset: dataset.to_owned(), ok, complete, frames, refs, problems }
    }

    /// The JSON document on one line, with a newline at the end.
    pub fn to_json(&self) -> String {
        to_json_line(self)
    }
}
