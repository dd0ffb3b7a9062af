//! What the replay tells the analysis.
use crate::locks::Locked;
use homenode_base::{Cost, NodeId};
use homenode_machine::{AccessClass, Location, Machine};
use homenode_trace::{Counting, Op};

/// What the analysis must know before the first reference.
#[derive(Clone, Debug)]
pub struct Setup<'a> {
    /// The machine: memory costs by home, and the size of its pages' copies.
    pub machine: &'a Machine,
    /// Placement block, a power of two.
    pub block_bytes: u64,
    /// Unit of sharing patterns, a power of two from 16: the cache line, 64 where the machine has no caches.
    pub unit_bytes: u64,
    /// Node of each thread, index = dataset thread.
    pub nodes: &'a [NodeId],
    /// Processor of each thread: lines go from cache to cache between processors. A thread without one has its own.
    pub cpus: &'a [u16],
    /// The references are samples of this kind; `None` in exact recordings. What depends on the order of references, on
    /// single words, or on stores that are not seen is then not claimed.
    pub sampled: Option<Counting>,
    /// Colours of blocks, a power of two: how many worlds of their own there are, by block number modulo this. What is
    /// watched in detail is limited for each. 1 if blocks are not known to be independent.
    pub colours: u64,
}

/// A reference, or what it touches of one block, to the analysis of that block's colour.
#[derive(Clone, Copy, Debug, Default)]
pub struct BlockReference {
    /// First byte, a flat address.
    pub addr: u64,
    /// Number of the reference among those of all colours, from 1; those of busy waiting do not count.
    pub number: u64,
    /// What it has to do with locks.
    pub locked: Locked,
    /// Bytes, all in one block.
    pub size: u32,
    /// Dataset-wide site id.
    pub site: u32,
    /// Dataset-wide thread id.
    pub thread: u32,
    /// Operation.
    pub op: Op,
    /// Whether the reference begins in this block.
    pub begins: bool,
}

/// A memory access that reached the placement, with its cost under first touch.
#[derive(Clone, Copy, Debug)]
pub struct Charge {
    /// Any address in the line or word that is charged.
    pub addr: u64,
    /// Object row of that address ([`UNKNOWN_OBJECT`](crate::names::UNKNOWN_OBJECT) if none).
    pub object: u32,
    /// Site of the reference that caused it; for a write-back, of the reference that pushed the line out
    /// ([`UNKNOWN_SITE`](crate::names::UNKNOWN_SITE) if none).
    pub site: u32,
    /// Node of the processor that accesses (for a write-back, evicts).
    pub node: NodeId,
    /// What is charged.
    pub class: AccessClass,
    /// Number of equal accesses that are charged.
    pub weight: u32,
    /// Where the block lives under first touch.
    pub home: Location,
    /// `weight * machine.access(class, node, home)`.
    pub cost: Cost,
}

/// A line that went from one cache to another.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// First byte of the reference that caused it.
    pub addr: u64,
    /// Object row of that address.
    pub object: u32,
    /// Site of that reference.
    pub site: u32,
    /// Cost of the transfer.
    pub cost: Cost,
}

/// A hit in the last level, where that has a price: it costs the same wherever blocks live.
#[derive(Clone, Copy, Debug)]
pub struct Hit {
    /// Object row of the address.
    pub object: u32,
    /// Site of the reference.
    pub site: u32,
    /// Cost of the hit.
    pub cost: Cost,
}
