//! Commands that decide and act.
use super::names;
use super::values::{bytes, permille, seconds};
use clap::{Args, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  homenode place app.hnt -o plan.json
  homenode place app.hnt -o plan.json --machine this --rule uniform --capacity 16G,2G
  homenode run --plan plan.json -- ./app

The plan names data by build, symbol or call stack, so it fits every run of the same build, also
at another size: ranges keep their share of the object. Thin evidence, and a plan for less than
half of the uses, are warned of on stderr; the status is 0 then.
`homenode list rules` names the rules.")]
pub(crate) struct Place {
    /// Dataset, recorded by any backend.
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dataset: PathBuf,
    /// Plan to write; without it the plan is only described.
    #[arg(short, long, value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Replace the plan if it exists.
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Machine to plan for: a name (`homenode list machines`), a TOML file, or `this`.
    #[arg(long, default_value = "this", value_parser = names::MACHINE, hide_possible_values = true)]
    pub(crate) machine: String,
    /// Threads to processors, as in `report`; the plan pins them there.
    #[arg(long, value_parser = names::MAP, hide_possible_values = true)]
    pub(crate) map: Option<String>,
    /// Rule that turns counts into homes (`homenode list rules`) [default: hop-sensitive]
    #[arg(long, value_parser = names::family("rules"), hide_possible_values = true)]
    pub(crate) rule: Option<String>,
    /// Page size to place by, in bytes [default: the machine's page]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) page: Option<u64>,
    /// Bytes that each node can hold, one number a node; K, M, G and T are powers of 1024 [default for `this`: free now]
    #[arg(long, value_name = "BYTES", value_delimiter = ',', value_parser = bytes)]
    pub(crate) capacity: Option<Vec<u64>>,
    /// Choose the threads' processors together with the pages.
    #[arg(long, conflicts_with = "map")]
    pub(crate) move_threads: bool,
    /// Print the plan as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  homenode run --plan plan.json -- ./app     place the data as planned; no change to the program
  homenode run -- ./app                      watch it, and move its pages to where they are used
  homenode run --plan plan.json --dry-run -- ./app
  homenode run --compare first-touch,interleave,homenode -- ./app

A plan is carried out by a preloaded library before the program touches its memory; a static
program is moved from outside right after its start. A plan goes through scripts and launchers
(env, nice, taskset, mpirun) to the process that runs the recorded program; of several at once
one gets it. Objects of another size than in the recording are placed by shares of it.
SIGUSR1 switches moving off and on again. The status is 1 if the program failed, and if nothing
of the plan could be placed.")]
pub(crate) struct Run {
    /// Plan made by `homenode place`.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) plan: Option<PathBuf>,
    /// How objects of the plan are found: `build` (the same build of the program) or `size` (another build).
    #[arg(long = "match", value_name = "HOW", requires = "plan", default_value = "build",
          value_parser = ["build", "size"])]
    pub(crate) matching: String,
    /// Run the program once under each of: first-touch, interleave, autonuma, homenode.
    #[arg(long, value_name = "REGIME", value_delimiter = ',', value_parser = names::REGIME, hide_possible_values = true)]
    pub(crate) compare: Vec<String>,
    #[command(flatten)]
    pub(crate) live: Live,
    /// Print the result as JSON, and nothing else on stdout: what the program prints there goes to stderr.
    #[arg(long)]
    pub(crate) json: bool,
    /// Program and its arguments, which may follow `--`; all options stand before it.
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  homenode migrate --pid 1234
  homenode migrate --pid 1234 --duration 60 --budget 2 --journal moves.jsonl
  homenode migrate --replay moves.jsonl      decide a recorded run again
  homenode migrate --pid 1234 --dry-run --duration 10

Needs samples (`homenode doctor` says from what) and the right to move the process's pages: the
same user, or CAP_SYS_NICE. Ctrl-C ends it, SIGUSR1 switches moving off and on; the process runs
on.")]
pub(crate) struct Migrate {
    /// Process whose pages to move; its descendants too.
    #[arg(long, value_name = "PID", required_unless_present = "replay", conflicts_with = "replay",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pid: Option<u32>,
    /// Decide a journal again and say whether the decisions are the same; with --policy, what another one would do.
    #[arg(long, value_name = "JOURNAL", value_hint = ValueHint::FilePath,
          conflicts_with_all = ["budget", "decide", "window", "duration", "dry_run", "tune_kernel", "journal", "record"])]
    pub(crate) replay: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) live: Live,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Settings of the live loop.
#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("kept").args(["journal", "record"]).multiple(true))]
pub(crate) struct Live {
    /// Policy that decides (`homenode list policies`) [default: affinity]
    #[arg(long, value_parser = names::family("policies"), hide_possible_values = true)]
    pub(crate) policy: Option<String>,
    /// Most time for moving pages, in percent of the time that passes [default: 10]
    #[arg(long, value_name = "PERCENT", value_parser = permille)]
    pub(crate) budget: Option<u32>,
    /// Most processor time for sampling and deciding, in percent of one processor [default: 20]
    #[arg(long, value_name = "PERCENT", value_parser = permille)]
    pub(crate) decide: Option<u32>,
    /// Length of a window of observation [default: 0.5]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) window: Option<Duration>,
    /// Stop moving after this time; the program runs on.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) duration: Option<Duration>,
    /// Print every call that would be made, and make none; nothing of the kernel is set either.
    #[arg(long, conflicts_with = "tune_kernel")]
    pub(crate) dry_run: bool,
    /// Let kernel-wide settings be changed for the time of the run (NUMA balancing and its scans; root): they are printed and
    /// put back. Without it none is ever written.
    #[arg(long)]
    pub(crate) tune_kernel: bool,
    /// Write everything seen and decided to this file (JSON lines), for --replay.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) journal: Option<PathBuf>,
    /// Write the samples to this dataset, as `homenode record` does, for report and place.
    #[arg(long, value_name = "DATASET", value_hint = ValueHint::DirPath)]
    pub(crate) record: Option<PathBuf>,
    /// Replace the journal and the dataset if they exist.
    #[arg(long, requires = "kept")]
    pub(crate) force: bool,
}
