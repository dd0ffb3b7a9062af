//! The command line: one definition feeds the parser, `--help`, the man pages and the shell completions.
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;

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
    /// Show what a recording holds; reads all of it.
    Info(Reading),
    /// Verify a recording: every frame, every count, the order.
    Check(Reading),
    /// Make a usable recording of what a crash left behind.
    Recover(Reading),
    /// Re-encode a recording smaller, with the same content.
    Compact(Compact),
    /// Write the references in order as Parquet or CSV.
    Export(Export),
    /// Say where pages should live, what that is worth and what to change.
    Report(Report),
    /// List the members of a family: policies, machines, backends, orders.
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

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  homenode record -o lu.hnt -- ./lu -s S -p 4
  homenode record --limit-refs 100000000 --roi solve -- ./app

The program must be built with `homenode cc` or `homenode c++`. The status is 1 if the program failed; what it did until
then is recorded all the same.")]
pub(crate) struct Record {
    /// Dataset to write (a directory) [default: the program's name with .hnt]
    #[arg(short, long, value_hint = ValueHint::DirPath)]
    pub(crate) output: Option<PathBuf>,
    /// Replace the dataset if it exists.
    #[arg(long)]
    pub(crate) force: bool,
    /// How to see references (`homenode list backends`).
    #[arg(long, default_value = "auto")]
    pub(crate) backend: String,
    /// Stop recording after N references; the program runs on.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit_refs: Option<u64>,
    /// Record references only inside the phase of this name.
    #[arg(long, value_name = "NAME")]
    pub(crate) roi: Option<String>,
    /// Count references and record nothing: the floor of the slowdown.
    #[arg(long, conflicts_with_all = ["output", "limit_refs", "roi", "force"])]
    pub(crate) count_only: bool,
    /// Print the summary as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Program and its arguments.
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  homenode cc -O2 -pthread app.c -o app
  make CC='homenode cc' CXX='homenode c++'

HOMENODE_REAL_CC and HOMENODE_REAL_CXX name the compiler to use (gcc or clang).")]
pub(crate) struct Compile {
    /// Arguments of the compiler.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    pub(crate) args: Vec<OsString>,
}

#[derive(Args, Debug)]
pub(crate) struct Reading {
    /// Dataset.
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dataset: PathBuf,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Compact {
    /// Dataset.
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dataset: PathBuf,
    /// Write a new dataset instead of replacing this one's files.
    #[arg(short, long, value_hint = ValueHint::DirPath)]
    pub(crate) output: Option<PathBuf>,
    /// Replace the output if it exists.
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The order in which references of different threads are replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    /// Virtual time constrained by synchronisation: does not depend on how busy the host was.
    Model,
    /// Time stamps, as the host scheduled the threads; results show their spread over three seeded merges.
    Recorded,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  homenode export lu.hnt -o lu.parquet
  duckdb -c \"select thread, count(*) from 'lu.parquet' group by thread\"

Columns: thread, addr, size, op (0 read, 1 write, 2 atomic, 3 spin), site; one row a reference, in order.")]
pub(crate) struct Export {
    /// Dataset.
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dataset: PathBuf,
    /// File to write; ends in .parquet or .csv.
    #[arg(short, long, value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Order of the rows.
    #[arg(long, value_enum, default_value = "model")]
    pub(crate) order: Order,
    /// Seed of the merge, with `--order recorded`.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Replace the file if it exists.
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  homenode report app.hnt
  homenode report app.hnt -o app.html --machine butterfly --policy first-touch --policy 'ace(2)'
  homenode report before.hnt --compare after.hnt

--map: `default` (thread i of T on socket floor(i * sockets / T)), or as docs/machines.md says.")]
pub(crate) struct Report {
    /// Dataset.
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dataset: PathBuf,
    /// Write a self-contained HTML page (or, ending in .json, the document) instead of text on the terminal.
    #[arg(short, long, value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Replace the output if it exists.
    #[arg(long)]
    pub(crate) force: bool,
    /// Machine: a name (`homenode list machines`) or a TOML file.
    #[arg(long, default_value = "two-socket")]
    pub(crate) machine: String,
    /// Placement block in bytes, a power of two; several separated by commas [default: the machine's page]
    #[arg(long, value_name = "BYTES", value_delimiter = ',')]
    pub(crate) block: Vec<u64>,
    /// Policies to evaluate (`homenode list policies`) [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) policy: Vec<String>,
    /// Threads to processors.
    #[arg(long)]
    pub(crate) map: Option<String>,
    /// A second dataset (usually the repaired program) to show beside the first.
    #[arg(long, value_name = "DATASET", value_hint = ValueHint::DirPath)]
    pub(crate) compare: Option<PathBuf>,
    /// Order of the replay.
    #[arg(long, value_enum, default_value = "model")]
    pub(crate) order: Order,
    /// Charge busy-wait references too.
    #[arg(long)]
    pub(crate) charge_spins: bool,
    /// Smallest saving worth a finding, in percent of the program's cost.
    #[arg(long, value_name = "PERCENT", default_value_t = 5, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) threshold: u32,
    /// Print the document as JSON.
    #[arg(long, conflicts_with = "output")]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct List {
    /// Family; without it, the families.
    pub(crate) family: Option<String>,
    /// Print as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
