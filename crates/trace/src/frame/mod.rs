//! Frames of references: self-contained, checksummed, column-wise, at most [`FRAME_REFS_MAX`] references.
//!
//! The codec predicts. References are grouped by *key* (program counter, operation, size), so constant operations and
//! sizes cost nothing. Each key remembers which key followed it, its last address and its stride; as long as both
//! predictions hold, nothing is written but the length of the run. What differs costs a token (see `predict`).
//! `docs/format.md` gives the bytes.
mod block_encoder;
mod blocks;
mod columns;
mod cycle;
mod decoder;
mod encoder;
mod index;
mod predict;
mod slot;

use crate::record::Op;
pub use block_encoder::BlockRefs;
pub use decoder::{DecodedFrame, decode_frame, frame_sites};
pub use encoder::{FrameEncoder, RawRef};

/// Most references in one frame.
pub const FRAME_REFS_MAX: usize = 65_536;
/// Most references between two stamps.
pub const BATCH_REFS_MAX: usize = 128;
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
