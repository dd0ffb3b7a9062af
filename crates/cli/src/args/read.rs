//! Commands that look at recordings.
use super::gate::Gate;
use super::names;
use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

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

/// Options of `export` that only rows have.
const ROWS_ONLY: [&str; 4] = ["after_caches", "realign", "order", "seed"];

/// What a miss costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Model {
    /// The latency of the memory that it goes to.
    Latency,
    /// That only where a processor waits for it; less where misses of a thread overlap, or a prefetcher has the line on its way.
    Overlap,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  homenode export lu.hnt -o lu.parquet
  duckdb -c \"select object, count(*) from 'lu.parquet' where node <> thread_node group by object\"
  homenode export lu.hnt -o lu-moved.parquet --realign word --machine markatos
  homenode export lu.hnt -o lu-seen.parquet --after-caches --machine two-socket
  homenode export lu.hnt --perfetto lu-time.json
  homenode export lu.hnt --firefox lu-cost.json.gz

One row a reference, in order:
  thread, addr, size         who, first byte, bytes
  op                         load, store, atomic or spin (a load that only waits)
  site, file, line, function where in the program
  object                     what lies there, by the name that reports give it
  thread_node, node          where the thread runs on --machine, and where the page is under first touch
  phase                      the program's own mark (homenode.h) that the thread is in
Sampled recordings besides: weight, source, latency, cpu. Recordings of some pages (`record --sample`): pages_one_in.

With --after-caches one row for each access that placement policies see: what passes the caches of --machine
(misses, write-backs, and hits that may change where a page is). Besides: space (address space), charged (read,
write, write-back or nothing) and times; its cost under first touch is times the machine's cost of `charged` by
thread_node at node. Write-backs have no thread and no place in the program. Cache-to-cache transfers are not rows:
they cost the same wherever a page is.

--perfetto and --firefox write what happens over time on --machine, with pages under first touch, instead of rows:
  --perfetto                 threads and their phases, how many accesses are remote, what each memory serves
  --firefox                  what accesses cost, by code and data, in the Firefox Profiler's call trees and graphs
Time of a sampled recording is its own. Recording slows a program down, so that of other recordings is the machine's:
what is printed, and the file itself, says how it comes about.")]
#[command(group = clap::ArgGroup::new("file").required(true).args(["output", "perfetto", "firefox"]))]
pub(crate) struct Export {
    /// Dataset.
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dataset: PathBuf,
    /// File to write; ends in .parquet or .csv.
    #[arg(short, long, value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Write a timeline for Perfetto (https://ui.perfetto.dev) or about:tracing instead of rows; ends in .json or .json.gz.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ROWS_ONLY)]
    pub(crate) perfetto: Option<PathBuf>,
    /// Write a profile for the Firefox Profiler (https://profiler.firefox.com) instead of rows; ends in .json or .json.gz.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ROWS_ONLY)]
    pub(crate) firefox: Option<PathBuf>,
    /// Write what placement policies see on the machine, instead of all references.
    #[arg(long)]
    pub(crate) after_caches: bool,
    /// Machine: a name (`homenode list machines`) or a TOML file.
    #[arg(long, default_value = "two-socket", value_parser = names::MACHINE, hide_possible_values = true)]
    pub(crate) machine: String,
    /// Placement block in bytes, a power of two [default: the machine's page]
    #[arg(long, value_name = "BYTES")]
    pub(crate) block: Option<u64>,
    /// Threads to processors, as in `homenode report`.
    #[arg(long, value_parser = names::MAP, hide_possible_values = true)]
    pub(crate) map: Option<String>,
    /// Where data would be if it were laid out as by `homenode sweep --realign`, for pages of --block bytes: word,
    /// word(WINDOW,PAGE,SHARE) or field. The rows are the same; what moved has an address above 2^47.
    #[arg(long, value_name = "HOW", conflicts_with = "after_caches", value_parser = names::family("realignments"), hide_possible_values = true)]
    pub(crate) realign: Option<String>,
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
  homenode report app.hnt --quick
  homenode report app.hnt --quick --changes
  homenode report app.hnt --verify
  homenode report app.hnt --machine dram-cxl --capacity 16G,64G
  homenode topo --measure && homenode report app.hnt --machine this --model overlap
  homenode report app.hnt --fail-above 5% --github --sarif homenode.sarif     in continuous integration
  homenode report app.hnt --baseline old.json                                 only for what became worse

--map: `sockets`, the default, binds thread i of the T that live at the same time on node floor(i * nodes / T).
Where the program bound its threads itself (recorded affinity calls) that wins over the default.
Others: recorded, compact, spread, 0,1,8,9 or 0=cpu3,1=node1; docs/machines.md has them all.")]
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
    #[arg(long, default_value = "two-socket", value_parser = names::MACHINE, hide_possible_values = true)]
    pub(crate) machine: String,
    /// Placement block in bytes, a power of two; several separated by commas [default: the machine's page]
    #[arg(long, value_name = "BYTES", value_delimiter = ',')]
    pub(crate) block: Vec<u64>,
    /// Policies to evaluate (`homenode list policies`) [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = names::family("policies"), hide_possible_values = true)]
    pub(crate) policy: Vec<String>,
    /// Threads to processors.
    #[arg(long, value_parser = names::MAP, hide_possible_values = true)]
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
    /// What a miss costs: its whole latency, each; or by class, as a processor waits for it (needs a machine with [misses], and code for
    /// x86-64 to tell which loads depend on each other), with what bandwidth adds beside it (needs [bandwidth]).
    #[arg(long, value_enum, default_value = "latency")]
    pub(crate) model: Model,
    /// Smallest saving worth a finding, in percent of the program's cost.
    #[arg(long, value_name = "PERCENT", default_value_t = 5, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) threshold: u32,
    /// Sizes of DRAM, where the machine has memory without processors beside it (dram-cxl): what the program costs if the rest of its data
    /// lives there. Bytes with a unit (16G,64G), or percent of the pages used (40, 10..90:20) [default: the machine's, if it does not hold all]
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    pub(crate) capacity: Vec<String>,
    /// Price every policy and bound again, from its placements, by the independent checker; fails if one differs.
    #[arg(long)]
    pub(crate) verify: bool,
    /// A first answer in a fraction of the time: some of the pages are replayed, and everything is told with the range in which the
    /// whole report would find it. No findings.
    #[arg(long, conflicts_with_all = ["output", "compare", "verify", "charge_spins", "capacity"])]
    pub(crate) quick: bool,
    /// With --quick: also what changes of the program would save, those of who initialises, keeps or copies an object, with ranges from the
    /// same pages. Takes several times as long. Reports of recordings of some pages (`record --sample`) look at them without this.
    #[arg(long, requires = "quick")]
    pub(crate) changes: bool,
    /// Print the document as JSON.
    #[arg(long, conflicts_with = "output")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) gate: Gate,
}

#[derive(Args, Debug)]
pub(crate) struct List {
    /// Family; without it, the families.
    #[arg(value_parser = names::family("families"), hide_possible_values = true)]
    pub(crate) family: Option<String>,
    /// Print as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  homenode reproduce thakkar
  homenode reproduce thakkar --size S -o thakkar/     also a page, a plot and the data
  homenode reproduce bolosky --experiment E8 -o e8/   one of the twelve experiments
  homenode reproduce bolosky -e E8 --only gauss,kmerge --size P -o nine/   two of its programs, at its size
  homenode reproduce markatos --size S -o markatos/    protocols of page coherence, E1 to E8
  homenode reproduce ascoma --size S -o ascoma/       hybrids under memory pressure, 3 recordings; tens of minutes
  homenode reproduce ascoma --only radix --size P -o radix/  one of its programs as long as the study's
  homenode reproduce bilas --size S -o /shared/bilas --dask tcp://host:8786   its runs by the workers of a Dask cluster")]
pub(crate) struct Reproduce {
    /// What to reproduce (`homenode list experiments`).
    #[arg(value_parser = names::family("experiments"), hide_possible_values = true)]
    pub(crate) what: String,
    /// Only this experiment of it, such as E8; may be repeated.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) experiment: Vec<String>,
    /// Only these programs of it, such as gauss,kmerge; claims that need others are not judged.
    #[arg(long, value_name = "PROGRAMS", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Size of the programs: XS, S, M, or P, which is that of the paper and takes hours.
    #[arg(long, default_value = "XS", value_parser = names::SIZE, hide_possible_values = true)]
    pub(crate) size: String,
    /// Folder for the page (Markdown, HTML with its pictures inside), pictures and data; made if missing.
    #[arg(short, long, value_hint = ValueHint::DirPath)]
    pub(crate) output: Option<PathBuf>,
    /// Have the workers of a Dask cluster do the runs of recordings, by the address of its scheduler: --output is then a folder that all
    /// of them share. Needs the Python package, pip install 'homenode[dask]'.
    #[arg(long, value_name = "ADDRESS", requires = "output")]
    pub(crate) dask: Option<String>,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
