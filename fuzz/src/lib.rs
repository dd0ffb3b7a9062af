//! What the fuzz targets share. With cargo-fuzz and a nightly toolchain installed, in `fuzz/`:
//!
//! ```text
//! cargo run --release --bin seeds
//! cargo +nightly fuzz run frame_decode -- -max_total_time=300
//! ```
//!
//! and likewise the others (`cargo +nightly fuzz list`): one for everything that reads bytes from outside. The corpus is made by
//! `seeds` and not committed.
//!
//! Random bytes never carry a right checksum, so every target also puts the checksum right and so reaches the parser
//! behind it.
pub mod host;
pub mod import;
pub mod killed;
pub mod partition;
pub mod perf;
pub mod texts;

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Bytes of a frame's header.
pub const HEADER_BYTES: usize = 40;

/// `data` as a frame with this magic, a version that exists (1 or 2 of references, 1 to 3 of events), one of the three codecs, a payload that reaches to the end of the data
/// and a right checksum. Counts, ordinals, the uncompressed length and the payload stay what they are.
pub fn repaired(data: &[u8], magic: &[u8; 4]) -> Vec<u8> {
    let mut frame = data.to_vec();
    frame.resize(frame.len().max(HEADER_BYTES), 0);
    frame[..4].copy_from_slice(magic);
    let versions = if magic == b"HNEV" { 3 } else { 2 };
    (frame[4], frame[5]) = (1 + frame[4] % versions, 0);
    frame[6] %= 3;
    frame[7] = 0;
    let payload = (frame.len() - HEADER_BYTES) as u32;
    frame[28..32].copy_from_slice(&payload.to_le_bytes());
    if frame[6] == 0 {
        frame[24..28].copy_from_slice(&payload.to_le_bytes());
    }
    let sum = xxh3_64_with_seed(&frame[HEADER_BYTES..], xxh3_64(&frame[..32]));
    frame[32..40].copy_from_slice(&sum.to_le_bytes());
    frame
}

/// A folder in memory, where there is one, since files are written for every input.
pub fn folder() -> tempfile::TempDir {
    let memory = std::path::Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.expect("memory takes it")
}
