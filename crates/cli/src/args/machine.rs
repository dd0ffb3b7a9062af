//! Commands that look at this machine.
use clap::{Args, ValueHint};
use std::path::PathBuf;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  homenode topo
  homenode topo --measure                    what memory really costs here; kept for --machine this
  homenode topo --measure --quick -o box.toml
  lstopo --of xml box.xml; homenode topo --from box.xml

Without measurements costs are estimated from what the firmware says (distances are not
nanoseconds; the text says which). --measure also saves the machine file, by default where
`--machine this` finds it.")]
pub(crate) struct Topo {
    /// Measure latency and bandwidth of every pair of processor node and memory node, and hits in the last level.
    #[arg(long)]
    pub(crate) measure: bool,
    /// Shorter measurement with larger deviations.
    #[arg(long, requires = "measure")]
    pub(crate) quick: bool,
    /// Describe the machine of this hwloc XML file, or of this copy of /sys, instead of this one.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath, conflicts_with = "measure")]
    pub(crate) from: Option<PathBuf>,
    /// Machine file to write.
    #[arg(short, long, value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file if it exists.
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Doctor {
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
