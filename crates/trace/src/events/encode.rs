//! Events to bytes.
use super::{CHUNK_EVENTS_MAX, STACK_MAX, TEXT_BYTES_MAX, code};
use crate::bytes::{put_varint, zigzag};
use crate::event::{AffinityHow, AllocSource, Event, EventKind, SyncKind};
use crate::framing::{Codec, EVENTS_VERSION_FIRST, Kind, Label, Sealer};

/// Uncompressed bytes at which a chunk is closed early; one more event stays far below the envelope's limit.
const CHUNK_RAW_BYTES: usize = 1 << 20;

/// Writes chunks of events, reusing its buffers.
#[derive(Debug, Default)]
pub struct EventEncoder {
    raw: Vec<u8>,
    sealer: Sealer,
}

impl EventEncoder {
    /// Appends `events` to `out` as one or more chunks; none for no events. `first` is the ordinal of the first of them in
    /// the file. Events of one thread must be in its program order.
    pub fn encode(&mut self, first: u64, events: &[Event], codec: Codec, out: &mut Vec<u8>) {
        let mut done = 0;
        while done < events.len() {
            done += self.chunk(first + done as u64, &events[done..], codec, out);
        }
    }

    /// Appends to `out` one chunk of as many of `events` as it takes; returns how many, at least one of any.
    pub(crate) fn chunk(&mut self, first: u64, events: &[Event], codec: Codec, out: &mut Vec<u8>) -> usize {
        let n = self.fill(events);
        let version = events[..n].iter().map(|e| e.kind.version()).max().unwrap_or(EVENTS_VERSION_FIRST);
        let label = Label { kind: Kind::Events, version, thread: u32::MAX, first, count: n as u32, sampled: false };
        self.sealer.seal(label, codec, &self.raw, out);
        n
    }

    /// Puts as many events as a chunk takes into `raw`, at least one.
    fn fill(&mut self, events: &[Event]) -> usize {
        self.raw.clear();
        let (mut at, mut stamp) = (0u64, 0u64);
        for (i, e) in events.iter().enumerate() {
            if i == CHUNK_EVENTS_MAX || self.raw.len() >= CHUNK_RAW_BYTES {
                return i;
            }
            put_varint(&mut self.raw, u64::from(e.thread));
            put_varint(&mut self.raw, zigzag(e.at.wrapping_sub(at)));
            put_varint(&mut self.raw, zigzag(e.stamp.wrapping_sub(stamp)));
            (at, stamp) = (e.at, e.stamp);
            put_kind(&mut self.raw, &e.kind);
        }
        events.len()
    }
}

fn put_kind(out: &mut Vec<u8>, kind: &EventKind) {
    match kind {
        EventKind::Process { pid, parent } => put(out, code::PROCESS, &[u64::from(*pid), u64::from(*parent)]),
        EventKind::Release { object, epoch, seq, sync } => put_sync(out, code::RELEASE, [*object, *epoch, *seq], *sync),
        EventKind::Acquire { object, epoch, seq, sync } => put_sync(out, code::ACQUIRE, [*object, *epoch, *seq], *sync),
        EventKind::AcqRel { object, epoch, seq, sync } => put_sync(out, code::ACQ_REL, [*object, *epoch, *seq], *sync),
        EventKind::Spawn { child } => put(out, code::SPAWN, &[u64::from(*child)]),
        EventKind::Exit => put(out, code::EXIT, &[]),
        EventKind::Alloc { addr, bytes, source, stack } => put_alloc(out, *addr, *bytes, *source, stack),
        EventKind::Free { addr } => put(out, code::FREE, &[*addr]),
        EventKind::Map { addr, bytes, prot, flags, device, inode, offset } => {
            let code = if offset.is_some() { code::MAP_FROM } else { code::MAP };
            put(out, code, &[*addr, *bytes, u64::from(*prot), u64::from(*flags), *device, *inode]);
            offset.iter().for_each(|&from| put_varint(out, from));
        }
        EventKind::Unmap { addr, bytes } => put(out, code::UNMAP, &[*addr, *bytes]),
        EventKind::Module { bias, bytes, path } => {
            put(out, code::MODULE, &[*bias, *bytes]);
            put_text(out, path);
        }
        EventKind::PhaseBegin { name } => {
            put(out, code::PHASE_BEGIN, &[]);
            put_text(out, name);
        }
        EventKind::PhaseEnd { name } => {
            put(out, code::PHASE_END, &[]);
            put_text(out, name);
        }
        EventKind::Affinity { target, how, cpus } => {
            let how = match how {
                AffinityHow::Call => 0,
                AffinityHow::Seen => 1,
                AffinityHow::Inherited => 2,
            };
            put(out, code::AFFINITY, &[u64::from(*target), how, cpus.words().len() as u64]);
            cpus.words().iter().for_each(|&w| put_varint(out, w));
        }
        EventKind::NoWait { reads } => put(out, code::NO_WAIT, &[*reads]),
        EventKind::Waited { pid } => put(out, code::WAITED, &[u64::from(*pid)]),
    }
}

fn put_sync(out: &mut Vec<u8>, code: u8, fields: [u64; 3], sync: SyncKind) {
    if sync == SyncKind::Unknown {
        return put(out, code, &fields);
    }
    let (kind, parties) = sync.code();
    put(out, code + code::OF_A_KIND, &fields);
    out.push(kind);
    if sync.is_barrier() {
        put_varint(out, parties.into());
    }
}

fn put(out: &mut Vec<u8>, code: u8, fields: &[u64]) {
    out.push(code);
    fields.iter().for_each(|&f| put_varint(out, f));
}

fn put_alloc(out: &mut Vec<u8>, addr: u64, bytes: u64, source: AllocSource, stack: &[u64]) {
    let source = match source {
        AllocSource::Heap => 0,
        AllocSource::Stack => 1,
        AllocSource::Map => 2,
        AllocSource::Shared => 3,
    };
    let stack = &stack[..stack.len().min(STACK_MAX)];
    put(out, code::ALLOC, &[addr, bytes, source, stack.len() as u64]);
    let mut before = 0u64;
    for &pc in stack {
        put_varint(out, zigzag(pc.wrapping_sub(before)));
        before = pc;
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    let mut n = text.len().min(TEXT_BYTES_MAX);
    while !text.is_char_boundary(n) {
        n -= 1;
    }
    put_varint(out, n as u64);
    out.extend_from_slice(&text.as_bytes()[..n]);
}
