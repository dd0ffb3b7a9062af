//! Several recordings of each program: an experiment is concluded for each of them, and what differs is said.
use super::program::Program;
use super::{Experiment, Found};
use homenode_command::Failure;
use homenode_judging::settled;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Recordings of each program.
pub(super) const RECORDINGS: usize = 3;

/// What an experiment measures in a program and makes of all programs.
pub(super) trait Study: Send + 'static {
    /// What it keeps of one recording of one program.
    type Measured: Clone + Send + Serialize + DeserializeOwned;
    /// Whether it looks at programs at all.
    const LOOKS: bool = true;
    /// One recording.
    fn measure(program: &Program) -> Result<Self::Measured, Failure>;
    /// One recording of every program, in the order of the page.
    fn conclude(all: Vec<Self::Measured>) -> Result<Found, Failure>;
}

/// What was measured, by number of the recording.
pub(super) struct Gathered<S: Study>([Vec<S::Measured>; RECORDINGS]);

impl<S: Study> Gathered<S> {
    /// Ready for the first program.
    pub(super) fn boxed() -> Box<dyn Experiment> {
        Box::new(Gathered::<S>(Default::default()))
    }
}

impl<S: Study> Experiment for Gathered<S> {
    fn looks(&self) -> bool {
        S::LOOKS
    }
    fn program(&mut self, number: usize, program: &Program) -> Result<(), Failure> {
        self.0[number].push(S::measure(program)?);
        Ok(())
    }
    fn measured(&self, program: &Program) -> Result<String, Failure> {
        serde_json::to_string(&S::measure(program)?).map_err(Failure::work)
    }
    fn take(&mut self, number: usize, measured: &str) -> Result<(), Failure> {
        let measured = serde_json::from_str(measured);
        self.0[number].push(measured.map_err(|e| Failure::work(format!("no answer of a run: {e}")))?);
        Ok(())
    }
    fn as_before(&mut self, number: usize, before: usize) {
        let same = self.0[before].last().cloned();
        self.0[number].extend(same);
    }
    fn finish(self: Box<Self>) -> Result<Found, Failure> {
        let each = self.0.into_iter().map(S::conclude);
        Ok(settled::merged(each.collect::<Result<_, Failure>>()?))
    }
}
