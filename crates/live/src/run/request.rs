//! What is asked.
use crate::options::LiveOptions;
use homenode_place::Match;
use std::ffi::OsString;
use std::path::PathBuf;

/// What `homenode run` is asked.
#[derive(Clone, Debug, Default)]
pub struct RunRequest {
    /// Program and arguments.
    pub command: Vec<OsString>,
    /// Plan to carry out; without one the live loop runs.
    pub plan: Option<PathBuf>,
    /// How objects of the plan are found.
    pub matching: Match,
    /// Regimes to compare: of `first-touch`, `interleave`, `autonuma`, `homenode`; empty = no comparison.
    pub compare: Vec<String>,
    /// The live loop's settings; [`LiveOptions::dry_run`] counts with a plan too.
    pub options: LiveOptions,
}

impl RunRequest {
    /// The command for the report.
    pub(crate) fn words(&self) -> Vec<String> {
        self.command.iter().map(|w| w.to_string_lossy().into_owned()).collect()
    }
}
