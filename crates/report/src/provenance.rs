//! Where the data of a report comes from.
use homenode_trace::Manifest;
use homenode_trace::manifest::{Clock, Native};
use schemars::JsonSchema;
use serde::Serialize;

/// Where the data of a report comes from.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Provenance {
    /// Path of the dataset as the user gave it.
    pub dataset: String,
    /// Command line that was recorded.
    pub command: Vec<String>,
    /// Exit status of that command; negative = killed by that signal; null = unknown.
    pub exit_status: Option<i32>,
    /// Capture backend.
    pub backend: String,
    /// Version of homenode that wrote this document.
    pub homenode: String,
    /// Clock of the stamps: `tsc`, `ns` or `logical`.
    #[schemars(with = "Clock")]
    pub clock: String,
    /// Order in which the references were replayed, e.g. `model`.
    pub order: String,
    /// Kernel and processor of the recorded machine, in words.
    pub host: String,
    /// Processors of the recorded machine.
    pub host_cpus: u32,
    /// Processes recorded.
    pub processes: u64,
    /// Threads recorded.
    pub threads: u64,
    /// References recorded, spins included.
    pub refs: u64,
    /// Of these, busy-wait references.
    pub spins: u64,
    /// Events recorded (synchronisation, allocation, mapping, phases).
    pub events: u64,
    /// Whether the recording ended in order.
    pub complete: bool,
    /// When it was recorded (RFC 3339), if known.
    pub recorded_at: Option<String>,
    /// What the program takes without hooks and without a recorder; only if it was recorded with `--calibrate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native: Option<Native>,
}

impl Provenance {
    /// The facts of a manifest. `homenode` is the version of the program that reports; `order` the replay order.
    pub fn from_manifest(manifest: &Manifest, dataset: &str, homenode: &str, order: &str) -> Provenance {
        let sum = |f: fn(&homenode_trace::manifest::Thread) -> u64| {
            manifest.threads.iter().fold(0u64, |a, t| a.saturating_add(f(t)))
        };
        Provenance {
            dataset: dataset.to_owned(),
            command: manifest.command.clone(),
            exit_status: manifest.exit_status,
            backend: manifest.backend.clone(),
            homenode: homenode.to_owned(),
            clock: clock_name(manifest.clock).to_owned(),
            order: order.to_owned(),
            host: manifest.host.clone(),
            host_cpus: manifest.host_cpus,
            processes: manifest.processes.len() as u64,
            threads: manifest.threads.len() as u64,
            refs: sum(|t| t.refs),
            spins: sum(|t| t.spins),
            events: sum(|t| t.events),
            complete: manifest.complete,
            recorded_at: manifest.recorded_at.clone(),
            native: manifest.native.clone(),
        }
    }
}

fn clock_name(clock: Clock) -> &'static str {
    match clock {
        Clock::Tsc => "tsc",
        Clock::Ns => "ns",
        Clock::Logical => "logical",
    }
}
