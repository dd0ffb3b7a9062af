//! Why a memory system cannot be simulated.
use crate::engine::TimedError;
use homenode_trace::TraceError;

/// Why a recording cannot be run on a memory system.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The dataset, or its synchronisation.
    #[error(transparent)]
    Timed(#[from] TimedError),
    /// Threads and processors.
    #[error("--map: {0}")]
    Map(#[from] homenode_machine::MapError),
    /// The machine says nothing about virtual time.
    #[error(
        "machine '{0}' has no [hybrid] section, which virtual time needs; machine 'ascoma' has one, and docs/machines.md describes it"
    )]
    NoSection(String),
    /// Pressure is home pages over frames.
    #[error("a memory pressure of {0} %: 1 to 100 is possible")]
    Pressure(u32),
    /// Every node needs a page.
    #[error(
        "fewer frames than nodes: the program shares {pages} pages among {nodes} nodes; take a machine with fewer nodes"
    )]
    FewPages {
        /// Shared pages.
        pages: usize,
        /// Nodes.
        nodes: usize,
    },
    /// A cache that holds more than memory.
    #[error("hybrid.cache_bytes: {cache} is more than a node's memory of {memory} bytes at this pressure")]
    CacheAboveMemory {
        /// Bytes of the cache.
        cache: u64,
        /// Bytes of the memory.
        memory: u64,
    },
    /// All frames are taken by home pages.
    #[error(
        "{name} at a pressure of {percent} %: no frame is left for pages of other nodes, and it cannot run without"
    )]
    NoPageCache {
        /// Architecture.
        name: &'static str,
        /// Pressure in percent.
        percent: u32,
    },
}

impl From<TraceError> for MemoryError {
    fn from(e: TraceError) -> MemoryError {
        MemoryError::Timed(e.into())
    }
}
