//! The records of a file, one at a time, in memory of one record.
use homenode_sampling::perf::records::Record;
use std::io::{ErrorKind, Read};

/// Reads records.
#[derive(Debug)]
pub(super) struct Stream<R> {
    reader: R,
    left: u64,
    body: Vec<u8>,
    kind: u32,
    misc: u16,
}

/// Why there is no next record.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    /// All is read.
    Clean,
    /// The file ends within a record, or a record claims less than its own header.
    CutOff,
}

impl<R: Read> Stream<R> {
    /// Records in the next `bytes` of `reader`.
    pub(super) fn new(reader: R, bytes: Option<u64>) -> Stream<R> {
        Stream { reader, left: bytes.unwrap_or(u64::MAX), body: Vec::new(), kind: 0, misc: 0 }
    }
    /// The next record.
    pub(super) fn next(&mut self) -> Result<Record<'_>, End> {
        let mut header = [0; 8];
        match self.fill(&mut header) {
            0 => return Err(End::Clean),
            8 => {}
            _ => return Err(End::CutOff),
        }
        self.kind = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
        self.misc = u16::from_le_bytes([header[4], header[5]]);
        let size = usize::from(u16::from_le_bytes([header[6], header[7]]));
        let mut body = std::mem::take(&mut self.body);
        body.resize(size.checked_sub(8).ok_or(End::CutOff)?, 0);
        let got = self.fill(&mut body);
        let wanted = body.len();
        self.body = body;
        if got < wanted {
            return Err(End::CutOff);
        }
        Ok(Record { kind: self.kind, misc: self.misc, body: &self.body })
    }
    /// Passes over bytes that are no records; false if they are not all there.
    pub(super) fn skip(&mut self, bytes: u64) -> bool {
        let bytes = if bytes > self.left { return false } else { bytes };
        let copied = std::io::copy(&mut (&mut self.reader).take(bytes), &mut std::io::sink()).unwrap_or(0);
        self.left -= copied;
        copied == bytes
    }
    /// Bytes that are no records; `None` if they are not all there.
    pub(super) fn payload(&mut self, bytes: u64) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        // Grows with what is there, not with what is claimed.
        (&mut self.reader).take(bytes.min(self.left)).read_to_end(&mut out).ok()?;
        self.left -= out.len() as u64;
        (out.len() as u64 == bytes).then_some(out)
    }
    /// Fills as much of `out` as there is.
    fn fill(&mut self, out: &mut [u8]) -> usize {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(out.len());
        let mut done = 0;
        while done < most {
            match self.reader.read(&mut out[done..most]) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        self.left -= done as u64;
        done
    }
}
