//! Packed files: gzip, lz4, zip, and zstd, which is called by its name. What comes out is the same however it is asked for.
#![no_main]
use homenode_import::unpack::open;
use libfuzzer_sys::fuzz_target;
use std::io::{Cursor, Read};

/// Bytes after which an input is left: what packs this well needs no more to be looked at.
const MOST: u64 = 1 << 22;

fuzz_target!(|data: &[u8]| {
    let Ok(reader) = open(Cursor::new(data)) else { return };
    let mut whole = Vec::new();
    let end = reader.take(MOST).read_to_end(&mut whole).is_ok();
    let (mut pieces, mut piece) = (Vec::new(), [0; 777]);
    let Ok(mut reader) = open(Cursor::new(data)) else { panic!("opened once and not again") };
    let ended = loop {
        match reader.read(&mut piece) {
            Ok(0) => break true,
            Ok(n) => pieces.extend_from_slice(&piece[..n]),
            Err(_) => break false,
        }
        if pieces.len() as u64 >= MOST {
            return;
        }
    };
    // How much comes before damage is found depends on how much is asked for at once.
    let same = if end { pieces == whole } else { pieces.starts_with(&whole) || whole.starts_with(&pieces) };
    assert!(ended == end && same, "{} and {} bytes", pieces.len(), whole.len());
});
