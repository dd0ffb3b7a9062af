//! A machine, and how threads are bound on it.
use crate::setup::ReplayOptions;
use homenode_machine::{Machine, MapError, MapRule, ThreadMap};
use homenode_threads::{ThreadBinding, bindings, thread_map};
use homenode_trace::Sampling;
use homenode_trace::dataset::DatasetReader;

/// A machine, and how the threads of a dataset are bound on it.
#[derive(Clone, Debug)]
pub struct BoundMachine {
    /// The machine.
    pub machine: Machine,
    rule: Option<MapRule>,
}

impl BoundMachine {
    /// By a rule in words, or the default one.
    ///
    /// # Errors
    /// The words are no rule.
    pub fn new(machine: Machine, rule: Option<&str>) -> Result<BoundMachine, MapError> {
        Ok(BoundMachine { machine, rule: rule.map(str::parse).transpose()? })
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
    /// As [`map`](BoundMachine::map).
    pub fn bindings(&self, reader: &DatasetReader) -> Result<Vec<ThreadBinding>, MapError> {
        Ok(bindings(&self.map(reader)?, |t| reader.address_space(t)))
    }

    /// How this dataset is replayed.
    pub fn replay_options(&self, reader: &DatasetReader) -> ReplayOptions {
        let sampled = reader.manifest().sampling.as_ref().map(Sampling::counting);
        ReplayOptions { sampled, ..ReplayOptions::default() }
    }
}
