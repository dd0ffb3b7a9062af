//! From files to frames and events, stopping at the first damage; what goes on behind it is recovery.
use super::{EVENTS_FILE, JSON_BYTES_MAX};
use crate::bytes::Fault;
use crate::event::Event;
use crate::events::decode_chunk;
use crate::frame::FRAME_REFS_MAX;
use crate::framing::{COLUMNS_VERSION, EVENTS_VERSION, FRAME_VERSION, HEADER_BYTES, Header, Kind};
use crate::packed::Events;
use crate::store::{ReadAt, Store};
use crate::{Manifest, TraceError};
use std::io::ErrorKind;
use std::sync::Arc;

/// Where one frame of references is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameEntry {
    /// Byte offset in the thread's file.
    pub offset: u64,
    /// Bytes, header included.
    pub len: u32,
    /// Ordinal of its first reference in the thread.
    pub first_ref: u64,
    /// References in it.
    pub refs: u32,
    /// Whether they have samples.
    pub sampled: bool,
    /// Whether they may have optional columns.
    pub columns: bool,
}

/// What a scan of a thread's file found.
#[derive(Debug, Default)]
pub struct FrameScan {
    /// Frames before the first damage.
    pub frames: Vec<FrameEntry>,
    /// Bytes they cover: what `recover` keeps.
    pub good_bytes: u64,
    /// Why the scan stopped before the end of the file.
    pub torn: Option<TraceError>,
}

/// Finds the frames of a thread's file by their headers. Payloads are not read: a checksum that does not match shows when
/// the frame is decoded. `Err` if the file cannot be read or was written by a newer version.
pub fn scan_frames(file: &dyn ReadAt, name: &str, thread: u32) -> Result<FrameScan, TraceError> {
    let len = file.len().map_err(|source| io_error(name, source))?;
    let mut scan = FrameScan::default();
    let mut next_ref = 0u64;
    while scan.good_bytes < len {
        let offset = scan.good_bytes;
        let entry = match frame_at(file, name, offset, len, thread, next_ref) {
            Ok(entry) => entry,
            Err(e @ TraceError::Damaged { .. }) => {
                scan.torn = Some(e);
                break;
            }
            Err(e) => return Err(e),
        };
        next_ref = entry.first_ref + u64::from(entry.refs);
        scan.good_bytes += u64::from(entry.len);
        scan.frames.push(entry);
    }
    Ok(scan)
}

fn frame_at(
    file: &dyn ReadAt,
    name: &str,
    offset: u64,
    len: u64,
    thread: u32,
    next_ref: u64,
) -> Result<FrameEntry, TraceError> {
    let mut head = [0u8; HEADER_BYTES];
    let head = &mut head[..HEADER_BYTES.min((len - offset) as usize)];
    read_fully(file, name, offset, head)?;
    let header = Header::parse(head, Kind::Refs).map_err(|f| f.into_error(name, offset, FRAME_VERSION.into()))?;
    let damaged = |what: String| Err(TraceError::Damaged { name: name.to_owned(), offset, what });
    if header.count as usize > FRAME_REFS_MAX {
        return damaged(format!("{} references in one frame", header.count));
    }
    if header.thread != thread || header.first != next_ref {
        let (t, n) = (header.thread, header.first);
        return damaged(format!("reference {next_ref} of thread {thread} expected, the frame has {n} of thread {t}"));
    }
    if header.total_len() as u64 > len - offset {
        return damaged(format!("the frame has {} bytes, {} are left", header.total_len(), len - offset));
    }
    let (first_ref, refs, sampled) = (header.first, header.count, header.sampled());
    let columns = header.version == COLUMNS_VERSION;
    Ok(FrameEntry { offset, len: header.total_len() as u32, first_ref, refs, sampled, columns })
}

/// Decodes the events of a whole file up to the first damage: events, bytes they cover, and the damage if any.
pub fn scan_events(bytes: &[u8]) -> (Vec<Event>, usize, Option<TraceError>) {
    let mut events = Vec::new();
    let mut walk = EventWalk::new(&bytes, EVENTS_FILE);
    loop {
        let before = events.len();
        match walk.next(&mut events) {
            Ok(true) => {}
            Ok(false) => return (events, walk.offset as usize, None),
            Err(fault) => {
                events.truncate(before);
                return (events, walk.offset as usize, Some(fault));
            }
        }
    }
}

impl ReadAt for &[u8] {
    fn len(&self) -> std::io::Result<u64> {
        Ok(<[u8]>::len(self) as u64)
    }
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> std::io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|at| self.get(at..)).unwrap_or_default();
        let n = buf.len().min(rest.len());
        buf[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }
}

/// Decodes the chunks of an event file one after the other, reading no more of it at a time than one chunk.
pub struct EventWalk<'a> {
    file: &'a dyn ReadAt,
    name: &'a str,
    /// Bytes of the chunks decoded so far.
    pub offset: u64,
    /// Events in them.
    pub count: u64,
    bytes: Vec<u8>,
    scratch: Vec<u8>,
}

impl<'a> EventWalk<'a> {
    /// From the start of the file.
    pub fn new(file: &'a dyn ReadAt, name: &'a str) -> EventWalk<'a> {
        EventWalk { file, name, offset: 0, count: 0, bytes: Vec::new(), scratch: Vec::new() }
    }
    /// Appends the events of the next chunk; false at the end of the file. After an error `out` may hold some events of the
    /// damaged chunk.
    pub fn next(&mut self, out: &mut Vec<Event>) -> Result<bool, TraceError> {
        let damaged = |f: Fault, at| f.into_error(self.name, at, EVENTS_VERSION.into());
        let left = self.file.len().map_err(|e| io_error(self.name, e))?.saturating_sub(self.offset);
        if left == 0 {
            return Ok(false);
        }
        self.bytes.resize(left.min(HEADER_BYTES as u64) as usize, 0);
        read_fully(self.file, self.name, self.offset, &mut self.bytes)?;
        let header = Header::parse(&self.bytes, Kind::Events).map_err(|f| damaged(f, self.offset))?;
        self.bytes.resize(left.min(header.total_len() as u64) as usize, 0);
        read_fully(self.file, self.name, self.offset, &mut self.bytes)?;
        let chunk = decode_chunk(&self.bytes, &mut self.scratch, out).map_err(|f| damaged(f, self.offset))?;
        if chunk.first != self.count {
            let what = format!("event {} expected, the chunk begins with {}", self.count, chunk.first);
            return Err(TraceError::Damaged { name: self.name.to_owned(), offset: self.offset, what });
        }
        self.offset += chunk.len as u64;
        self.count += u64::from(chunk.events);
        Ok(true)
    }
}

/// The events of the dataset, which must be undamaged and as many as the manifest counts.
pub(super) fn load_events(store: &dyn Store, manifest: &Manifest) -> Result<Events, TraceError> {
    let mut events = Events::default();
    let counted = manifest.threads.iter().try_fold(0u64, |sum, t| sum.checked_add(t.events));
    let counted = counted.ok_or_else(|| TraceError::Manifest("more events than 64 bits count".into()))?;
    if let Some(file) = open_optional(store, EVENTS_FILE)? {
        let mut walk = EventWalk::new(&*file, EVENTS_FILE);
        let mut chunk = Vec::new();
        while walk.next(&mut chunk)? {
            if walk.count > counted {
                let stranger = chunk.iter().find(|e| e.thread as usize >= manifest.threads.len());
                let of = stranger.map_or_else(String::new, |e| format!(", such as one of thread {}", e.thread));
                return Err(TraceError::Manifest(format!("it counts {counted} events, {EVENTS_FILE} has more{of}")));
            }
            chunk.drain(..).try_for_each(|e| super::validate::enter(manifest, &mut events, e))?;
        }
    } else if counted > 0 {
        return Err(TraceError::Manifest(format!("it counts {counted} events but {EVENTS_FILE} is missing")));
    }
    events.finish(manifest.threads.len());
    Ok(events)
}

pub(super) fn io_error(name: &str, source: std::io::Error) -> TraceError {
    TraceError::Io { name: name.to_owned(), source }
}

pub(super) fn open_optional(store: &dyn Store, name: &str) -> Result<Option<Arc<dyn ReadAt>>, TraceError> {
    match store.open(name) {
        Ok(file) => Ok(Some(file)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(io_error(name, e)),
    }
}

/// Fills `buf` from this offset of the file `name`; a file that ends earlier is damaged.
///
/// # Errors
/// [`TraceError::Damaged`] if it does, [`TraceError::Io`] if it cannot be read.
pub fn read_fully(file: &dyn ReadAt, name: &str, offset: u64, buf: &mut [u8]) -> Result<(), TraceError> {
    let mut done = 0;
    while done < buf.len() {
        match file.read_at(offset + done as u64, &mut buf[done..]) {
            Ok(0) => {
                let what = format!("{} more bytes expected", buf.len() - done);
                return Err(TraceError::Damaged { name: name.to_owned(), offset: offset + done as u64, what });
            }
            Ok(n) => done += n,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(io_error(name, e)),
        }
    }
    Ok(())
}

/// Bytes of a JSON file that are read at a time.
const PIECE: u64 = 1 << 20;

/// A whole JSON file, at most [`JSON_BYTES_MAX`]; `None` if there is none. Text has no zero bytes, so a file that was
/// extended by a hole is not read into memory.
pub(super) fn read_optional(store: &dyn Store, name: &str) -> Result<Option<Vec<u8>>, TraceError> {
    let Some(file) = open_optional(store, name)? else { return Ok(None) };
    let damaged =
        |offset: usize, what: String| Err(TraceError::Damaged { name: name.to_owned(), offset: offset as u64, what });
    let len = file.len().map_err(|e| io_error(name, e))?;
    let mut bytes: Vec<u8> = Vec::new();
    while (bytes.len() as u64) < len {
        let at = bytes.len();
        if len > JSON_BYTES_MAX && at as u64 >= PIECE {
            return damaged(at, format!("{len} bytes, at most {JSON_BYTES_MAX} are read"));
        }
        let piece = PIECE.min(len - at as u64) as usize;
        if bytes.try_reserve(piece).is_err() {
            return damaged(at, format!("{len} bytes do not fit into memory"));
        }
        bytes.resize(at + piece, 0);
        read_fully(&*file, name, at as u64, &mut bytes[at..])?;
        if let Some(zero) = bytes[at..].iter().position(|&b| b == 0) {
            return damaged(at + zero, "a zero byte, which no text has".to_owned());
        }
    }
    Ok(Some(bytes))
}

pub(super) fn read_all(store: &dyn Store, name: &str) -> Result<Vec<u8>, TraceError> {
    match read_optional(store, name)? {
        Some(bytes) => Ok(bytes),
        None => {
            let source = std::io::Error::new(ErrorKind::NotFound, "no such file: this is not a homenode dataset");
            Err(io_error(name, source))
        }
    }
}
