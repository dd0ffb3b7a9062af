//! Commands that decide and act.
use super::values::bytes;
use clap::{Args, ValueHint};
use std::path::PathBuf;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  homenode place app.hnt -o plan.json
  homenode place app.hnt -o plan.json --machine this --rule uniform --capacity 16G,2G
  homenode run --plan plan.json -- ./app

The plan names data by build, symbol or call stack, so it fits every run of the same build. `homenode list affinity` names
the rules.")]
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
    #[arg(long, default_value = "this")]
    pub(crate) machine: String,
    /// Threads to processors, as in `report`; the plan pins them there.
    #[arg(long)]
    pub(crate) map: Option<String>,
    /// Rule that turns counts into homes (`homenode list affinity`) [default: hop-sensitive]
    #[arg(long)]
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
