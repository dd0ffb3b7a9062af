//! Packed files as streams of what is in them: gzip, lz4 and zip. Whatever was packed, memory is that of one window.
//!
//! ```
//! use std::io::{Cursor, Read};
//! // A file that is not packed is its own content.
//! let mut content = String::new();
//! homenode_import::unpack::open(Cursor::new("plain text"))?.read_to_string(&mut content).unwrap();
//! assert_eq!(content, "plain text");
//! # Ok::<(), String>(())
//! ```
mod frames;
mod zip;

use crate::report::Source;
use flate2::bufread::MultiGzDecoder;
use std::io::{BufReader, Read, SeekFrom};

/// Bytes of the file read at once.
const BUFFER: usize = 1 << 18;

const GZIP: &[u8] = &[0x1f, 0x8b];
const LZ4: &[u8] = &[0x04, 0x22, 0x4d, 0x18];
const ZIP: &[u8] = b"PK";
/// Kinds of packing that are known by name only.
const OTHERS: [(&[u8], &str); 4] = [
    (&[0xff, 0x06, 0x00, 0x00, b's', b'N', b'a', b'P'], "snappy"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd"),
    (&[0xfd, b'7', b'z', b'X', b'Z'], "xz"),
    (b"BZh", "bzip2"),
];

/// What is in a file that is at its beginning: unpacked, if it is packed; of a zip the files in it, one after the other in the order of
/// their directory.
///
/// # Errors
/// In words: the file cannot be read, is a damaged zip, or is packed in another way.
pub fn open<'a, S: Source + 'a>(mut source: S) -> Result<Box<dyn Read + 'a>, String> {
    let mut magic = Vec::new();
    let begun = (&mut source).take(8).read_to_end(&mut magic);
    begun.and_then(|_| source.seek(SeekFrom::Start(0))).map_err(|e| e.to_string())?;
    if magic.starts_with(ZIP) {
        return Ok(Box::new(zip::Parts::new(source)?));
    }
    if let Some((_, name)) = OTHERS.iter().find(|(bytes, _)| magic.starts_with(bytes)) {
        return Err(format!("it is packed by {name}, which is not read here: unpack it first"));
    }
    let buffered = BufReader::with_capacity(BUFFER, source);
    Ok(if magic.starts_with(GZIP) {
        Box::new(MultiGzDecoder::new(buffered))
    } else if magic.starts_with(LZ4) {
        Box::new(frames::Frames::new(buffered))
    } else {
        Box::new(buffered)
    })
}

/// The first bytes of what is in a file, at most `most`; fewer also where the packing is damaged behind them.
///
/// # Errors
/// In words: the file cannot be read, or is a damaged zip.
pub(crate) fn start(source: &mut dyn Source, most: usize) -> Result<Vec<u8>, String> {
    let mut magic = [0; 8];
    let read = (&mut *source).take(8).read(&mut magic).map_err(|e| e.to_string())?;
    source.seek(SeekFrom::Start(0)).map_err(|e| e.to_string())?;
    let other = OTHERS.iter().any(|(bytes, _)| magic[..read].starts_with(bytes));
    let mut content = Vec::new();
    if !other {
        // Damage is said when the file is read.
        let _ = open(source)?.take(most as u64).read_to_end(&mut content);
    }
    Ok(content)
}

#[cfg(test)]
mod tests;
