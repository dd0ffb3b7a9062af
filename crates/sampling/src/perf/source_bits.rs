//! The kernel's `union perf_mem_data_src`: what an access did and where its data came from.
//!
//! Two encodings of the level stand side by side: the old one is a set of bits (`mem_lvl`), the new one a number
//! (`mem_lvl_num`) with a remote bit and a distance in hops. The new one is believed where it says anything.
use homenode_trace::{DataSource, Op};

const OP_LOAD: u64 = 2;
const OP_STORE: u64 = 4;

/// Bits of the old level.
mod lvl {
    pub(super) const HIT: u64 = 2;
    pub(super) const MISS: u64 = 4;
    pub(super) const CACHES: u64 = 0x8 | 0x10 | 0x20 | 0x40;
    pub(super) const LOCAL_RAM: u64 = 0x80;
    pub(super) const REMOTE_RAM: u64 = 0x100 | 0x200;
    pub(super) const REMOTE_CACHE: u64 = 0x400 | 0x800;
    pub(super) const IO: u64 = 0x1000 | 0x2000;
}

const SNOOP_HITM: u64 = 0x10;
const LOCKED: u64 = 2;
/// First number of hops (`mem_hops`) that leaves the node: 1 is another core of the same node.
const HOPS_OTHER_NODE: u64 = 2;

const fn bits(word: u64, from: u32, count: u32) -> u64 {
    word >> from & ((1 << count) - 1)
}

/// What the access did; `None` if the word does not say (the event then decides). A locked load is the read half of a
/// read-modify-write.
pub fn operation(word: u64) -> Option<Op> {
    let op = bits(word, 0, 5);
    if op & OP_STORE != 0 {
        Some(if bits(word, 24, 2) & LOCKED != 0 { Op::Atomic } else { Op::Write })
    } else if op & OP_LOAD != 0 {
        Some(if bits(word, 24, 2) & LOCKED != 0 { Op::Atomic } else { Op::Read })
    } else {
        None
    }
}

/// Where the data came from. A modified line of another cache is that whatever the level says. A hit in a fill buffer
/// counts as cache: the miss that fills it is an event of its own. A store known only to have missed is unknown.
pub fn data_source(word: u64) -> DataSource {
    let number = bits(word, 33, 4);
    let modified = bits(word, 19, 5) & SNOOP_HITM != 0;
    let far = bits(word, 37, 1) != 0 || bits(word, 43, 3) >= HOPS_OTHER_NODE;
    match number {
        // L1 to L4, L2 miss handling buffer, any cache, line fill buffer.
        1..=5 | 0xb | 0xc => match (modified, far) {
            (true, _) => DataSource::RemoteModified,
            (_, true) => DataSource::RemoteCache,
            _ => DataSource::Cache,
        },
        // Memory-side cache (6) and memory: no placement of lines, but of pages.
        6 | 0xd => match (modified, far) {
            (true, _) => DataSource::RemoteModified,
            (_, true) => DataSource::RemoteMemory,
            _ => DataSource::LocalMemory,
        },
        9 | 0xe => DataSource::SlowMemory,
        8 | 0xa => DataSource::Io,
        _ => old_level(bits(word, 5, 14), modified),
    }
}

fn old_level(level: u64, modified: bool) -> DataSource {
    if modified {
        return DataSource::RemoteModified;
    }
    if level & lvl::MISS != 0 && level & lvl::HIT == 0 {
        return DataSource::Unknown;
    }
    match level {
        l if l & lvl::REMOTE_CACHE != 0 => DataSource::RemoteCache,
        l if l & lvl::REMOTE_RAM != 0 => DataSource::RemoteMemory,
        l if l & lvl::LOCAL_RAM != 0 => DataSource::LocalMemory,
        l if l & lvl::IO != 0 => DataSource::Io,
        l if l & lvl::CACHES != 0 => DataSource::Cache,
        _ => DataSource::Unknown,
    }
}
