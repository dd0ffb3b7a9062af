//! The files in a zip, one after the other. Its directory is read by crate `zip`, whose own readers borrow the archive.
use crate::report::Source;
use flate2::Crc;
use flate2::bufread::DeflateDecoder;
use std::io::{self, BufReader, Read, SeekFrom, Take};
use zip::{CompressionMethod, ZipArchive};

/// Most files in one archive.
const ENTRIES_MAX: usize = 1 << 20;

/// Where a file is and what it should be.
#[derive(Clone, Copy, Debug)]
struct Entry {
    at: u64,
    packed: u64,
    bytes: u64,
    crc: u32,
    deflated: bool,
}

/// Reads one file after the other.
pub(super) struct Parts<S: Source> {
    state: State<S>,
    entries: std::vec::IntoIter<Entry>,
    open: Option<Entry>,
    crc: Crc,
    bytes: u64,
}

enum State<S: Source> {
    Between(S),
    Stored(Take<S>),
    Deflated(Box<DeflateDecoder<BufReader<Take<S>>>>),
    Failed,
}

impl<S: Source> Parts<S> {
    pub(super) fn new(mut source: S) -> Result<Parts<S>, String> {
        let entries = entries(&mut source)?;
        Ok(Parts { state: State::Between(source), entries: entries.into_iter(), open: None, crc: Crc::new(), bytes: 0 })
    }

    /// Goes to the next file; false if there is none.
    fn advance(&mut self) -> io::Result<bool> {
        let mut source = match std::mem::replace(&mut self.state, State::Failed) {
            State::Between(source) => source,
            State::Stored(take) => take.into_inner(),
            State::Deflated(decoder) => decoder.into_inner().into_inner().into_inner(),
            State::Failed => return Err(damaged("it was read on after an error")),
        };
        self.open = self.entries.next();
        let Some(entry) = self.open else {
            self.state = State::Between(source);
            return Ok(false);
        };
        source.seek(SeekFrom::Start(entry.at))?;
        (self.crc, self.bytes) = (Crc::new(), 0);
        let packed = source.take(entry.packed);
        self.state = match entry.deflated {
            true => State::Deflated(Box::new(DeflateDecoder::new(BufReader::with_capacity(super::BUFFER, packed)))),
            false => State::Stored(packed),
        };
        Ok(true)
    }
}

impl<S: Source> Read for Parts<S> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        loop {
            let n = match &mut self.state {
                State::Stored(part) => part.read(buf)?,
                State::Deflated(part) => part.read(buf)?,
                State::Between(_) | State::Failed => 0,
            };
            self.crc.update(&buf[..n]);
            self.bytes += n as u64;
            if n > 0 {
                return Ok(n);
            }
            if let Some(entry) = self.open
                && (entry.crc, entry.bytes) != (self.crc.sum(), self.bytes)
            {
                return Err(damaged("a file in the zip is damaged or cut off"));
            }
            if !self.advance()? {
                return Ok(0);
            }
        }
    }
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn entries<S: Source>(source: &mut S) -> Result<Vec<Entry>, String> {
    let words = |e: zip::result::ZipError| format!("its zip directory cannot be read: {e}");
    let mut archive = ZipArchive::new(&mut *source).map_err(words)?;
    if archive.len() > ENTRIES_MAX {
        return Err(format!("{} files are in the zip, more than {ENTRIES_MAX}", archive.len()));
    }
    let mut entries = Vec::new();
    for i in 0..archive.len() {
        let file = archive.by_index_raw(i).map_err(words)?;
        if file.is_dir() {
            continue;
        }
        let deflated = match file.compression() {
            CompressionMethod::Deflated => true,
            CompressionMethod::Stored => false,
            other => return Err(format!("the zip is packed by {other:?}, which is not read here: unpack it first")),
        };
        if file.encrypted() {
            return Err("the zip is encrypted".to_owned());
        }
        let at = file.data_start().ok_or("its zip directory cannot be read")?;
        entries.push(Entry { at, packed: file.compressed_size(), bytes: file.size(), crc: file.crc32(), deflated });
    }
    Ok(entries)
}
