//! What a report is held against, and where its findings are shown besides.
use super::values::permille;
use clap::{Args, ValueHint};
use std::path::PathBuf;

/// For continuous integration; docs/json.md, "A gate".
#[derive(Args, Debug)]
#[command(next_help_heading = "In continuous integration",
          group = clap::ArgGroup::new("annotated").args(["sarif", "github"]).multiple(true))]
pub(crate) struct Gate {
    /// Fail (status 1, one line why) if more than PERCENT of what memory costs under first touch can be saved: by the change of a
    /// finding, by all of them together, or by the best placement that leaves pages where they are. Findings are looked for from there on,
    /// if --threshold is not lower. Of intervals (samples, --quick) the whole one must be above. What cannot be told is said on stderr, and
    /// passes; a recording that tells nothing of locality fails.
    #[arg(long, value_name = "PERCENT", value_parser = permille)]
    pub(crate) fail_above: Option<u32>,
    /// Fail only for what became worse since this report, a document of `report --json`, by more than --fail-above (5 unless given) of what
    /// memory cost there: memory cost, what of it can be saved, remote memory, cache-to-cache transfers. Its machine, blocks, policies,
    /// order and model must be those of this report.
    #[arg(long, value_name = "REPORT", value_hint = ValueHint::FilePath)]
    pub(crate) baseline: Option<PathBuf>,
    /// Also write the findings that have a file and a line as SARIF 2.1.0.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "quick")]
    pub(crate) sarif: Option<PathBuf>,
    /// Also print the findings, and what fails or cannot be told, as annotations of GitHub Actions.
    #[arg(long, conflicts_with_all = ["json", "quick"])]
    pub(crate) github: bool,
    /// Folder that paths of sources are relative to in SARIF and annotations [default: the one that this runs in]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "annotated")]
    pub(crate) source_root: Option<PathBuf>,
}
