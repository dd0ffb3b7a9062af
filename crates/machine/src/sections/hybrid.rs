//! Nodes with a remote access cache and a page cache: what CC-NUMA, S-COMA and the hybrids between them are built of.
use super::Section;
use crate::limits::{BLOCK_BYTES_MAX, MachineError, reject};
use crate::shape::Shape;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Nodes that a copy set has room for.
const NODES_MAX: usize = 64;
/// Longest service or delay, in cycles.
const CYCLES_MAX: u64 = 1 << 20;

/// A reading of what the study leaves open that differs from ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// `free_percent` is of the frames of the page cache, not of all.
    ReserveOfPageCache,
    /// A remapping leaves the node in the copy sets, so that the next misses are refetches.
    CopiesStay,
    /// Refetch counters have 6 bits.
    CountersSaturate,
    /// VC-NUMA compares the mean of the local refetches with the break-even.
    MeanRefetches,
    /// A relocation and the eviction for it cost one remapping.
    OneRemapping,
    /// Flushing costs a cycle for each line of a page.
    FlushByLine,
    /// AS-COMA caches new pages as long as a frame is free.
    DrainedWhenEmpty,
    /// AS-COMA evicts for a relocation, too.
    AscomaEvicts,
    /// One threshold for all nodes.
    GlobalThreshold,
    /// A threshold holds for pages mapped after it was set.
    NewPagesOnly,
    /// A chunk from another node keeps bus and bank of its source busy for each of its lines.
    ChunkByLine,
    /// There is no remote access cache.
    NoRac,
    /// A remapping costs 50 cycles more, for the TLB.
    TlbRefill,
}

/// A machine in virtual time: one processor a node, a directly mapped cache, DRAM in banks, a DSM engine with a remote access cache
/// of one chunk, a network with contention at its input ports (Kuo and others 1998, section 4.1, tables 3 and 4). Times in cycles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hybrid {
    /// Capacity of the processor's cache in bytes, a power of two.
    pub cache_bytes: u64,
    /// Line of that cache in bytes, a power of two.
    pub line_bytes: u64,
    /// Unit of coherence and transfer in bytes, a power of two, 1 to 32 of which make a page.
    pub chunk_bytes: u64,
    /// Banks of a node's DRAM.
    pub banks: u32,
    /// A bus transaction.
    pub bus: u64,
    /// A DRAM bank, so that bus and bank are a local access.
    pub bank: u64,
    /// Data from the bus into the processor.
    pub fill: u64,
    /// A message through a DSM engine.
    pub engine: u64,
    /// The network from output to input port.
    pub network: u64,
    /// A message at an input port.
    pub port: u64,
    /// First access of a node to a page.
    pub fault: u64,
    /// Interrupt because of a relocation.
    pub interrupt: u64,
    /// Remapping of a page.
    pub relocation: u64,
    /// A run of the page-out daemon, and each page that it visits.
    pub daemon: [u64; 2],
    /// Cycles between two runs of the daemon: at least, and at most where failures double them.
    pub daemon_gap: [u64; 2],
    /// Percent of a node's frames below which the daemon runs, and up to which it frees.
    pub free_percent: [u32; 2],
    /// Refetches of a page by a node before it is relocated, and by how many a back-off raises that.
    pub threshold: [u32; 2],
    /// Steps of the threshold above which relocation stops altogether (AS-COMA).
    pub threshold_steps: u32,
    /// Local refetches that pay for a relocation (VC-NUMA).
    pub break_even: u32,
    /// Replacements per frame of the page cache between two looks at them (VC-NUMA).
    pub evaluation: u32,
    /// Where another reading of the study is taken than ours.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub readings: BTreeSet<Reading>,
}

impl Section for Hybrid {
    fn validate(&self, shape: &Shape) -> Result<(), MachineError> {
        self.validate_sizes(shape)?;
        let times = [
            ("bus", self.bus),
            ("bank", self.bank),
            ("fill", self.fill),
            ("engine", self.engine),
            ("network", self.network),
            ("port", self.port),
            ("fault", self.fault),
            ("interrupt", self.interrupt),
            ("relocation", self.relocation),
            ("daemon", self.daemon[0].max(self.daemon[1])),
        ];
        if let Some((key, value)) = times.iter().find(|(_, v)| *v > CYCLES_MAX) {
            return Err(reject(&format!("hybrid.{key}"), value, format!("0 to {CYCLES_MAX}")));
        }
        if self.bus == 0 || self.bank == 0 {
            return Err(reject("hybrid.bus and hybrid.bank", 0, "at least 1 each"));
        }
        let [gap, most] = self.daemon_gap;
        if gap > most || most > 1 << 40 {
            return Err(reject("hybrid.daemon_gap", format!("{gap}, {most}"), "least, then most, at most 2^40"));
        }
        let [min, target] = self.free_percent;
        if min > target || target > 100 {
            return Err(reject("hybrid.free_percent", format!("{min}, {target}"), "least, then target, at most 100"));
        }
        if self.threshold[0] == 0 {
            return Err(reject("hybrid.threshold", 0, "at least 1"));
        }
        if self.evaluation == 0 || self.evaluation > 1 << 16 || self.threshold_steps > 1 << 16 {
            return Err(reject("hybrid.evaluation or hybrid.threshold_steps", self.evaluation, "1 to 65536"));
        }
        Ok(())
    }
}

impl Hybrid {
    fn validate_sizes(&self, shape: &Shape) -> Result<(), MachineError> {
        let page = shape.page_bytes;
        let nodes = shape.cores.len();
        if nodes > NODES_MAX {
            return Err(reject(
                "cores",
                format!("{nodes} nodes"),
                format!("at most {NODES_MAX} on a machine with [hybrid]"),
            ));
        }
        if let Some(cores) = shape.cores.iter().find(|c| **c != 1) {
            return Err(reject("cores", cores, "1 each: one processor a node is modelled on a machine with [hybrid]"));
        }
        if !page.is_power_of_two() {
            return Err(reject("page_bytes", page, "a power of two"));
        }
        let power = |key: &str, v: u64, least: u64, most: u64| match v.is_power_of_two() && (least..=most).contains(&v)
        {
            true => Ok(()),
            false => Err(reject(&format!("hybrid.{key}"), v, format!("a power of two from {least} to {most}"))),
        };
        power("line_bytes", self.line_bytes, 8, 4096)?;
        power("chunk_bytes", self.chunk_bytes, self.line_bytes.max(page / 32), page)?;
        power("cache_bytes", self.cache_bytes, self.line_bytes, BLOCK_BYTES_MAX)?;
        if !(1..=256).contains(&self.banks) {
            return Err(reject("hybrid.banks", self.banks, "1 to 256"));
        }
        Ok(())
    }

    /// Whether another reading than ours is taken.
    pub fn reads(&self, reading: Reading) -> bool {
        self.readings.contains(&reading)
    }
    /// Cycles of an access to memory of the own node, without contention.
    pub const fn local(&self) -> u64 {
        self.bus + self.bank
    }
    /// Cycles of an access to the remote access cache, without contention.
    pub const fn rac(&self) -> u64 {
        self.bus + self.engine + self.fill
    }
    /// Cycles from one engine to another, without contention: also what a forward adds.
    pub const fn hop(&self) -> u64 {
        self.network + self.port + self.engine
    }
    /// Cycles of an access to memory of another node, without contention.
    pub const fn remote(&self) -> u64 {
        self.bus + self.engine + self.hop() + self.local() + self.hop() + self.fill
    }
}
