//! The record: one reference to memory.
use crate::sample::{DataSource, Sample};
use serde::{Deserialize, Serialize};

/// What a reference did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Op {
    /// A load.
    #[default]
    Read = 0,
    /// A store.
    Write = 1,
    /// A read-modify-write.
    Atomic = 2,
    /// A read (or failed read-modify-write) that repeats one before it, with the same site, address and value: busy
    /// waiting. Excluded from cost by default and from virtual time always, since its count is the host's and not the program's.
    Spin = 3,
}

impl Op {
    /// All operations, in code order.
    pub const ALL: [Op; 4] = [Op::Read, Op::Write, Op::Atomic, Op::Spin];
    /// The operation with this code.
    pub const fn from_code(code: u8) -> Option<Op> {
        match code {
            0 => Some(Op::Read),
            1 => Some(Op::Write),
            2 => Some(Op::Atomic),
            3 => Some(Op::Spin),
            _ => None,
        }
    }
    /// Whether memory may change.
    #[inline]
    pub const fn writes(self) -> bool {
        matches!(self, Op::Write | Op::Atomic)
    }
    /// Lower-case name as in exports.
    pub const fn name(self) -> &'static str {
        ["load", "store", "atomic", "spin"][self as usize]
    }
}

/// One reference of one thread. `site` indexes the dataset's site table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ref {
    /// Virtual address of the first byte.
    pub addr: u64,
    /// Bytes, at least 1; `addr + size` may wrap past 2^64 only in hostile traces and readers must cope.
    pub size: u32,
    /// Operation.
    pub op: Op,
    /// Site id; in a frame, an index into the frame's own table of program counters.
    pub site: u32,
}

/// References of one thread, column-wise; all four vectors have the same length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// Addresses.
    pub addr: Vec<u64>,
    /// Bytes.
    pub size: Vec<u32>,
    /// Operations.
    pub op: Vec<Op>,
    /// Sites.
    pub site: Vec<u32>,
}

impl Columns {
    /// Number of references.
    pub fn len(&self) -> usize {
        self.addr.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.addr.is_empty()
    }
    /// Appends one.
    pub fn push(&mut self, r: Ref) {
        self.addr.push(r.addr);
        self.size.push(r.size);
        self.op.push(r.op);
        self.site.push(r.site);
    }
    /// The `i`-th; panics if out of range, as slices do.
    pub fn get(&self, i: usize) -> Ref {
        Ref { addr: self.addr[i], size: self.size[i], op: self.op[i], site: self.site[i] }
    }
    /// Forgets all, keeping the allocations.
    pub fn clear(&mut self) {
        self.addr.clear();
        self.size.clear();
        self.op.clear();
        self.site.clear();
    }
}

/// A reference in the merged order of a whole dataset: what every consumer below gets, in slices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Virtual address of the first byte; of memory that lies in another address space
    /// with the tags of both: [`homenode_base::spaces::home`].
    pub addr: u64,
    /// Bytes.
    pub size: u32,
    /// Dataset-wide site id.
    pub site: u32,
    /// Dataset-wide thread id.
    pub thread: u32,
    /// How many references it stands for: 1 in exact recordings, [`Sample::weight`](crate::Sample) in sampled ones.
    pub weight: u32,
    /// Operation.
    pub op: Op,
    /// Where the data came from; [`DataSource::Unknown`] in exact recordings.
    pub source: DataSource,
    /// Processor plus one, 0 if not recorded: see [`Merged::cpu`].
    pub cpu_code: u16,
    /// Latency in cycles plus one, 0 if not measured: see [`Merged::latency_cycles`].
    pub latency_code: u32,
}

impl Merged {
    /// Processor the thread ran on, if recorded.
    pub const fn cpu(&self) -> Option<u16> {
        self.cpu_code.checked_sub(1)
    }
    /// Latency in processor cycles, if measured.
    pub const fn latency_cycles(&self) -> Option<u32> {
        self.latency_code.checked_sub(1)
    }
    /// The reference as a sample. The largest processor number and the largest latency are one less here than in
    /// frames: no machine has them, and a merged reference stays at 32 bytes.
    #[must_use]
    pub fn sampled(self, s: &Sample) -> Merged {
        Merged {
            weight: s.weight,
            source: s.source,
            cpu_code: s.cpu.map_or(0, |c| c.saturating_add(1)),
            latency_code: s.latency_cycles.map_or(0, |l| l.saturating_add(1)),
            ..self
        }
    }
}
