//! `events.bin`: chunks of events in the same envelope as frames of references.
//!
//! The payload is LEB128 numbers with differences for positions and stamps, written here by hand instead of by a general
//! serialiser: the bytes are then part of the documented format, a hostile length is refused before anything is allocated,
//! and a reader in another language needs only `docs/format.md`.
mod decode;
mod encode;

pub use decode::{Chunk, decode_chunk};
pub use encode::EventEncoder;

/// Most events in one chunk.
pub const CHUNK_EVENTS_MAX: usize = 4096;
/// Longest name or path in bytes; longer ones are cut when written.
pub const TEXT_BYTES_MAX: usize = 4096;
/// Deepest allocation stack; deeper ones are cut when written.
pub const STACK_MAX: usize = 256;

/// Codes of the kinds of events in the file.
mod code {
    pub(super) const PROCESS: u8 = 0;
    pub(super) const RELEASE: u8 = 1;
    pub(super) const ACQUIRE: u8 = 2;
    pub(super) const ACQ_REL: u8 = 3;
    pub(super) const SPAWN: u8 = 4;
    pub(super) const EXIT: u8 = 5;
    pub(super) const ALLOC: u8 = 6;
    pub(super) const FREE: u8 = 7;
    pub(super) const MAP: u8 = 8;
    pub(super) const UNMAP: u8 = 9;
    pub(super) const MODULE: u8 = 10;
    pub(super) const PHASE_BEGIN: u8 = 11;
    pub(super) const PHASE_END: u8 = 12;
    pub(super) const AFFINITY: u8 = 13;
    pub(super) const WAITED: u8 = 14;
    pub(super) const NO_WAIT: u8 = 15;
    /// A mapping that says from which byte on.
    pub(super) const MAP_FROM: u8 = 19;
    /// Added to the code of an acquire or release that is followed by its kind of synchronisation.
    pub(super) const OF_A_KIND: u8 = 15;
}

#[cfg(test)]
pub(crate) mod tests;
