//! The cache filter: which references reach memory, and where data comes from when they do not.
//!
//! One private cache per processor and one last level per node, both set-associative with true LRU and set = line number
//! modulo number of sets (which need not be a power of two). MESI at line size. The choices a reader may ask about:
//!
//! * **Inclusive.** A node's last level holds every line that one of its private caches holds; a line that leaves it
//!   leaves the private caches too. (The last level of recent x86 servers is a non-inclusive victim cache, whose capacity
//!   adds to that of the private caches; give the sum as the shared size to model that.) A hit in a private cache is not
//!   seen by the last level and does not refresh it there.
//! * **Directory.** Exact: the last levels are asked, so a line that left a node is known to have left.
//! * A **read miss** whose line is modified in another node is a far transfer: the owner writes the line back to memory
//!   (MESI has no dirty shared state across nodes) and both keep it shared. Clean copies elsewhere do not supply data.
//! * A **write miss** (read for ownership) is one memory access of class `Write`: the machine's store cost is what a store
//!   that misses costs. If the line is modified in another node, it comes from there with its dirtiness and memory is
//!   not involved.
//! * Inside a node, a line modified in another private cache is a near transfer; it stays dirty in the last level.
//!   A clean line comes from the last level, which costs nothing.
//! * A **write-back** happens when a modified line leaves the last level, or is read by another node.
//! * An upgrade (store to a shared line) invalidates the other copies and costs nothing but is reported as a store hit.
//!
//! Every reference yields exactly one *state event* (miss or hit, of the referencing node); transfers and write-backs
//! come beside it: first the write-back of a former owner, then the transfer, then the state event, then the write-back
//! of the line that had to make room.
mod arrays;
mod coherence;
mod filter;

pub use filter::CacheFilter;
use homenode_base::Cost;

/// What the filter reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CacheEventKind {
    /// A load served by memory.
    ReadMiss,
    /// A store served by memory: read for ownership.
    WriteMiss,
    /// A modified line goes to memory.
    WriteBack,
    /// A line comes from another private cache of the node. Followed by a hit event.
    TransferNear,
    /// A line comes from another node's caches. Followed by a hit event.
    TransferFar,
    /// A load that did not reach memory.
    ReadHit,
    /// A store that did not reach memory: hit, silent E to M, upgrade, or after a transfer.
    WriteHit,
}

/// One event. `node` acts: it references, or evicts, or supplies a write-back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CacheEvent {
    /// Kind of the event.
    pub kind: CacheEventKind,
    /// Node that acts.
    pub node: u16,
    /// The tag given with the line's most recent fill or reference: dense block index of the placement.
    pub block: u32,
    /// Line key: address / line size.
    pub line: u64,
}

/// Where a reference found its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// In the private cache.
    Private,
    /// In the last level of its node, or in another private cache of it, if there was a near transfer.
    Shared,
    /// Outside of its node's caches.
    Outside,
}

/// Where a read would get its line from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supplier {
    /// The processor's own caches or its node's last level: costs nothing.
    Cache,
    /// A modified copy in another cache, at this cost.
    Transfer(Cost),
    /// Memory.
    Memory,
}

/// State of a line in one cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mesi {
    /// Not there.
    #[default]
    Invalid,
    /// Clean, others may have it.
    Shared,
    /// Clean, nobody else of the same level has it.
    Exclusive,
    /// Dirty, nobody else of the same level has it.
    Modified,
}
