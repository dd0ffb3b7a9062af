//! What can stop a study.
use homenode_sim::SimError;

/// A question that cannot be answered. Each message says what is wrong, where, and what to do if anything can be done.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// A block size that cannot be had.
    #[error("block of {0} bytes: a block is a power of two from 4 bytes to 2 MiB")]
    Block(u64),
    /// Protocols together with what sees other accesses.
    #[error("protocols are asked by themselves: policies and optima see other accesses of the same trace")]
    ProtocolsAndMore,
    /// Protocols of a sampled recording.
    #[error("protocols need an exact recording: samples say nothing about the order of references")]
    ProtocolsOfSamples,
    /// No block sizes, or out of order.
    #[error("block sizes: at least one, each once, ascending")]
    Blocks,
    /// Machines and bindings do not match.
    #[error("{0} machines with {1} lists of bindings: at least one machine, and bindings for each")]
    Machines(usize, usize),
    /// Instructions that the processor does not have.
    #[error("vectors {0}: this processor does not have them; \"best\" are those that it has")]
    Vectors(&'static str),
    /// A machine that is not sound.
    #[error("machine {0}: {1}")]
    Machine(String, String),
    /// Bindings of different datasets.
    #[error("machine {0}: its bindings are not those of the first machine's threads and address spaces")]
    Threads(String),
    /// A thread sits where there is no processor.
    #[error("a thread is mapped to a processor or node that machine {0} does not have")]
    ThreadBinding(String),
    /// The replay cannot be set up.
    #[error(transparent)]
    Sim(#[from] SimError),
    /// Regions smaller than a block, or not a power of two.
    #[error("regions of {0} bytes: a power of two, at least the largest block and at most 2 MiB")]
    Region(u64),
    /// The partition was made for other questions.
    #[error("the partition does not hold what machine {0} needs: make it for this question")]
    Missing(String),
    /// Regions that do not exist.
    #[error("regions {0} to {1} of a partition with {2}")]
    Range(usize, usize, usize),
    /// Answers that cannot be added.
    #[error("the answers are to different questions and cannot be added")]
    OtherQuestion,
    /// What was put out of memory cannot be written or read.
    #[error("spilled records: {0}")]
    Spill(String),
    /// Bytes that are no partition.
    #[error("partition file: {0}")]
    Damaged(String),
}
