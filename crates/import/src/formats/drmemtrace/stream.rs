//! The records of one file, block by block.
use super::entry::{BYTES, begins_raw, is_32_bit};
use std::io::{ErrorKind, Read};

/// Records read at once.
const BLOCK: usize = 1 << 14;

/// What to do with files that the tracer itself wrote.
pub(super) const RAW: &str = "it is a raw file of the tracer: run `drraw2trace -indir DIR` on the trace folder first (or any \
    `drrun -t drmemtrace -indir DIR`, which does that), and import the folder";

/// Reads records.
pub(super) struct Stream<'a> {
    reader: Box<dyn Read + 'a>,
    buffer: Vec<u8>,
    /// Bytes of the buffer that are read.
    filled: usize,
    /// Bytes of it that were given out.
    given: usize,
    fresh: bool,
}

impl<'a> Stream<'a> {
    pub(super) fn new(reader: Box<dyn Read + 'a>) -> Stream<'a> {
        Stream { reader, buffer: vec![0; BLOCK * BYTES], filled: 0, given: 0, fresh: true }
    }

    /// Records that were not given out yet, at least one of them; none at the end of the file.
    pub(super) fn rest(&mut self) -> Result<&[u8], String> {
        if self.given == self.filled {
            (self.given, self.filled) = (0, 0);
            self.fill()?;
        }
        Ok(&self.buffer[self.given..self.filled])
    }
    /// Takes so many bytes of [`Stream::rest`] as given out.
    pub(super) fn give(&mut self, bytes: usize) {
        self.given += bytes;
    }

    fn fill(&mut self) -> Result<(), String> {
        while self.filled < self.buffer.len() {
            match self.reader.read(&mut self.buffer[self.filled..]) {
                Ok(0) => break,
                Ok(n) => self.filled += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(format!("it cannot be unpacked, or read, to its end: {e}")),
            }
        }
        let start = &self.buffer[..self.filled];
        if std::mem::take(&mut self.fresh) {
            refuse(start)?;
        }
        match self.filled % BYTES {
            0 => Ok(()),
            more => Err(format!("it ends {more} bytes after a record of {BYTES} bytes: it is cut off")),
        }
    }
}

/// Reasons against a file that are seen at its beginning.
fn refuse(start: &[u8]) -> Result<(), String> {
    if begins_raw(start) {
        return Err(RAW.to_owned());
    }
    if is_32_bit(start) {
        return Err("it is of a 32-bit program, whose records are shorter: only 64-bit traces are read".to_owned());
    }
    Ok(())
}
