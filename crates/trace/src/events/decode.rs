//! Bytes to events.
use super::{CHUNK_EVENTS_MAX, STACK_MAX, TEXT_BYTES_MAX, code};
use crate::bytes::{Fault, Reader, unzigzag};
use crate::event::{AffinityHow, AllocSource, Event, EventKind, SyncKind};
use crate::framing::{HEADER_BYTES, Header, Kind};
use homenode_base::CpuMask;

/// Where a decoded chunk was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Bytes of header and payload.
    pub len: usize,
    /// Ordinal of its first event in the file.
    pub first: u64,
    /// Events in it.
    pub events: u32,
}

/// Appends the events of the chunk at the start of `bytes` to `out`; `scratch` is reused for the payload. After an error
/// `out` may hold some events of the damaged chunk.
pub fn decode_chunk(bytes: &[u8], scratch: &mut Vec<u8>, out: &mut Vec<Event>) -> Result<Chunk, Fault> {
    let header = Header::parse(bytes, Kind::Events)?;
    if header.count as usize > CHUNK_EVENTS_MAX {
        return Err(Fault::new(12, format!("{} events in a chunk", header.count)));
    }
    let raw = header.open(bytes, scratch)?;
    events(raw, &header, out).map_err(|f| Fault { offset: f.offset + HEADER_BYTES, ..f })?;
    Ok(Chunk { len: header.total_len(), first: header.first, events: header.count })
}

fn events(raw: &[u8], header: &Header, out: &mut Vec<Event>) -> Result<(), Fault> {
    let mut r = Reader::new(raw);
    let (mut at, mut stamp) = (0u64, 0u64);
    for _ in 0..header.count {
        let thread = r.bounded(u64::from(u32::MAX), "thread")? as u32;
        at = at.wrapping_add(unzigzag(r.varint()?));
        stamp = stamp.wrapping_add(unzigzag(r.varint()?));
        let kind = kind(&mut r)?;
        if kind.version() > header.version {
            return Err(r.fault("an event of a kind that this version of chunks does not have"));
        }
        out.push(Event { thread, at, stamp, kind });
    }
    if r.is_empty() { Ok(()) } else { Err(r.fault("bytes after the last event")) }
}

fn kind(r: &mut Reader<'_>) -> Result<EventKind, Fault> {
    Ok(match r.byte()? {
        code::PROCESS => EventKind::Process { pid: word(r)?, parent: word(r)? },
        code::SPAWN => EventKind::Spawn { child: word(r)? },
        code::EXIT => EventKind::Exit,
        code::ALLOC => alloc(r)?,
        code::FREE => EventKind::Free { addr: r.varint()? },
        known @ (code::MAP | code::MAP_FROM) => EventKind::Map {
            addr: r.varint()?,
            bytes: r.varint()?,
            prot: word(r)?,
            flags: word(r)?,
            device: r.varint()?,
            inode: r.varint()?,
            offset: if known == code::MAP_FROM { Some(r.varint()?) } else { None },
        },
        code::UNMAP => EventKind::Unmap { addr: r.varint()?, bytes: r.varint()? },
        code::MODULE => EventKind::Module { bias: r.varint()?, bytes: r.varint()?, path: text(r)? },
        code::PHASE_BEGIN => EventKind::PhaseBegin { name: text(r)? },
        code::PHASE_END => EventKind::PhaseEnd { name: text(r)? },
        code::AFFINITY => affinity(r)?,
        code::NO_WAIT => EventKind::NoWait { reads: r.varint()? },
        code::WAITED => EventKind::Waited { pid: word(r)? },
        other => return synchronisation(r, other),
    })
}

fn synchronisation(r: &mut Reader<'_>, code: u8) -> Result<EventKind, Fault> {
    let of_a_kind = code > code::OF_A_KIND;
    let half = if of_a_kind { code - code::OF_A_KIND } else { code };
    if !(code::RELEASE..=code::ACQ_REL).contains(&half) {
        return Err(r.fault(format!("unknown kind of event {code}")));
    }
    let (object, epoch, seq) = (r.varint()?, r.varint()?, r.varint()?);
    let sync = if of_a_kind { sync_kind(r)? } else { SyncKind::Unknown };
    Ok(match half {
        code::RELEASE => EventKind::Release { object, epoch, seq, sync },
        code::ACQUIRE => EventKind::Acquire { object, epoch, seq, sync },
        _ => EventKind::AcqRel { object, epoch, seq, sync },
    })
}

fn sync_kind(r: &mut Reader<'_>) -> Result<SyncKind, Fault> {
    let code = r.byte()?;
    match SyncKind::of_code(code, 0) {
        Some(SyncKind::Barrier { .. }) => Ok(SyncKind::Barrier { parties: word(r)? }),
        Some(kind) if kind != SyncKind::Unknown => Ok(kind),
        _ => Err(r.fault(format!("unknown kind of synchronisation {code}"))),
    }
}

fn word(r: &mut Reader<'_>) -> Result<u32, Fault> {
    r.bounded(u64::from(u32::MAX), "a 32-bit field").map(|v| v as u32)
}

fn alloc(r: &mut Reader<'_>) -> Result<EventKind, Fault> {
    let (addr, bytes) = (r.varint()?, r.varint()?);
    let source = match r.varint()? {
        0 => AllocSource::Heap,
        1 => AllocSource::Stack,
        2 => AllocSource::Map,
        3 => AllocSource::Shared,
        other => return Err(r.fault(format!("unknown source of memory {other}"))),
    };
    let depth = r.bounded((r.remaining()).min(STACK_MAX) as u64, "depth of a stack")? as usize;
    let mut stack = Vec::with_capacity(depth);
    let mut pc = 0u64;
    for _ in 0..depth {
        pc = pc.wrapping_add(unzigzag(r.varint()?));
        stack.push(pc);
    }
    Ok(EventKind::Alloc { addr, bytes, source, stack })
}

fn affinity(r: &mut Reader<'_>) -> Result<EventKind, Fault> {
    let target = word(r)?;
    let how = match r.varint()? {
        0 => AffinityHow::Call,
        1 => AffinityHow::Seen,
        2 => AffinityHow::Inherited,
        other => return Err(r.fault(format!("unknown way {other} to know where a thread may run"))),
    };
    let n = r.bounded(r.remaining().min(CpuMask::WORDS_MAX) as u64, "words of a set of processors")?;
    let words = (0..n).map(|_| r.varint()).collect::<Result<Vec<_>, _>>()?;
    Ok(EventKind::Affinity { target, how, cpus: CpuMask::from_words(&words) })
}

fn text(r: &mut Reader<'_>) -> Result<String, Fault> {
    let n = r.bounded(r.remaining().min(TEXT_BYTES_MAX) as u64, "length of a name")? as usize;
    let bytes = r.take(n)?;
    match std::str::from_utf8(bytes) {
        Ok(s) => Ok(s.to_owned()),
        Err(_) => Err(r.fault("a name that is not UTF-8")),
    }
}
