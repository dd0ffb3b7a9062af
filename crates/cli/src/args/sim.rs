//! Commands that run recordings again in virtual time.
use super::names;
use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

#[derive(Subcommand, Debug)]
pub(crate) enum Sim {
    /// CC-NUMA, S-COMA and hybrids of both under memory pressure.
    Memory(SimMemory),
    /// Shared virtual memory on a cluster: what faults, messages, interrupts and protocol cost.
    Cluster(SimCluster),
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  homenode sim cluster lu.hnt
  homenode sim cluster lu.hnt --protocol base,dw,rf,dd,nil --nodes 4x4,8x2 --phase factor
  homenode sim cluster lu.hnt --machine svm-best --page 8K
  homenode sim cluster lu.hnt --what-if local-faults,io=4x,interrupts=0
  homenode sim cluster lu.hnt --compare svm-best                what the best network would save, parameter by parameter
  homenode sim cluster lu.hnt --compare svm-best -o lu.html     as a page, with pictures
  homenode sim cluster lu.hnt --csv > lu.csv
  homenode sim cluster lu.hnt --protocol base --nodes 4x4 --journal lu.journals && homenode svm replay lu.journals

The recording runs again on nodes that share no memory, by the protocol of `homenode svm run`: home-based lazy release
consistency. Faults, twins, diffs and notices take time on processors; what goes to another node passes the bus of
memory, I/O bus, network interface and link, each of which serves in order of arrival; requests interrupt processors
where the step of the protocol has them do so. Inside a node caches are kept coherent over the bus.

Every thread runs on a processor of its own, in order. Mutexes, reader-writer locks (as mutexes) and barriers (of the
same threads every time) are the protocol's; for everything else that synchronises threads wait as recorded, and nodes learn nothing
of each other's writes by it. Pages that one node uses alone are none of the protocol's. A diff has the words that were
written, also where they were written with what they were. Times are the model's; speedups are over the same
references on one processor of the machine.

The machine needs a [network] section (docs/machines.md).")]
pub(crate) struct SimCluster {
    /// Dataset.
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dataset: PathBuf,
    /// Write a self-contained HTML page as well (or, ending in .json or .csv, the document or the table).
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Replace the output if it exists.
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Steps of the protocol: base, dw, rf, dd, nil (genima).
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "base,genima", value_parser = names::STEP, hide_possible_values = true)]
    pub(crate) protocol: Vec<String>,
    /// Shapes of the cluster: nodes x processors of each [default: the machine's]
    #[arg(long, value_name = "SHAPES", value_delimiter = ',')]
    pub(crate) nodes: Vec<String>,
    /// Machine: a name (`homenode list machines`) or a TOML file.
    #[arg(long, default_value = "svm-achievable", value_parser = names::MACHINE, hide_possible_values = true)]
    pub(crate) machine: String,
    /// Bytes of a page, a power of two: 4K, 16K [default: the machine's]
    #[arg(long, value_name = "BYTES", value_parser = super::values::bytes)]
    pub(crate) page: Option<u64>,
    #[arg(long, value_name = "LIST", value_delimiter = ',', help = homenode_toolkit::what_ifs_help(), value_parser = names::family("what-ifs"), hide_possible_values = true)]
    pub(crate) what_if: Vec<String>,
    /// Check that every read of a shared page finds what was written last, as it must in a program without data races; takes memory.
    #[arg(long)]
    pub(crate) check: bool,
    #[arg(long, value_name = "SEED[,KIND=SIZE]...", help = homenode_toolkit::faults_help())]
    pub(crate) faults: Option<String>,
    /// Another machine: what each of its parameters by itself, and all together, would save.
    #[arg(long, value_name = "MACHINE", value_parser = names::MACHINE, hide_possible_values = true)]
    pub(crate) compare: Option<String>,
    /// Note what the protocol does in journals in this folder, which is made or empty, for `homenode svm replay`: of one shape and one
    /// protocol, without --what-if and --compare.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath, conflicts_with_all = ["what_if", "compare"])]
    pub(crate) journal: Option<PathBuf>,
    /// Threads to processors, as in `homenode report` [default: compact]
    #[arg(long, value_parser = names::MAP, hide_possible_values = true)]
    pub(crate) map: Option<String>,
    /// Count only this phase of the program; what precedes it is run all the same.
    #[arg(long, value_name = "NAME")]
    pub(crate) phase: Option<String>,
    /// Take the instructions between references so many times.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    pub(crate) gaps: f64,
    /// Print the result as JSON.
    #[arg(long, conflicts_with = "csv")]
    pub(crate) json: bool,
    /// Print the table as CSV.
    #[arg(long)]
    pub(crate) csv: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  homenode sim memory fft.hnt
  homenode sim memory fft.hnt --architecture ascoma,rnuma --pressure 70,90 --phase transform
  homenode sim memory fft.hnt --pressure 10..90:10 --csv > fft.csv
  homenode sim memory fft.hnt --pressure 70,90 --open o2      reserve of the page cache, not of all frames
  homenode sim memory fft.hnt --machine mine.toml --json
  homenode sim memory fft.hnt --machine dram-cxl              DRAM in front of a CXL expander
  homenode sim memory fft.hnt --machine dram-cxl --dram 5..50:5,64M --policy recency,hotness(64) --page 2M

Every thread runs on a processor of its own, in order, with one miss at a time; buses, DRAM banks, DSM
engines and input ports of the network serve in order of arrival. Mutexes, reader-writer locks and
barriers are granted anew in virtual time, everything else as recorded; busy waiting is left out.
Instructions between references are those counted by the recording, else the shortest way through the
machine code. Pressure is home pages over frames of a node. Pages of one node alone are private: they
need no frames and make no coherence.

That machine needs a [hybrid] section (docs/machines.md); `homenode list architectures` says what differs.

A machine with a node without processors (dram-cxl) has DRAM in front of slower memory. What reaches memory behind
its caches is counted by page and tick; policies (`homenode list tier-policies`) and the exact optimum move pages
between ticks. Printed are costs over the size of DRAM, and the least DRAM within 5 % of all in DRAM.")]
pub(crate) struct SimMemory {
    /// Dataset.
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dataset: PathBuf,
    /// Architectures, compared with ccnuma, which always runs [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = names::family("architectures"), hide_possible_values = true)]
    pub(crate) architecture: Vec<String>,
    /// Memory pressures in percent: numbers, ranges in steps of 20 (10..90) or other steps (10..90:10) [default: 10..90]
    #[arg(long, value_name = "PERCENT", value_delimiter = ',')]
    pub(crate) pressure: Vec<String>,
    /// Machine: a name (`homenode list machines`) or a TOML file.
    #[arg(long, default_value = "ascoma", value_parser = names::MACHINE, hide_possible_values = true)]
    pub(crate) machine: String,
    /// Threads to processors, as in `homenode report`.
    #[arg(long, value_parser = names::MAP, hide_possible_values = true)]
    pub(crate) map: Option<String>,
    /// Count only this phase of the program; what precedes it is run all the same.
    #[arg(long, value_name = "NAME")]
    pub(crate) phase: Option<String>,
    /// Take the instructions between references so many times [default: 1]
    #[arg(long, value_name = "FACTOR")]
    pub(crate) gaps: Option<f64>,
    /// Take another reading of what the study leaves open (`homenode list open-points`).
    #[arg(long, value_name = "POINTS", value_delimiter = ',', value_parser = names::family("open-points"), hide_possible_values = true)]
    pub(crate) open: Vec<String>,
    /// Sizes of DRAM before an expander: percent of the pages used, ranges in steps of 10 or others (10..90:20), bytes (64M) [default: 10..100]
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    pub(crate) dram: Vec<String>,
    /// Policies of DRAM before an expander (`homenode list tier-policies`) [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = names::family("tier-policies"), hide_possible_values = true)]
    pub(crate) policy: Vec<String>,
    /// Bytes of a page of DRAM and expander, a power of two: 4K, 2M [default: the machine's]
    #[arg(long, value_name = "BYTES", value_parser = super::values::bytes)]
    pub(crate) page: Option<u64>,
    /// Accesses to memory between two moves of pages [default: the machine's]
    #[arg(long, value_name = "ACCESSES", value_parser = super::values::count)]
    pub(crate) tick: Option<u64>,
    /// Print the result as JSON.
    #[arg(long, conflicts_with = "csv")]
    pub(crate) json: bool,
    /// Print the table as CSV.
    #[arg(long)]
    pub(crate) csv: bool,
}
