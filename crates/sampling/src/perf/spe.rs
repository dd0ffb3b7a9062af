//! The packets that ARM's Statistical Profiling Extension writes into the AUX area (Arm Architecture Reference Manual,
//! chapter "Statistical Profiling Extension Sample Record Specification").
//!
//! One record is a run of packets, ended by an end or a time packet. A packet is a header of one or two bytes and a payload
//! of 1, 2, 4 or 8 bytes.
use super::wire::Cursor;
use homenode_trace::{DataSource, Op};

/// Addresses have 56 bits here; the byte above is a tag or an exception level.
const ADDRESS_BITS: u64 = (1 << 56) - 1;

/// Events of a record.
mod event {
    pub(super) const LAST_LEVEL_MISS: u64 = 1 << 9;
    pub(super) const REMOTE: u64 = 1 << 10;
    pub(super) const L1_REFILL: u64 = 1 << 3;
    pub(super) const L1_ACCESS: u64 = 1 << 2;
}

/// One record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpeRecord {
    /// Program counter; 0 if not recorded.
    pub pc: u64,
    /// Virtual address of the data.
    pub addr: Option<u64>,
    /// Load, store or atomic; `None` for other operations.
    pub op: Option<Op>,
    /// Cycles from issue to the end.
    pub latency_cycles: Option<u32>,
    /// Ticks of the generic timer.
    pub ticks: Option<u64>,
    /// Thread, where the kernel puts it into CONTEXTIDR.
    pub context: Option<u32>,
    /// Bits as the events packet has them.
    pub events: u64,
    /// The source code, whose meaning differs between cores.
    pub source_code: Option<u64>,
}

impl SpeRecord {
    /// Where the data came from. `neoverse` says that source codes are those of Arm's Neoverse cores; others are left to
    /// the events, which every core has.
    pub fn source(&self, neoverse: bool) -> DataSource {
        match self.source_code.filter(|_| neoverse) {
            Some(0x0 | 0x8..=0xc) => return DataSource::Cache,
            Some(0xd) => return DataSource::RemoteCache,
            Some(0xe) => return DataSource::LocalMemory,
            _ => {}
        }
        match self.events {
            e if e & event::REMOTE != 0 => DataSource::RemoteMemory,
            e if e & event::LAST_LEVEL_MISS != 0 => DataSource::LocalMemory,
            e if e & event::L1_ACCESS != 0 && e & event::L1_REFILL == 0 => DataSource::Cache,
            _ => DataSource::Unknown,
        }
    }
}

/// What one packet is.
enum Packet {
    Padding,
    End,
    Part(Part, u64),
}

/// What a packet adds to its record.
enum Part {
    Time,
    Events,
    Source,
    Context,
    Operation(u8),
    Address(u8),
    Counter(u8),
}

/// Appends the records in `bytes` to `out`; returns how many bytes were no packets. A record cut off at the end is left out.
pub fn decode(bytes: &[u8], out: &mut Vec<SpeRecord>) -> u64 {
    let (mut at, mut bad) = (0, 0);
    let mut record = SpeRecord::default();
    let mut begun = false;
    while at < bytes.len() {
        let Some((packet, len)) = packet(bytes, at) else {
            // Whatever was begun cannot be trusted any more.
            (record, begun) = (SpeRecord::default(), false);
            (at, bad) = (at + 1, bad + 1);
            continue;
        };
        at += len;
        let ends = match packet {
            Packet::Padding => continue,
            Packet::End => true,
            Packet::Part(part, value) => {
                begun = true;
                add(&mut record, &part, value)
            }
        };
        if ends {
            out.extend(Some(record).filter(|_| begun));
            (record, begun) = (SpeRecord::default(), false);
        }
    }
    bad
}

/// The packet at `at` and its length.
fn packet(bytes: &[u8], at: usize) -> Option<(Packet, usize)> {
    let first = *bytes.get(at)?;
    match first {
        0x00 => return Some((Packet::Padding, 1)),
        0x01 => return Some((Packet::End, 1)),
        _ => {}
    }
    if first & 0xfc != 0x20 {
        return payload(bytes, at, first, 0, 1);
    }
    let second = *bytes.get(at + 1)?;
    if second == 0 {
        // Alignment: padding up to a multiple of 2^(n + 1).
        let to = 2_usize << (first & 0xf);
        return Some((Packet::Padding, to - at % to));
    }
    payload(bytes, at, second, first & 3, 2)
}

/// A packet with a payload; `high` are the upper bits of an index from the first of two header bytes.
fn payload(bytes: &[u8], at: usize, header: u8, high: u8, before: usize) -> Option<(Packet, usize)> {
    let len = 1_usize << (header >> 4 & 3);
    let mut c = Cursor(bytes.get(at + before..)?.get(..len)?);
    let value = match len {
        1 => u64::from(*c.0.first()?),
        2 => c.u16()?.into(),
        4 => c.u32()?.into(),
        _ => c.u64()?,
    };
    let index = high << 3 | header & 7;
    let part = match header {
        0x71 => Part::Time,
        h if h & 0xcf == 0x42 => Part::Events,
        h if h & 0xcf == 0x43 => Part::Source,
        h if h & 0xfc == 0x64 => Part::Context,
        h if h & 0xfc == 0x48 => Part::Operation(h & 3),
        h if h & 0xf8 == 0xb0 => Part::Address(index),
        h if h & 0xf8 == 0x98 => Part::Counter(index),
        _ => return None,
    };
    Some((Packet::Part(part, value), before + len))
}

/// Adds a packet; true if it ends the record.
fn add(record: &mut SpeRecord, part: &Part, value: u64) -> bool {
    match part {
        Part::Time => {
            record.ticks = Some(value);
            return true;
        }
        Part::Events => record.events = value,
        Part::Source => record.source_code = Some(value),
        Part::Context => record.context = u32::try_from(value).ok(),
        // Class 1: loads and stores; others are branches and arithmetic.
        Part::Operation(1) => record.op = Some(operation(value)),
        Part::Address(0) => record.pc = value & ADDRESS_BITS,
        Part::Address(2) => record.addr = Some(value & ADDRESS_BITS),
        Part::Counter(0) => record.latency_cycles = u32::try_from(value).ok(),
        Part::Operation(_) | Part::Address(_) | Part::Counter(_) => {}
    }
    false
}

/// Bit 0: store. Extended operations (bits 1 and 5 to 7 are 00_1) have bit 2 for atomics.
fn operation(value: u64) -> Op {
    match value {
        v if v & 0xe2 == 0x02 && v & 0x04 != 0 => Op::Atomic,
        v if v & 1 != 0 => Op::Write,
        _ => Op::Read,
    }
}
