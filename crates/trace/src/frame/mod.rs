//! Frames of references: self-contained, checksummed, column-wise, at most [`FRAME_REFS_MAX`] references.
//!
//! The codec predicts. References are grouped by *key* (program counter, operation, size), so constant operations and
//! sizes cost nothing. Each key remembers which key followed it, its last address and its stride; as long as both
//! predictions hold, nothing is written but the length of the run. What differs costs a token (see `predict`).
//! `docs/format.md` gives the bytes.
mod decoder;
mod encoder;
mod index;
mod predict;
mod samples;

use crate::record::{Columns, Op};
use crate::sample::Sample;
pub use decoder::{DecodedFrame, decode_frame, frame_sites};
pub use encoder::{FrameEncoder, RawRef};

/// Most references in one frame.
pub const FRAME_REFS_MAX: usize = 65_536;
/// Most references between two stamps.
pub const BATCH_REFS_MAX: usize = 64;
/// Most batches in one frame; batches may be empty.
pub const FRAME_BATCHES_MAX: usize = 65_536;

/// A code location together with what it did: the unit of prediction and the second column of a decoded frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key {
    /// Index into the frame's table of program counters.
    pub site: u32,
    /// Bytes.
    pub size: u32,
    /// Operation.
    pub op: Op,
}

/// Up to [`BATCH_REFS_MAX`] references between two stamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// References in it, 0 to [`BATCH_REFS_MAX`].
    pub refs: u32,
    /// Clock before its first reference; its end is the next batch's begin, or the frame's end stamp.
    pub begin: u64,
}

/// Encodes columns whose `site` indexes `pcs`, as one frame appended to `out`, with one encoder for many calls. The
/// decoded frame has the same references; its table of program counters is in order of first appearance. `batches` must
/// cover the columns (no batches: one stamp 0). Returns whether everything fitted into the frame; if not, `out` is as before.
#[derive(Debug, Default)]
pub struct ColumnsEncoder(FrameEncoder);

impl ColumnsEncoder {
    /// See the type.
    pub fn encode(&mut self, input: &FrameInput<'_>, codec: crate::framing::Codec, out: &mut Vec<u8>) -> bool {
        let e = &mut self.0;
        e.begin(input.thread, input.first_ref);
        let c = input.columns;
        let mut from = 0;
        for batch in input.batches {
            if !e.stamp(batch.begin) {
                return false;
            }
            let to = (from + batch.refs as usize).min(c.len());
            if !push_range(e, input, from..to) {
                return false;
            }
            from = to;
        }
        if !push_range(e, input, from..c.len()) {
            return false;
        }
        e.finish(input.end, codec, out);
        true
    }
}

fn push_range(e: &mut FrameEncoder, input: &FrameInput<'_>, range: std::ops::Range<usize>) -> bool {
    let c = input.columns;
    range.into_iter().all(|i| {
        let pc = input.pcs.get(c.site[i] as usize).copied().unwrap_or(0);
        match input.samples.get(i) {
            Some(sample) => e.push_sample(c.addr[i], c.size[i], c.op[i], pc, sample),
            None => e.push(c.addr[i], c.size[i], c.op[i], pc),
        }
    })
}

/// What a frame is made of when the references already stand in columns.
#[derive(Clone, Copy, Debug)]
pub struct FrameInput<'a> {
    /// Dataset-wide thread id.
    pub thread: u32,
    /// Ordinal of the first reference in its thread.
    pub first_ref: u64,
    /// The references; `site` indexes `pcs`.
    pub columns: &'a Columns,
    /// Program counters.
    pub pcs: &'a [u64],
    /// What is known beside the references: empty in exact recordings, else one for each.
    pub samples: &'a [Sample],
    /// Batches, in order.
    pub batches: &'a [Batch],
    /// Stamp after the last reference.
    pub end: u64,
}
