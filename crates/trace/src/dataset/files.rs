//! From files to frames and events, stopping at the first damage.
use super::{EVENTS_FILE, JSON_BYTES_MAX};
use crate::event::Event;
use crate::events::decode_chunk;
use crate::frame::FRAME_REFS_MAX;
use crate::framing::{EVENTS_VERSION, FRAME_VERSION, HEADER_BYTES, Header, Kind};
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
    Ok(FrameEntry { offset, len: header.total_len() as u32, first_ref, refs, sampled })
}

/// Decodes the events of a whole file up to the first damage: events, bytes they cover, and the damage if any.
pub fn scan_events(bytes: &[u8]) -> (Vec<Event>, usize, Option<TraceError>) {
    let (mut events, mut scratch, mut good) = (Vec::new(), Vec::new(), 0);
    while good < bytes.len() {
        let before = events.len();
        let chunk = decode_chunk(&bytes[good..], &mut scratch, &mut events);
        let fault = match chunk {
            Ok(c) if c.first == before as u64 => {
                good += c.len;
                continue;
            }
            Ok(c) => TraceError::Damaged {
                name: EVENTS_FILE.into(),
                offset: good as u64,
                what: format!("event {before} expected, the chunk begins with {}", c.first),
            },
            Err(fault) => fault.into_error(EVENTS_FILE, good as u64, EVENTS_VERSION.into()),
        };
        events.truncate(before);
        return (events, good, Some(fault));
    }
    (events, good, None)
}

/// The events of the dataset. A complete one must be undamaged; in one that is still written, events of threads that the
/// manifest does not know yet are left out.
pub(super) fn load_events(store: &dyn Store, manifest: &Manifest) -> Result<Vec<Event>, TraceError> {
    let Some(bytes) = read_optional(store, EVENTS_FILE)? else {
        if manifest.complete && manifest.threads.iter().any(|t| t.events > 0) {
            return Err(TraceError::Manifest(format!("it counts events but {EVENTS_FILE} is missing")));
        }
        return Ok(Vec::new());
    };
    let (mut events, _, fault) = scan_events(&bytes);
    match fault {
        Some(e @ TraceError::Newer { .. }) => return Err(e),
        Some(e) if manifest.complete => return Err(e),
        _ => {}
    }
    if !manifest.complete {
        events.retain(|e| (e.thread as usize) < manifest.threads.len());
    }
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

/// Fills `buf`; a file that ends earlier is damaged.
pub(super) fn read_fully(file: &dyn ReadAt, name: &str, offset: u64, buf: &mut [u8]) -> Result<(), TraceError> {
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

/// A whole file, at most [`JSON_BYTES_MAX`] for JSON; `None` if there is none.
pub(super) fn read_optional(store: &dyn Store, name: &str) -> Result<Option<Vec<u8>>, TraceError> {
    let Some(file) = open_optional(store, name)? else { return Ok(None) };
    let len = file.len().map_err(|e| io_error(name, e))?;
    let limit = if name.ends_with(".json") { JSON_BYTES_MAX } else { u64::MAX };
    let Some(size) = usize::try_from(len).ok().filter(|_| len <= limit) else {
        let what = format!("{len} bytes, at most {limit} are read");
        return Err(TraceError::Damaged { name: name.to_owned(), offset: 0, what });
    };
    let mut bytes = vec![0; size];
    read_fully(&*file, name, 0, &mut bytes)?;
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
