//! Commands that obtain a recording.
use clap::{Args, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::names;
use super::values::{bytes, count, one_in, permille, seconds};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  homenode record -o lu.hnt -- ./lu -s S -p 4
  homenode record --calibrate ./lu.plain -- ./lu -s S -p 4
  homenode record --limit-refs 100M --roi solve -- ./app
  homenode record --sample 1/64 -- ./app                 programs of minutes: one page in 64, exactly
  homenode record --backend faults -- ./app              any program, where there are several nodes
  homenode record --backend perf --pid 1234 --duration 30 -o app.hnt

For the exact backend (hooks) the program must be built with `homenode cc` or `homenode c++`;
the sampling backends (perf, faults) take any program and running ones. `homenode doctor` says
which backends work here. The status is 1 if the program failed; what it did until then is
recorded all the same.")]
pub(crate) struct Record {
    /// Dataset to write (a directory) [default: the program's name with .hnt]
    #[arg(short, long, value_hint = ValueHint::DirPath)]
    pub(crate) output: Option<PathBuf>,
    /// Replace the dataset if it exists.
    #[arg(long)]
    pub(crate) force: bool,
    /// How to see references (`homenode list backends`).
    #[arg(long, default_value = "auto", value_parser = names::BACKEND, hide_possible_values = true)]
    pub(crate) backend: String,
    /// Stop recording after N references, K, M and G being powers of 1000; the program runs on.
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) limit_refs: Option<u64>,
    /// Record references only inside the phase of this name.
    #[arg(long, value_name = "NAME")]
    pub(crate) roi: Option<String>,
    /// Record the references to one page in N, drawn at random: costs little more than counting, and reports give ranges
    /// (hooks). The program should touch some hundred times N pages, or reports cannot tell.
    #[arg(long, value_name = "1/N", value_parser = one_in)]
    pub(crate) sample: Option<u32>,
    /// Size of the pages that --sample draws: the largest block that a report can have.
    #[arg(long, value_name = "BYTES", value_parser = bytes, default_value = "4K", requires = "sample")]
    pub(crate) sample_page: u64,
    /// Sample this running process and its threads instead of starting a program (perf, faults).
    #[arg(long, value_name = "PID", conflicts_with_all = ["command", "count_only"], requires = "output",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pid: Option<u32>,
    /// Stop sampling after this many seconds; the program runs on (perf, faults).
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) duration: Option<Duration>,
    /// What sampling may cost, in percent of the program's time (perf, faults) [default: 2]
    #[arg(long, value_name = "PERCENT", value_parser = permille)]
    pub(crate) overhead: Option<u32>,
    /// Let the recording switch the kernel's NUMA balancing on and set its scans, for the whole machine; both are printed and
    /// put back at the end (faults, root).
    #[arg(long)]
    pub(crate) tune_kernel: bool,
    /// Run this program first, with the same arguments: the one that is recorded, built without hooks (`homenode cc --plain`
    /// builds both). The report then says how much of its time is for memory.
    #[arg(long, value_name = "PROGRAM", value_hint = ValueHint::CommandName,
          conflicts_with_all = ["limit_refs", "roi", "pid", "duration", "overhead", "count_only"])]
    pub(crate) calibrate: Option<OsString>,
    /// Run it this often; the run that takes least processor time counts.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "calibrate", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) calibrate_runs: u32,
    /// Count references and record nothing: the floor of the slowdown.
    #[arg(long, conflicts_with_all = ["output", "limit_refs", "roi", "force", "duration", "overhead", "sample"])]
    pub(crate) count_only: bool,
    /// Print the summary as JSON, and nothing else on stdout: what the program prints there goes to stderr.
    #[arg(long)]
    pub(crate) json: bool,
    /// Program and its arguments, which may follow `--`; all options stand before it.
    #[arg(trailing_var_arg = true, required_unless_present = "pid", value_name = "CMD", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  homenode cc -O2 -pthread app.c -o app
  make CC='homenode cc' CXX='homenode c++'
  homenode cc --plain -O2 -pthread app.c -o app      # app.plain too: without hooks, for info and export to count by

--plain and --compiler=NAME (gcc, clang, ...) stand before the compiler's arguments.
HOMENODE_REAL_CC and HOMENODE_REAL_CXX name the compiler to use (gcc or clang).")]
pub(crate) struct Compile {
    /// Arguments of the compiler.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    pub(crate) args: Vec<OsString>,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  perf mem record -- ./app; homenode import perf.data -o app.hnt
  perf c2c record -a -- sleep 10; homenode import perf.data -o box.hnt
  homenode import drmemtrace.app.1234.0000.dir -o app.hnt
  valgrind --tool=lackey --trace-mem=yes --log-file=app.lackey ./app
  homenode import app.lackey -o app.hnt
  homenode import rows.parquet -o app.hnt

Reads perf.data of any event that recorded data addresses (perf mem, perf c2c, IBS), from this
or another machine; offline traces of DynamoRIO's drmemtrace; logs of valgrind's lackey; Parquet
and CSV with columns thread, addr and op. `homenode list formats`, docs/import.md.")]
pub(crate) struct Import {
    /// Files to import, or the folder of a trace.
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Dataset to write.
    #[arg(short, long, value_hint = ValueHint::DirPath)]
    pub(crate) output: PathBuf,
    /// Replace the dataset if it exists.
    #[arg(long)]
    pub(crate) force: bool,
    /// Print the summary as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
