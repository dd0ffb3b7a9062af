//! The outside of a perf.data file: the header of a file or the short one of a pipe, and the events described.
use super::event::{ATTR_BYTES_MIN, FileEvent, attribute};
use super::features;
use crate::report::FileFacts;
use homenode_sampling::perf::wire::Cursor;
use std::io::{Read, Seek, SeekFrom};

const MAGIC: &[u8; 8] = b"PERFILE2";
const MAGIC_OTHER_ORDER: &[u8; 8] = b"2ELIFREP";
const MAGIC_OLD: &[u8; 8] = b"PERFFILE";
/// Header bytes of a pipe.
const PIPE_BYTES: u64 = 16;
/// Header bytes of a file.
const FILE_BYTES: u64 = 104;
/// Longest section read whole.
const SECTION_MAX: u64 = 256 << 20;
/// Most events in one file; `perf` itself stays far below.
const EVENTS_MAX: usize = 4096;

/// What the header says. For a pipe the events come among the records.
#[derive(Clone, Debug, Default)]
pub(super) struct Header {
    pub(super) events: Vec<FileEvent>,
    pub(super) facts: FileFacts,
    /// Bytes of records; `None` = to the end.
    pub(super) data_bytes: Option<u64>,
    /// Whether it is the first file of a folder of several.
    pub(super) of_folder: bool,
}

/// The feature that says so.
const DIR_FORMAT: u32 = 24;

/// Whether a file that begins with these bytes is one, of whichever age and byte order.
pub(super) fn recognises(start: &[u8]) -> bool {
    [MAGIC, MAGIC_OTHER_ORDER, MAGIC_OLD].iter().any(|magic| start.starts_with(*magic))
}

/// Reads the header and leaves the reader at the first record.
pub(super) fn open<R: Read + Seek>(mut reader: R) -> Result<(Header, R), String> {
    let mut start = [0; PIPE_BYTES as usize];
    reader.read_exact(&mut start).map_err(|_| "it is too short for a perf.data file".to_owned())?;
    let (magic, size) = start.split_at(8);
    if magic == MAGIC_OTHER_ORDER || magic == MAGIC_OLD {
        return Err(
            "it is of a machine of the other byte order, or of a kernel older than 3.1: neither is supported".into()
        );
    }
    if magic != MAGIC {
        return Err("it is not a perf.data file".into());
    }
    match u64::from_le_bytes(size.try_into().unwrap_or_default()) {
        PIPE_BYTES => Ok((Header::default(), reader)),
        n if n >= FILE_BYTES => file(reader),
        n => Err(format!("its header claims {n} bytes")),
    }
}

fn file<R: Read + Seek>(mut reader: R) -> Result<(Header, R), String> {
    let mut rest = [0; (FILE_BYTES - PIPE_BYTES) as usize];
    reader.read_exact(&mut rest).map_err(|_| "it ends within its header".to_owned())?;
    let mut words = rest.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().unwrap_or_default()));
    let mut word = || words.next().unwrap_or(0);
    let (entry, attrs, data, _types) = (word(), (word(), word()), (word(), word()), (word(), word()));
    let flags = [word(), word(), word(), word()];
    let of_folder = flags[0] >> DIR_FORMAT & 1 == 1;
    let mut header = Header { data_bytes: Some(data.1), of_folder, ..Header::default() };
    header.events = events(&mut reader, entry, attrs)?;
    features(&mut reader, data, flags, &mut header);
    reader.seek(SeekFrom::Start(data.0)).map_err(|e| format!("its records cannot be reached: {e}"))?;
    if data.1 == 0 {
        return Err("its header counts no records: the recording was killed before it could finish the file".into());
    }
    Ok((header, reader))
}

/// The attribute section: attributes of `entry` bytes, the last 16 of which say where the ids are.
fn events<R: Read + Seek>(reader: &mut R, entry: u64, section: (u64, u64)) -> Result<Vec<FileEvent>, String> {
    let entry = usize::try_from(entry).ok().filter(|&n| (ATTR_BYTES_MIN + 16..4096).contains(&n));
    let entry = entry.ok_or("its events have a size that makes no sense")?;
    let bytes = self::section(reader, section).ok_or("its table of events is cut off")?;
    let mut events = Vec::new();
    for one in bytes.chunks_exact(entry).take(EVENTS_MAX) {
        let (attr, place) = one.split_at(entry - 16);
        let mut c = Cursor(place);
        let place = (c.u64().unwrap_or(0), c.u64().unwrap_or(0));
        let ids =
            if place.1 == 0 { Vec::new() } else { self::section(reader, place).ok_or("its event ids are cut off")? };
        let ids = ids.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().unwrap_or_default())).collect();
        events.push(FileEvent { attr: attribute(attr).ok_or("an event is cut off")?, ids, name: String::new() });
    }
    if events.is_empty() { Err("it describes no event".into()) } else { Ok(events) }
}

/// Sections of optional facts: a table right after the records, one entry for each bit set. Damaged ones are passed over.
fn features<R: Read + Seek>(reader: &mut R, data: (u64, u64), flags: [u64; 4], header: &mut Header) {
    let set = (0..256_u32).filter(|bit| flags[(bit / 64) as usize] >> (bit % 64) & 1 == 1);
    for (i, bit) in (0_u64..).zip(set) {
        let table = data.0.checked_add(data.1).and_then(|end| end.checked_add(i * 16));
        let Some(place) = table.and_then(|at| section(reader, (at, 16))) else { return };
        let mut c = Cursor(&place);
        let place = (c.u64().unwrap_or(0), c.u64().unwrap_or(0));
        if features::wanted(bit)
            && let Some(bytes) = section(reader, place)
        {
            features::feature(bit, &bytes, &mut header.facts, &mut header.events);
        }
    }
}

/// The bytes of a section, if they are all there.
fn section<R: Read + Seek>(reader: &mut R, (offset, bytes): (u64, u64)) -> Option<Vec<u8>> {
    if bytes > SECTION_MAX {
        return None;
    }
    reader.seek(SeekFrom::Start(offset)).ok()?;
    let mut out = Vec::new();
    // Grows with what is there, not with what is claimed.
    reader.take(bytes).read_to_end(&mut out).ok()?;
    (out.len() as u64 == bytes).then_some(out)
}
