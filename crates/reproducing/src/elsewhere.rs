//! Runs of recordings that other processes do, such as workers of a cluster.
use homenode_command::Failure;
use serde::de::DeserializeOwned;
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

/// Has all units done, and returns their answers in the order of the units.
///
/// # Errors
/// A unit that fails or has no answer, an answer that is none, or nobody who does them.
pub fn answered<T: DeserializeOwned>(elsewhere: &dyn Elsewhere, units: &[Unit]) -> Result<Vec<T>, Failure> {
    let texts = units.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>();
    let texts = texts.map_err(|e| Failure::usage(format!("a recording whose name is no text: {e}")))?;
    let mut answers: Vec<Option<T>> = units.iter().map(|_| None).collect();
    elsewhere.answers(&texts, &mut |number, answer| {
        let place = answers.get_mut(number).ok_or_else(|| Failure::work(format!("nobody asked for run {number}")))?;
        let found = serde_json::from_str(&answer);
        *place = Some(found.map_err(|e| Failure::work(format!("no answer of run {number}: {e}")))?);
        Ok(())
    })?;
    let missing = |number: usize| Failure::work(format!("run {number} has no answer"));
    answers.into_iter().enumerate().map(|(number, found)| found.ok_or_else(|| missing(number))).collect()
}
