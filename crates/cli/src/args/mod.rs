//! The command line: one definition feeds the parser, `--help`, the man pages and the shell completions.
use clap::{Parser, Subcommand, ValueHint};
use std::path::PathBuf;

mod act;
mod capture;
mod gate;
mod machine;
pub(crate) mod names;
mod read;
mod sim;
mod study;
mod svm;
mod values;

pub(crate) use act::{Live, Migrate, Place, Run};
pub(crate) use capture::{Compile, Import, Record};
pub(crate) use machine::{Doctor, Topo};
pub(crate) use read::{Compact, Export, List, Model, Order, Reading, Report, Reproduce};
pub(crate) use sim::{Sim, SimCluster, SimMemory};
pub(crate) use study::{Sweep, SweepWorker};
pub(crate) use svm::{Svm, SvmReplayArgs, SvmReportArgs, SvmRun};

/// Where should each page live, what would the best placement be worth, and how do I get it?
#[derive(Parser, Debug)]
#[command(
    name = "homenode",
    version,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true
)]
#[command(after_help = "Examples:
  homenode cc -O2 -pthread app.c -o app      compile with the capture hooks
  homenode record -o app.hnt -- ./app        record a run
  homenode report app.hnt -o app.html        what to change and what it is worth

Exit status: 0 ok, 1 the work failed, 2 wrong usage, 3 bad input.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Nothing on stderr but errors.
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run a program and record what it does to memory.
    Record(Record),
    /// Compile and link C with the capture hooks; a drop-in for CC=.
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Cc(Compile),
    /// Compile and link C++ with the capture hooks; a drop-in for CXX=.
    #[command(name = "c++", disable_help_flag = true, disable_version_flag = true)]
    Cxx(Compile),
    /// Make a recording of what another tool sampled.
    Import(Import),
    /// Show what a recording holds; reads all of it.
    Info(Reading),
    /// Verify a recording: every frame, every count, the order.
    Check(Reading),
    /// Make a usable recording of what a crash left behind.
    Recover(Reading),
    /// Re-encode a recording smaller, with the same content.
    Compact(Compact),
    /// Write the references in order as Parquet or CSV, or what happens over time for Perfetto or the Firefox Profiler.
    Export(Export),
    /// Say where pages should live, what that is worth and what to change.
    Report(Report),
    /// Price recordings on many machines, block sizes and policies at once.
    Sweep(Sweep),
    /// Run recordings again on machines in virtual time.
    #[command(subcommand)]
    Sim(Sim),
    /// Decide from a recording where data and threads should live.
    Place(Place),
    /// Run a program with its data placed by a plan, or moved while it runs.
    Run(Run),
    /// Move the pages of a running process to where they are used.
    Migrate(Migrate),
    /// Run programs on nodes that share their memory by a protocol.
    #[command(subcommand)]
    Svm(Svm),
    /// Show this machine's memory nodes, and measure what they cost.
    Topo(Topo),
    /// Repeat a published study and compare with its results.
    Reproduce(Reproduce),
    /// Say what this machine can and cannot do, why, and what to do about it.
    Doctor(Doctor),
    /// List the members of a family: policies, machines, backends and more.
    List(List),
    /// Print shell completions.
    Completions {
        /// Shell to complete for.
        shell: clap_complete::Shell,
    },
    /// Write the man pages into a directory.
    Man {
        /// Directory to write to; made if missing.
        #[arg(value_hint = ValueHint::DirPath)]
        directory: PathBuf,
    },
}
