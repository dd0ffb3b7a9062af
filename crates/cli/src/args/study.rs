//! Commands that ask many questions at once.
use super::names;
use super::values;
use clap::{Args, Parser, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;

/// Examples, and what a study is made of; `PARAMETERS` stands for a list.
const STUDY_HELP: &str = "Examples:
  homenode sweep study.toml
  homenode sweep lu.hnt --blocks 64..8192 --machines cc,numa --policies 'ace,delay(100)'
  homenode sweep lu.hnt --protocols all --counters --blocks 64..65536
  homenode sweep lu.hnt --protocols all --blocks 64..65536 --realign word --realign field
  homenode sweep lu.hnt --analysis false-sharing,tlb --blocks 64..4096
  homenode sweep lu.hnt sor.hnt --machines numa,mine.toml --optimum parts -o numbers.parquet
  duckdb -c \"select machine, what, mcpr from 'lu.sweep/results.parquet' order by mcpr\"

A study names what varies; costs are whole numbers in the machine's unit:
  traces = [\"lu.hnt\"]                # relative to the file
  blocks = \"64..8192\"                # powers of two, or a list
  machines = [\"ace\", \"mine.toml\"]    # names, families, files
  policies = [\"first-touch\", \"ace(1..8)\", \"delay(100..1000:100)\"]
  protocols = [\"all\"]                # homenode list protocols
  realign = [\"word\", \"field\"]       # protocols on realigned references too
  analyses = [\"false-sharing\"]       # homenode list analyses
  optimum = \"parts\"                  # cost (default), parts with moves and copies, none
  [[machine]]
  family = \"numa\"                    # cc, cc+, numa, dsm, dsm+
  lambda = [10, 50, 500]
  o_s = { from = 10, to = 1000, points = 9, log = true }
  [[machine]]
  base = \"butterfly\"
  r = [2, 15, \"inf\"]                 # also g, G (copy from global memory), R (copy; \"2G\")
  R = { from = 200, to = 16500, step = 100 }

Or recordings on clusters in virtual time, as homenode sim cluster runs them, and nothing else:
  traces = [\"lu.hnt\"]
  [[cluster]]
  machine = [\"svm-achievable\"]
  nodes = [\"4x4\", \"8x2\"]
  protocols = [\"base\", \"nil\"]
  interrupts = { from = 0, to = 10000, points = 6 }
  what_if = [\"no-diffs\"]
  vary = \"each\"                     # one thing at a time; default: all combinations
Parameters that may vary there:
PARAMETERS

docs/sweep.md lists the columns of the table, docs/questions.md has recipes. The same command
goes on where an earlier one was stopped.";

/// Characters of a line of help.
const HELP_WIDTH: usize = 96;

/// What studies are, with the parameters of clusters from their list.
fn study_help() -> String {
    let (mut text, mut width) = (String::new(), HELP_WIDTH);
    for name in homenode_sweep::spec::clusters::parameters() {
        let is_full = width + name.len() >= HELP_WIDTH;
        text += match (is_full, text.is_empty()) {
            (true, true) => "  ",
            (true, false) => "\n  ",
            (false, _) => " ",
        };
        text += name;
        width = if is_full { 2 } else { width + 1 } + name.len();
    }
    STUDY_HELP.replace("PARAMETERS", &text)
}

#[derive(Args, Debug)]
#[command(after_help = study_help())]
pub(crate) struct Sweep {
    /// A study (.toml), or datasets to ask about with the options below.
    #[arg(required = true, value_name = "STUDY.toml | DATASET", value_hint = ValueHint::AnyPath)]
    pub(crate) what: Vec<PathBuf>,
    /// Block sizes in bytes, powers of two, and ranges of them [default: 4096]
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    pub(crate) blocks: Vec<String>,
    /// Machines: names (`homenode list machines`) or TOML files [default: numa; with --protocols markatos]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = names::MACHINE, hide_possible_values = true)]
    pub(crate) machines: Vec<String>,
    /// Policies (`homenode list policies`), with ranges such as 'ace(1..8)' [default: first-touch; with --protocols none]
    #[arg(long, value_name = "NAMES", value_parser = names::family("policies"), hide_possible_values = true)]
    pub(crate) policies: Vec<String>,
    /// Protocols of page coherence (`homenode list protocols`), with ranges such as 'upt-del(1..64)', or all; beside
    /// them their own optimum. They see references to shared memory alone.
    #[arg(long, value_name = "NAMES", value_parser = names::PROTOCOL, hide_possible_values = true)]
    pub(crate) protocols: Vec<String>,
    /// With --protocols: also the best counter of upt-del and inv-del in hindsight, one for all pages and one for each
    /// page.
    #[arg(long, requires = "protocols")]
    pub(crate) counters: bool,
    /// With --protocols: also on data laid out otherwise, beside the references as they are (`homenode list realignments`).
    /// word: word by word and window by window, what is private in a falsely shared page moves to a page of its
    /// processor's own; word(WINDOW,PAGE,SHARE): windows of so many references; candidates by pages of PAGE bytes
    /// instead of each simulated size (0); windows as if SHARE in a thousand references were shared, for recordings
    /// without private ones. field: one layout for the whole run, fields and elements padded, separated or grouped;
    /// field(PAGE): that for pages of PAGE bytes.
    #[arg(long, value_name = "HOW", requires = "protocols", value_parser = names::family("realignments"), hide_possible_values = true)]
    pub(crate) realign: Vec<String>,
    /// The optimum: cost, parts (moves and copies too) or none [default: cost; with --protocols alone none]
    #[arg(long, value_name = "WHAT", value_parser = names::OPTIMUM, hide_possible_values = true)]
    pub(crate) optimum: Option<String>,
    /// Analyses to run too (`homenode list analyses`); each writes its tables as CSV.
    #[arg(short, long = "analysis", value_name = "NAMES", value_delimiter = ',', value_parser = names::family("analyses"), hide_possible_values = true)]
    pub(crate) analyses: Vec<String>,
    /// Ask everything again with the order of references disturbed, locally and by gaps, three times each.
    #[arg(long)]
    pub(crate) perturb: bool,
    /// Folder for the result, or a .parquet file beside which the folder is made [default: NAME.sweep]
    #[arg(short, long, visible_alias = "out", value_hint = ValueHint::AnyPath)]
    pub(crate) output: Option<PathBuf>,
    /// Worker processes [default: one a processor, as far as memory allows]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub(crate) workers: Option<u64>,
    /// Memory for all workers together; what does not fit is kept on disk in the result's folder.
    #[arg(long, value_name = "SIZE", value_parser = values::bytes, default_value = "1G")]
    pub(crate) memory: u64,
    /// Have the workers of a Dask cluster do it, by the address of its scheduler: --output is then a folder that all of them share.
    /// Needs the Python package, pip install 'homenode[dask]'.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) dask: Option<String>,
    /// Also write the table as CSV.
    #[arg(long)]
    pub(crate) csv: bool,
    /// Replace the results of another study, and compute again what is done.
    #[arg(long)]
    pub(crate) force: bool,
    /// Compute however many points the study has.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print the summary as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A worker of a sweep. None of the commands, which are for people: help, man pages and completions do not show it.
#[derive(Parser, Debug)]
pub(crate) struct SweepWorker {
    /// Folder of the sweep.
    pub(crate) folder: PathBuf,
    /// Memory, in bytes.
    pub(crate) memory: u64,
}

impl SweepWorker {
    /// First word of its command line.
    pub(crate) const NAME: &'static str = "sweep-worker";
    /// What it is to do, if a process with this command line is one.
    pub(crate) fn asked(words: &[OsString]) -> Option<Result<SweepWorker, clap::Error>> {
        let own = words.get(1..).filter(|own| own.first().is_some_and(|w| w == Self::NAME))?;
        Some(SweepWorker::try_parse_from(own))
    }
}
