//! A machine, and how threads are seated on it.
use crate::seat::{Seat, seats, thread_map};
use crate::setup::ReplayOptions;
use homenode_machine::{Machine, MapError, MapRule, ThreadMap};
use homenode_trace::Sampling;
use homenode_trace::dataset::DatasetReader;

/// A machine, and how the threads of a dataset are seated on it.
#[derive(Clone, Debug)]
pub struct Seating {
    /// The machine.
    pub machine: Machine,
    rule: Option<MapRule>,
}

impl Seating {
    /// By a rule in words, or the default one.
    ///
    /// # Errors
    /// The words are no rule.
    pub fn new(machine: Machine, rule: Option<&str>) -> Result<Seating, MapError> {
        Ok(Seating { machine, rule: rule.map(str::parse).transpose()? })
    }

    /// Threads of this dataset by processor.
    ///
    /// # Errors
    /// The rule names what the machine or the dataset lacks.
    pub fn map(&self, reader: &DatasetReader) -> Result<ThreadMap, MapError> {
        thread_map(reader, &self.machine, self.rule.as_ref())
    }

    /// Where the threads of this dataset sit.
    ///
    /// # Errors
    /// As [`map`](Seating::map).
    pub fn seats(&self, reader: &DatasetReader) -> Result<Vec<Seat>, MapError> {
        Ok(seats(&self.map(reader)?, |t| reader.address_space(t)))
    }

    /// How this dataset is replayed.
    pub fn replay_options(&self, reader: &DatasetReader) -> ReplayOptions {
        let sampled = reader.manifest().sampling.as_ref().map(Sampling::counting);
        ReplayOptions { sampled, ..ReplayOptions::default() }
    }
}
