//! `manifest.json`: what the dataset is and what its backend could not see.
pub use homenode_base::pages::{CertainPages, PageSample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Newest dataset format this build reads, and writes for recordings of some pages.
pub const FORMAT_VERSION: u32 = 3;
/// Format of sampled recordings.
pub const SAMPLED_FORMAT_VERSION: u32 = 2;
/// Format of exact recordings.
pub const EXACT_FORMAT_VERSION: u32 = 1;

/// The manifest. Written when recording starts (`complete: false`) and replaced when it ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Always `homenode-trace`.
    pub format: String,
    /// [`EXACT_FORMAT_VERSION`], [`SAMPLED_FORMAT_VERSION`] if it was sampled, [`FORMAT_VERSION`] if it is of some pages.
    pub version: u32,
    /// Whether the recording ended in order, so that nothing is missing; see also [`Manifest::is_settled`].
    pub complete: bool,
    /// Why it ended early, in words; empty if it did not.
    #[serde(default)]
    pub ended: String,
    /// Capture backend.
    pub backend: String,
    /// Command line recorded.
    pub command: Vec<String>,
    /// Exit status of the command; negative = killed by that signal; absent = unknown.
    #[serde(default)]
    pub exit_status: Option<i32>,
    /// Kind of the stamps.
    pub clock: Clock,
    /// Host: processors seen by the recorder.
    pub host_cpus: u32,
    /// Host: kernel and processor, in words.
    #[serde(default)]
    pub host: String,
    /// Processes, index = process id within the dataset.
    pub processes: Vec<Process>,
    /// Threads, index = thread id within the dataset.
    pub threads: Vec<Thread>,
    /// What the backend counted but could not record.
    pub blind: Blind,
    /// Whether synchronisation edges exist (false for imports without them).
    pub synchronised: bool,
    /// Whether stamps are the order of all references, as where somebody wrote them down one after the other. Readers that do not know
    /// this member order them as they do threads that nothing ties together.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_order: bool,
    /// How it was sampled; absent for exact recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<crate::sample::Sampling>,
    /// Which pages were recorded; absent if all were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<PageSample>,
    /// Buckets of pages that were recorded whether they were drawn or not, ascending; empty unless some pages were recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub certain: Vec<CertainPages>,
    /// Memory that was in pages larger than the base page when it was last looked at; absent if none was, or nobody looked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub huge_pages: Vec<HugeRange>,
    /// The phase that recording was restricted to, as asked for; absent if everything was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roi: Option<String>,
    /// Nodes with memory of the recording machine; 0 = not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub host_nodes: u32,
    /// Processor time of the program while it was recorded, all threads and what recording cost them included, in
    /// microseconds; absent if nobody measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_us: Option<u64>,
    /// What the program takes without hooks and without a recorder; absent unless somebody asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Native>,
    /// When recording began (RFC 3339, UTC); absent if not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_at: Option<String>,
    /// What was counted in the recording of another tool that the dataset was made of, by name: `instructions`, `loads`; empty for
    /// recordings of Homenode's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub imported: BTreeMap<String, u64>,
}

/// For fields that are left out where nothing is known.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls it with")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// Memory of one process in huge pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HugeRange {
    /// Index into [`Manifest::processes`].
    pub process: u32,
    /// First byte.
    pub addr: u64,
    /// Bytes.
    pub bytes: u64,
    /// Size of its pages in bytes.
    pub page_bytes: u64,
}

impl Manifest {
    /// The manifest with the name and version of the format, which says whether it is sampled.
    #[must_use]
    pub fn of_format(self) -> Manifest {
        let version = match (&self.pages, &self.sampling) {
            (Some(_), _) => FORMAT_VERSION,
            (None, Some(_)) => SAMPLED_FORMAT_VERSION,
            (None, None) => EXACT_FORMAT_VERSION,
        };
        Manifest { format: "homenode-trace".to_owned(), version, ..self }
    }
    /// Whether what is counted here is what the files hold: so in every recording that ended, in order or not, and in every
    /// recovered one. While a recording goes on, and after its recorder was killed, there are no tables yet.
    pub fn is_settled(&self) -> bool {
        self.complete || !self.processes.is_empty()
    }
    /// Marks the dataset as sampled, in the format version that this needs.
    pub fn mark_sampled(&mut self, sampling: crate::sample::Sampling) {
        (self.version, self.sampling) = (SAMPLED_FORMAT_VERSION, Some(sampling));
    }
}

/// Runs of the program as it is without hooks, on the recording machine just before the recording: the one that took the least
/// processor time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Native {
    /// Command line.
    pub command: Vec<String>,
    /// How often it was run.
    pub runs: u32,
    /// Microseconds from its start to its end and that of its children.
    pub wall_us: u64,
    /// Microseconds of processor time, of the program and its children: user.
    pub user_us: u64,
    /// Likewise: system.
    pub system_us: u64,
}

impl Native {
    /// Microseconds of processor time, user and system.
    pub fn cpu_us(&self) -> u64 {
        self.user_us.saturating_add(self.system_us)
    }
}

/// What stamps mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// Time-stamp counter ticks.
    #[default]
    Tsc,
    /// Nanoseconds.
    Ns,
    /// A count without physical meaning.
    Logical,
}

/// A recorded process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Process id on the host.
    pub pid: u32,
    /// Address-space id: processes with the same one share all memory.
    pub address_space: u32,
    /// Path of the executable.
    pub executable: String,
}

/// A recorded thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// Index into [`Manifest::processes`].
    pub process: u32,
    /// Thread id on the host.
    pub tid: u32,
    /// Dataset id of the thread that created it, absent for initial threads.
    #[serde(default)]
    pub parent: Option<u32>,
    /// References in the thread's file.
    pub refs: u64,
    /// Of these, spins.
    #[serde(default)]
    pub spins: u64,
    /// Events of the thread.
    #[serde(default)]
    pub events: u64,
}

/// What was counted but not recorded, and what the backend is known not to see. 0 = none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Blind {
    /// References dropped after recording stopped or for want of a ring.
    pub dropped: u64,
    /// References made inside signal handlers.
    pub signal_refs: u64,
    /// Atomics without a sequence number.
    pub unnumbered: u64,
    /// Accesses wider than 16 bytes (vector code) recorded as one range each.
    pub wide: u64,
    /// Threads without a ring.
    pub unringed_threads: u64,
    /// Sentences for the reader: libraries not instrumented, vectorised code and so on.
    pub notes: Vec<String>,
}
