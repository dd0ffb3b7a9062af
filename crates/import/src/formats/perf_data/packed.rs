//! Records that `perf record -z` compressed: the bytes of one zstd stream a file, cut into records without regard to those within.
use crate::formats::ReadError;
use homenode_sampling::perf::records::Record;
use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

/// Bytes taken out of the stream at once.
const CHUNK: usize = 128 << 10;
/// Bytes of a record's header.
const HEADER: usize = 8;
/// Most bytes that one compressed byte may become, beyond [`FREE_BYTES`]. Samples that differ in nothing but a counted time shrink
/// to a fiftieth.
const RATIO_MAX: u64 = 256;
/// Bytes that come out whatever went in.
const FREE_BYTES: u64 = 16 << 20;

/// The records within the compressed records of a file.
#[derive(Default)]
pub(super) struct Unpacker {
    decoder: Option<Decoder<'static>>,
    /// Bytes that are out of the stream and no whole record yet.
    plain: Vec<u8>,
    taken: u64,
    given: u64,
    broken: bool,
}

impl Unpacker {
    /// Takes the bytes of the next compressed record and hands on what has become whole. Behind damage nothing is understood
    /// any more.
    pub(super) fn piece(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(&Record<'_>) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        self.taken += bytes.len() as u64;
        let mut input = InBuffer::around(bytes);
        let mut more = true;
        while !self.broken && more {
            let Some(got) = self.chunk(&mut input, bytes.len()) else {
                self.broken = true;
                break;
            };
            // A full chunk may have left something behind.
            more = got == CHUNK || input.pos() < bytes.len();
            self.given += got as u64;
            if self.given > FREE_BYTES.max(self.taken.saturating_mul(RATIO_MAX)) {
                let why = format!(
                    "its compressed records grow to more than {RATIO_MAX} times their size, which `perf` does not write"
                );
                return Err(ReadError::File(why));
            }
            self.records(&mut each)?;
        }
        Ok(())
    }

    /// Appends what comes out next of `bytes` bytes, at most [`CHUNK`], and says how many; `None` if the stream is damaged.
    fn chunk(&mut self, input: &mut InBuffer<'_>, bytes: usize) -> Option<usize> {
        if self.decoder.is_none() {
            self.decoder = Decoder::new().ok();
        }
        let (before, start) = (input.pos(), self.plain.len());
        self.plain.resize(start + CHUNK, 0);
        let mut output = OutBuffer::around(&mut self.plain[start..]);
        let done = self.decoder.as_mut()?.run(input, &mut output);
        let got = output.pos();
        self.plain.truncate(start + got);
        // A stream that neither takes what there is nor gives would be asked for ever.
        let stuck = got == 0 && input.pos() == before && before < bytes;
        (done.is_ok() && !stuck).then_some(got)
    }

    fn records(&mut self, each: &mut impl FnMut(&Record<'_>) -> Result<(), ReadError>) -> Result<(), ReadError> {
        let mut from = 0;
        while let Some(head) = self.plain.get(from..from + HEADER) {
            let size = usize::from(u16::from_le_bytes([head[6], head[7]]));
            if size < HEADER {
                self.broken = true;
                break;
            }
            let Some(body) = self.plain.get(from + HEADER..from + size) else { break };
            let kind = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
            each(&Record { kind, misc: u16::from_le_bytes([head[4], head[5]]), body })?;
            from += size;
        }
        self.plain.drain(..from);
        Ok(())
    }

    /// What is wrong, once all pieces are taken.
    pub(super) fn damage(&self) -> Option<&'static str> {
        match (self.broken, self.plain.is_empty()) {
            (true, _) => Some("compressed records are damaged: what follows in them is lost"),
            (false, false) => Some("compressed records end within a record: what follows is lost"),
            (false, true) => None,
        }
    }
}
