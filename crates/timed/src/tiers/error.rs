//! Why there is no answer about tiers.
use homenode_sim::SimError;
use homenode_trace::TraceError;

/// Why a recording cannot be run on tiers of memory.
#[derive(Debug, thiserror::Error)]
pub enum TierError {
    /// The machine has one kind of memory.
    #[error(
        "machine '{0}' has no tiers: DRAM is a node with processors and an expander one without (`cores = [16, 0]`); machine 'dram-cxl' has both, and docs/machines.md describes them"
    )]
    NoTiers(String),
    /// What lies between or beside the tiers is not modelled.
    #[error("machine '{machine}' has {what}, which tiers of memory are not modelled with")]
    NotModelled {
        /// Machine.
        machine: String,
        /// What it has.
        what: &'static str,
    },
    /// A page that is none, or that a node cannot hold.
    #[error("a page of {bytes} bytes on machine '{machine}': {what}")]
    Page {
        /// Bytes.
        bytes: u64,
        /// Machine.
        machine: String,
        /// What is wrong with it.
        what: String,
    },
    /// Threads and processors.
    #[error("--map: {0}")]
    Map(#[from] homenode_machine::MapError),
    /// The caches, or the dataset.
    #[error(transparent)]
    Sim(#[from] SimError),
    /// Nothing reaches memory.
    #[error("no reference of the recording reaches memory: there is nothing to place")]
    Nothing,
    /// More than the indices of pages and ticks can name.
    #[error("the recording has more than 2^32 - 2 {0}: take larger ones")]
    TooMany(&'static str),
    /// The name is not in the registry.
    #[error("there is no policy '{given}'; known are {known}")]
    Unknown {
        /// What was written.
        given: String,
        /// Names of the registry.
        known: String,
    },
    /// A value that the policy cannot have.
    #[error("policy '{given}': {allowed}")]
    Value {
        /// What was written.
        given: String,
        /// What may be.
        allowed: String,
    },
}

impl From<TraceError> for TierError {
    fn from(e: TraceError) -> TierError {
        TierError::Sim(e.into())
    }
}
