//! Runs of recordings that other processes do, such as workers of a cluster.
use homenode_command::Failure;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A run of a recording, as JSON goes to whoever does it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unit {
    /// Name of the paper.
    pub paper: String,
    /// Name of the program.
    pub program: String,
    /// Folder of the recording, which must be seen where the run is done.
    pub recording: PathBuf,
    /// Name of the run, as the paper has it among its results.
    pub run: String,
}

/// Who does runs in place of this process.
pub trait Elsewhere: Sync {
    /// Has units done (each a [`Unit`] as JSON), in any order. `each` is told the number of a unit and its answer, as JSON on one line, when
    /// it is there.
    ///
    /// # Errors
    /// A unit that fails, nobody who does it, or what `each` returns.
    fn answers(
        &self,
        units: &[String],
        each: &mut dyn FnMut(usize, String) -> Result<(), Failure>,
    ) -> Result<(), Failure>;
}
