//! The live loop: samples in, page moves out. The mind is [`homenode_placement::live`]; here are its eyes, hands and diary.
//!
//! Reading order: this file (what can be asked), `watch` (the loop), `evidence` (samples to uses of pages), `hands` (the
//! calls), `diary` (the journal), `source` (which samples), `kernel` (the kernel's own balancing), `child` (a program that
//! is started), [`doc`] (the report).
pub(crate) mod child;
mod diary;
pub mod doc;
mod evidence;
mod hands;
pub(crate) mod kernel;
pub(crate) mod source;
mod text;
mod watch;

#[cfg(test)]
mod tests;

pub(crate) use watch::{End, Left, Life, Watch};

use crate::Failure;
use homenode_capture::SampleSource;
use homenode_capture::sampled::{Beside, BesideOf};
use homenode_machine::{Machine, Topology};
use homenode_placement::live::Config;
use homenode_placement::policies::Choice;
use homenode_trace::SampleUnit;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// What can be set of the live loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveOptions {
    /// Policy that decides (`homenode list policies`).
    pub policy: String,
    /// Most time for moving, per mille of the time that passes.
    pub move_permille: u32,
    /// Most processor time for looking and deciding, per mille of one processor.
    pub decide_permille: u32,
    /// Length of a window.
    pub window: Duration,
    /// Stop moving and report after this time; `None` = when the program ends.
    pub duration: Option<Duration>,
    /// Decide, but move nothing, and list the calls instead.
    pub dry_run: bool,
    /// Write a journal there (JSON lines).
    pub journal: Option<PathBuf>,
    /// Write the evidence there as a sampled dataset, as `homenode record` does.
    pub record: Option<PathBuf>,
    /// Replace the journal and the dataset if they exist.
    pub force: bool,
}

impl Default for LiveOptions {
    fn default() -> LiveOptions {
        let config = Config::default();
        LiveOptions {
            policy: "affinity".into(),
            move_permille: config.move_per_mille,
            decide_permille: config.decide_per_mille,
            window: Duration::from_nanos(config.window_ns),
            duration: None,
            dry_run: false,
            journal: None,
            record: None,
            force: false,
        }
    }
}

/// A sampled page fault says that a node touched a page in a scan window, not how often. Assumed: a thousand accesses to
/// memory; the journal's header and the report say so.
const ACCESSES_PER_WINDOW: u32 = 1000;

impl LiveOptions {
    /// The dataset asked for, of a process that runs already or of a `command` that is about to begin.
    pub(crate) fn recording(
        &self,
        pid: u32,
        command: &[OsString],
        source: &dyn SampleSource,
    ) -> Result<Option<Beside>, Failure> {
        let backend = if source.unit() == SampleUnit::Window { "faults" } else { "perf" };
        let of = BesideOf { pid, command, backend };
        let begin = |out: &PathBuf| Beside::create(out, self.force, &of, source).map_err(Failure::work);
        self.record.as_ref().map(begin).transpose()
    }

    pub(crate) fn choice(&self) -> Result<Choice, Failure> {
        Choice::parse(&self.policy).map_err(Failure::usage)
    }

    /// The settings of the mind. `may_move` = false only looks.
    pub(crate) fn config(&self, choice: &Choice, unit: SampleUnit, topology: &Topology, may_move: bool) -> Config {
        let waits_by_itself = choice.spec.name == "affinity";
        // The policy's own window is one window of the loop.
        let ticks = choice.spec.params.iter().position(|p| p.name == "window").map(|i| choice.values[i]);
        let smallest = topology.nodes.iter().map(|n| n.memory_bytes).filter(|b| *b > 0).min().unwrap_or(0);
        let defaults = Config::default();
        Config {
            window_ns: u64::try_from(self.window.as_nanos()).unwrap_or(u64::MAX).max(1),
            decide_per_mille: self.decide_permille,
            move_per_mille: if may_move { self.move_permille } else { 0 },
            hysteresis: if waits_by_itself { 1 } else { defaults.hysteresis },
            accesses_per_unit: if unit == SampleUnit::Window { ACCESSES_PER_WINDOW } else { 1 },
            comes_round: unit == SampleUnit::Window,
            // Two in a hundred stay free on every node, so that the program and the kernel still find room there.
            reserve_pages: (smallest / 4096 / 50).min(defaults.reserve_pages * 16),
            ticks_per_window: u64::from(ticks.unwrap_or(100_000)),
            ..defaults
        }
    }
}

/// The machine of a live run: costs and the real thing, with the same node numbers.
pub(crate) struct Here {
    pub(crate) machine: Machine,
    pub(crate) topology: Topology,
}

impl Here {
    pub(crate) fn read() -> Result<Here, Failure> {
        let topology = crate::this_topology()?;
        let machine = crate::this_machine()?;
        if machine.nodes() != topology.nodes.len() {
            return Err(Failure::input(format!(
                "the saved machine has {} nodes and this one has {}; run homenode topo --measure again",
                machine.nodes(),
                topology.nodes.len()
            )));
        }
        Ok(Here { machine, topology })
    }
    /// Whether there is anything to choose from.
    pub(crate) fn one_node(&self) -> bool {
        self.topology.nodes.iter().filter(|n| n.memory_bytes > 0).count() < 2
    }
}

/// What is said on a machine with one node.
pub(crate) const ONE_NODE: &str = "this machine has one memory node: there is nothing to place, and nothing was moved";

/// And if the evidence was to be recorded.
pub(crate) fn not_recorded(options: &LiveOptions) -> Option<String> {
    let sorry = "nothing was recorded: without a second node nothing is watched; homenode record has what works here";
    options.record.is_some().then(|| sorry.to_owned())
}
