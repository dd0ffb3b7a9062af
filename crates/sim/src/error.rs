//! What can stop an evaluation.
use homenode_placement::policies::PolicyError;
use homenode_trace::TraceError;

/// An evaluation that cannot be done. Each message says what is wrong, where, and what to do if anything can be done.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// The machine's caches are no caches.
    #[error(
        "machine {0}: caches need a line of a power of two, at least one way and one set, and at most 2^27 lines each"
    )]
    Caches(String),
    /// The placement block does not fit the machine.
    #[error("block of {block_bytes} bytes on machine {machine}: {what}")]
    Block {
        /// Block size asked for.
        block_bytes: u64,
        /// Machine.
        machine: String,
        /// What is wrong with it.
        what: String,
    },
    /// A policy that does not exist or does not fit the machine.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A thread sits where there is no processor.
    #[error("a thread is mapped to a processor or node that machine {0} does not have")]
    ThreadBinding(String),
    /// Blocks that cannot be looked at in parts.
    #[error(
        "blocks of {block_bytes} bytes on machine {machine} cannot be looked at in parts: that takes an exact recording, misses that all cost their latency, and caches in whose sets many blocks never meet"
    )]
    FewColours {
        /// Block size asked for.
        block_bytes: u64,
        /// Machine.
        machine: String,
    },
    /// More blocks than an index can name.
    #[error("the program touches more than 2^32 - 2 blocks of {0} bytes; use a larger block")]
    TooManyBlocks(u64),
    /// A placement of a policy or solver breaks the rules: an error of this program.
    #[error("a placement that was made is not legal: {0}")]
    Illegal(homenode_placement::checker::Illegal),
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
}
