//! The envelope that frames of references and chunks of events share: header, checksum, compression.
//!
//! A frame is self-contained: it can be read without anything before it, so a file is readable while it grows and after
//! its writer was killed.
use crate::bytes::Fault;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Newest version of frames of references, which are written as [`EXACT_VERSION`] or [`COLUMNS_VERSION`].
pub const FRAME_VERSION: u16 = COLUMNS_VERSION;
/// Version of frames of references without optional columns.
pub const EXACT_VERSION: u16 = 1;
/// Version of frames with four fixed columns of samples; read and no longer written.
pub const SAMPLES_VERSION: u16 = 2;
/// Version of frames with optional columns.
pub const COLUMNS_VERSION: u16 = 3;
/// Mark in the header of a frame with columns: every reference is a sample.
const MARK_SAMPLES: u8 = 1;
/// Version of chunks of events.
pub const EVENTS_VERSION: u16 = 4;
/// Version of chunks in which every event is of a kind that version 1 had.
pub const EVENTS_VERSION_FIRST: u16 = 1;
/// Bytes of the header in front of every payload.
pub const HEADER_BYTES: usize = 40;
/// Largest uncompressed payload: bounds what a hostile header can make a reader allocate.
pub const RAW_BYTES_MAX: usize = 4 << 20;
/// Largest payload as stored; the allowance covers what the compressors add to incompressible data.
pub const PAYLOAD_BYTES_MAX: usize = RAW_BYTES_MAX + (64 << 10);

/// What a frame holds, which is its magic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// References of one thread.
    Refs,
    /// Events of any threads.
    Events,
}

impl Kind {
    /// The mark with which a frame of this kind begins.
    pub const fn magic(self) -> [u8; 4] {
        match self {
            Kind::Refs => *b"HNFR",
            Kind::Events => *b"HNEV",
        }
    }
    const fn newest(self) -> u16 {
        match self {
            Kind::Refs => FRAME_VERSION,
            Kind::Events => EVENTS_VERSION,
        }
    }
}

/// How a payload is compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Codec {
    /// Not at all.
    Raw,
    /// LZ4 block: while recording.
    #[default]
    Lz4,
    /// zstd, level 9: `homenode compact`.
    Zstd,
}

impl Codec {
    const fn code(self) -> u8 {
        self as u8
    }
    const fn from_code(code: u8) -> Option<Codec> {
        match code {
            0 => Some(Codec::Raw),
            1 => Some(Codec::Lz4),
            2 => Some(Codec::Zstd),
            _ => None,
        }
    }
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the frame holds.
    pub kind: Kind,
    /// Version of the payload, 1 up to [`FRAME_VERSION`] or [`EVENTS_VERSION`].
    pub version: u16,
    /// Compression of the payload.
    pub codec: Codec,
    /// Dataset-wide thread id; `u32::MAX` in chunks of events, which mix threads.
    pub thread: u32,
    /// Ordinal of the first reference in its thread, or of the first event in the file.
    pub first: u64,
    /// References or events inside.
    pub count: u32,
    /// Bytes of the payload uncompressed.
    pub raw_len: u32,
    /// Bytes of the payload as stored.
    pub payload_len: u32,
    /// Marks of frames with columns.
    marks: u8,
    checksum: u64,
}

impl Header {
    /// Bytes of header and payload together.
    pub const fn total_len(&self) -> usize {
        HEADER_BYTES + self.payload_len as usize
    }

    /// Whether every reference inside has a sample.
    pub const fn sampled(&self) -> bool {
        self.version == SAMPLES_VERSION || self.marks & MARK_SAMPLES != 0
    }

    /// Reads a header and checks everything that needs no payload.
    pub fn parse(bytes: &[u8], kind: Kind) -> Result<Header, Fault> {
        let Some(h) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Err(Fault::new(
                bytes.len(),
                format!("a header has {HEADER_BYTES} bytes, {} are left", bytes.len()),
            ));
        };
        if h[0..4] != kind.magic() {
            return Err(Fault::new(0, "the mark of a frame is missing"));
        }
        let version = u16::from_le_bytes([h[4], h[5]]);
        if version > kind.newest() {
            let newer = Some(u32::from(version));
            return Err(Fault { offset: 4, what: "frame of a newer format version".into(), newer });
        }
        let marked = kind == Kind::Refs && version == COLUMNS_VERSION;
        if version == 0 || h[7] > if marked { MARK_SAMPLES } else { 0 } {
            return Err(Fault::new(4, format!("no frame has version {version} and marks {}", h[7])));
        }
        let codec = Codec::from_code(h[6]).ok_or_else(|| Fault::new(6, format!("unknown compression {}", h[6])))?;
        let u32_at = |i: usize| u32::from_le_bytes([h[i], h[i + 1], h[i + 2], h[i + 3]]);
        let u64_at = |i: usize| u64::from(u32_at(i)) | u64::from(u32_at(i + 4)) << 32;
        let header = Header {
            kind,
            version,
            codec,
            thread: u32_at(8),
            count: u32_at(12),
            first: u64_at(16),
            raw_len: u32_at(24),
            payload_len: u32_at(28),
            marks: h[7],
            checksum: u64_at(32),
        };
        header.check_lengths().map(|()| header)
    }

    fn check_lengths(&self) -> Result<(), Fault> {
        if self.raw_len as usize > RAW_BYTES_MAX || self.payload_len as usize > PAYLOAD_BYTES_MAX {
            return Err(Fault::new(24, format!("payload of {} bytes, {} stored", self.raw_len, self.payload_len)));
        }
        if self.codec == Codec::Raw && self.raw_len != self.payload_len {
            return Err(Fault::new(24, "an uncompressed payload has two lengths"));
        }
        if self.first.checked_add(u64::from(self.count)).is_none() {
            return Err(Fault::new(16, "ordinals beyond 64 bits"));
        }
        Ok(())
    }

    /// The header's bytes; the checksum covers them and the payload.
    fn write(&self, payload: &[u8], out: &mut [u8]) {
        out[0..4].copy_from_slice(&self.kind.magic());
        out[4..6].copy_from_slice(&self.version.to_le_bytes());
        out[6] = self.codec.code();
        out[7] = self.marks;
        out[8..12].copy_from_slice(&self.thread.to_le_bytes());
        out[12..16].copy_from_slice(&self.count.to_le_bytes());
        out[16..24].copy_from_slice(&self.first.to_le_bytes());
        out[24..28].copy_from_slice(&self.raw_len.to_le_bytes());
        out[28..32].copy_from_slice(&self.payload_len.to_le_bytes());
        let sum = xxh3_64_with_seed(payload, xxh3_64(&out[..32]));
        out[32..40].copy_from_slice(&sum.to_le_bytes());
    }

    /// Gives the frame at the start of `frame`, header and payload, another first ordinal, and the checksum that goes with
    /// it. Nothing is checked: this header must have been parsed from these bytes.
    pub fn renumber(&self, frame: &mut [u8], first: u64) {
        let (head, payload) = frame[..self.total_len()].split_at_mut(HEADER_BYTES);
        Header { first, ..*self }.write(payload, head);
    }

    /// Whether the checksum over `frame`, header and payload, is right.
    pub fn matches(&self, frame: &[u8]) -> bool {
        let payload = frame.get(HEADER_BYTES..self.total_len());
        payload.is_some_and(|p| xxh3_64_with_seed(p, xxh3_64(&frame[..32])) == self.checksum)
    }

    /// Checks the checksum over `frame` (header and payload) and returns the uncompressed payload, which is `scratch` or
    /// a part of `frame`. Allocates at most [`RAW_BYTES_MAX`] plus slack.
    pub fn open<'a>(&self, frame: &'a [u8], scratch: &'a mut Vec<u8>) -> Result<&'a [u8], Fault> {
        let Some(payload) = frame.get(HEADER_BYTES..self.total_len()) else {
            let missing = self.total_len() - frame.len();
            return Err(Fault::new(frame.len(), format!("the frame is cut off, {missing} bytes are missing")));
        };
        if !self.matches(frame) {
            return Err(Fault::new(32, "the checksum does not match"));
        }
        if self.codec == Codec::Raw {
            return Ok(payload);
        }
        let raw_len = self.raw_len as usize;
        scratch.resize(raw_len, 0);
        let got = match self.codec {
            Codec::Lz4 => lz4_flex::block::decompress_into(payload, scratch).map_err(|e| e.to_string()),
            _ => zstd::bulk::decompress_to_buffer(payload, scratch.as_mut_slice()).map_err(|e| e.to_string()),
        };
        match got {
            Ok(n) if n == raw_len => Ok(scratch),
            Ok(n) => Err(Fault::new(24, format!("payload of {n} bytes, {raw_len} announced"))),
            Err(e) => Err(Fault::new(HEADER_BYTES, format!("the payload does not decompress: {e}"))),
        }
    }
}

/// Compresses payloads and puts envelopes around them, reusing its buffers.
#[derive(Default)]
pub(crate) struct Sealer {
    zstd: Option<zstd::bulk::Compressor<'static>>,
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sealer")
    }
}

/// What goes into a header besides lengths and checksum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Label {
    pub(crate) kind: Kind,
    pub(crate) version: u16,
    pub(crate) thread: u32,
    pub(crate) first: u64,
    pub(crate) count: u32,
    /// Whether every reference is a sample, in frames with columns.
    pub(crate) sampled: bool,
}

impl Sealer {
    /// Appends one frame with the payload `raw`. Data that a codec does not shrink is stored raw.
    pub(crate) fn seal(&mut self, label: Label, codec: Codec, raw: &[u8], out: &mut Vec<u8>) {
        assert!(raw.len() <= RAW_BYTES_MAX, "the encoders bound what they put into a frame");
        let start = out.len();
        let body = start + HEADER_BYTES;
        out.resize(body, 0);
        let mut used = codec;
        match codec {
            Codec::Raw => {}
            Codec::Lz4 => {
                out.resize(body + lz4_flex::block::get_maximum_output_size(raw.len()), 0);
                let n = lz4_flex::block::compress_into(raw, &mut out[body..]).unwrap_or(usize::MAX);
                out.truncate(body.saturating_add(n));
            }
            Codec::Zstd => {
                let bound = raw.len() + raw.len() / 128 + 1024;
                out.resize(body + bound, 0);
                let n = self.zstd(raw, &mut out[body..]).unwrap_or(usize::MAX);
                out.truncate(body.saturating_add(n));
            }
        }
        if out.len() - body >= raw.len() || codec == Codec::Raw {
            out.truncate(body);
            out.extend_from_slice(raw);
            used = Codec::Raw;
        }
        let Label { kind, version, thread, first, count, sampled } = label;
        let marks = if sampled { MARK_SAMPLES } else { 0 };
        let payload_len = (out.len() - body) as u32;
        let raw_len = raw.len() as u32;
        let header =
            Header { kind, version, codec: used, thread, first, count, raw_len, payload_len, marks, checksum: 0 };
        let (head, payload) = out[start..].split_at_mut(HEADER_BYTES);
        header.write(payload, head);
    }

    fn zstd(&mut self, raw: &[u8], out: &mut [u8]) -> std::io::Result<usize> {
        if self.zstd.is_none() {
            self.zstd = Some(zstd::bulk::Compressor::new(9)?);
        }
        match &mut self.zstd {
            Some(c) => c.compress_to_buffer(raw, out),
            None => Err(std::io::Error::other("no compressor")),
        }
    }
}
