//! Records beside samples, as notices.
use super::records::{Layout, Record, kind, trailer};
use super::wire::Cursor;
use crate::samples::Notice;

/// Longest path taken from a record; the kernel's own limit is 4096.
const PATH_MAX: usize = 4096;

/// What became of a record that is no sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// Something to tell.
    Notice(Notice),
    /// A thread got this name.
    Name {
        /// Process.
        pid: u32,
        /// Thread.
        tid: u32,
        /// The name.
        name: String,
    },
    /// AUX data was written: place, bytes, flags.
    Aux {
        /// Position in the AUX stream.
        offset: u64,
        /// Bytes.
        bytes: u64,
        /// Bits: 1 truncated, 2 overwritten, 4 gaps, 8 collisions.
        flags: u64,
    },
    /// Of a kind that nobody here needs.
    Other,
}

/// Reads a record that is no sample. `None` if it is shorter than its kind requires.
pub fn side(record: &Record<'_>, layout: &Layout) -> Option<Side> {
    match record.kind {
        kind::FORK => fork(record.body).map(Side::Notice),
        kind::EXIT => exit(record.body).map(Side::Notice),
        kind::MMAP | kind::MMAP2 => map(record, layout).map(Side::Notice),
        kind::COMM => name(record.body, layout),
        kind::LOST => {
            let mut c = Cursor(record.body);
            c.u64()?;
            Some(Side::Notice(Notice::Lost(c.u64()?)))
        }
        kind::LOST_SAMPLES => Some(Side::Notice(Notice::Lost(Cursor(record.body).u64()?))),
        kind::THROTTLE => Some(Side::Notice(Notice::Throttled)),
        kind::AUX => {
            let mut c = Cursor(record.body);
            Some(Side::Aux { offset: c.u64()?, bytes: c.u64()?, flags: c.u64()? })
        }
        _ => Some(Side::Other),
    }
}

fn fork(body: &[u8]) -> Option<Notice> {
    let mut c = Cursor(body);
    let (pid, parent_pid) = c.pair()?;
    let (tid, parent_tid) = c.pair()?;
    Some(Notice::Fork { time_ns: c.u64()?, pid, tid, parent_pid, parent_tid })
}

fn exit(body: &[u8]) -> Option<Notice> {
    let mut c = Cursor(body);
    let (pid, _parent) = c.pair()?;
    let (tid, _parent_tid) = c.pair()?;
    Some(Notice::Exit { time_ns: c.u64()?, pid, tid })
}

fn map(record: &Record<'_>, layout: &Layout) -> Option<Notice> {
    let end = trailer(record.body, layout)?;
    let mut c = Cursor(&record.body[..record.body.len() - end.bytes]);
    let (pid, _tid) = c.pair()?;
    let (addr, bytes, file_offset) = (c.u64()?, c.u64()?, c.u64()?);
    let mut prot = 0;
    if record.kind == kind::MMAP2 {
        // Device, inode and generation, or a build id, in 24 bytes; then protection and flags.
        c.take(24)?;
        prot = c.u32()?;
        c.u32()?;
    }
    let mut path = Cursor(&c.0[..c.0.len().min(PATH_MAX)]).text();
    if path == "//anon" {
        path.clear();
    }
    Some(Notice::Map { time_ns: end.time, pid, addr, bytes, file_offset, prot, path })
}

fn name(body: &[u8], layout: &Layout) -> Option<Side> {
    let end = trailer(body, layout)?;
    let mut c = Cursor(&body[..body.len() - end.bytes]);
    let (pid, tid) = c.pair()?;
    Some(Side::Name { pid, tid, name: Cursor(&c.0[..c.0.len().min(64)]).text() })
}
