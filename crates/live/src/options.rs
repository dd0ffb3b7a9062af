//! What can be set of the live loop.
use homenode_capture::sampled::{Beside, BesideOf};
use homenode_command::Failure;
use homenode_machine::Topology;
use homenode_placement::live::Config;
use homenode_placement::policies::Choice;
use homenode_sampling::SampleSource;
use homenode_sampling::hinting::Kernel;
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
    /// Whether kernel-wide settings may be changed for the time of the run.
    pub tune_kernel: bool,
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
            policy: POLICY.into(),
            move_permille: config.move_per_mille,
            decide_permille: DECIDE_PERMILLE,
            window: WINDOW,
            duration: None,
            dry_run: false,
            tune_kernel: false,
            journal: None,
            record: None,
            force: false,
        }
    }
}

/// Without a word on moves: the loop has limits of its own, which a long program of many phases earns back.
const POLICY: &str = "affinity(100000,2,4294967295)";
/// Most processor time for looking and deciding.
const DECIDE_PERMILLE: u32 = 200;
/// Samples by the clock speak for their neighbours, so more than these a second say nothing new.
const CLOCK_RATE_PER_S: u64 = 2_000;
/// For so long a placement is expected to be of use: owners that change more often are not worth following.
const HORIZON: Duration = Duration::from_secs(30);
/// Samples of the clock say within a second whose a page is, so that one that came lately need not stay for longer.
const STAY: Duration = Duration::from_secs(4);
/// Length of a window: phases of some seconds are to be followed within them.
const WINDOW: Duration = Duration::from_millis(500);

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

    /// What may be done to the kernel's settings.
    pub(crate) fn kernel(&self) -> Kernel {
        if self.tune_kernel && !self.dry_run { Kernel::Tuned } else { Kernel::Untouched }
    }

    pub(crate) fn choice(&self) -> Result<Choice, Failure> {
        Choice::parse(&self.policy).map_err(Failure::usage)
    }

    /// The settings of the governor. `may_move` = false only looks.
    pub(crate) fn config(
        &self,
        choice: &Choice,
        source: &dyn SampleSource,
        topology: &Topology,
        may_move: bool,
    ) -> Config {
        let waits_by_itself = choice.spec.name == "affinity";
        // The policy's own window is one window of the loop.
        let ticks = choice.spec.params.iter().position(|p| p.name == "window").map(|i| choice.values[i]);
        let smallest = topology.nodes.iter().map(|n| n.memory_bytes).filter(|b| *b > 0).min().unwrap_or(0);
        let defaults = Config::default();
        let counts_time = source.unit() != SampleUnit::Window && source.assumed_accesses().is_some();
        let horizon = HORIZON.as_nanos() / self.window.as_nanos().max(1);
        let freeze_within_ns = if counts_time { STAY.as_nanos() as u64 } else { defaults.freeze_within_ns };
        Config {
            horizon_windows: u32::try_from(horizon).unwrap_or(u32::MAX).max(1),
            freeze_within_ns,
            window_ns: u64::try_from(self.window.as_nanos()).unwrap_or(u64::MAX).max(1),
            decide_per_mille: self.decide_permille,
            move_per_mille: if may_move { self.move_permille } else { 0 },
            hysteresis: if waits_by_itself { 1 } else { defaults.hysteresis },
            accesses_per_unit: source.assumed_accesses().unwrap_or(1),
            comes_round: source.unit() == SampleUnit::Window,
            // A page that is asked about by faults is asked about by itself.
            neighbours: source.unit() != SampleUnit::Window,
            // Two in a hundred stay free on every node, so that the program and the kernel still find room there.
            full_rate_per_s: if counts_time { CLOCK_RATE_PER_S } else { defaults.full_rate_per_s },
            reserve_pages: (smallest / 4096 / 50).min(defaults.reserve_pages * 16),
            ticks_per_window: u64::from(ticks.unwrap_or(100_000)),
            ..defaults
        }
    }
}

/// What `--tune-kernel` may change, as it stands now, on one line.
pub fn kernel_settings() -> String {
    homenode_host::balancing::settings_in_words(std::path::Path::new("/"))
}

/// What is said on a machine with one node.
pub(crate) const ONE_NODE: &str = "this machine has one memory node: there is nothing to place, and nothing was moved";

/// And if the evidence was to be recorded.
pub(crate) fn not_recorded(options: &LiveOptions) -> Option<String> {
    let sorry = "nothing was recorded: without a second node nothing is watched; homenode record has what works here";
    options.record.is_some().then(|| sorry.to_owned())
}
