//! Digests by which hosts see that they have the same program and the same homenode.
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Bytes that are read at a time.
const SOME: usize = 1 << 16;

fn text(digest: Sha256) -> String {
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 of a file, in hexadecimal digits.
pub(super) fn digest(path: &Path) -> io::Result<String> {
    let (mut file, mut digest, mut bytes) = (File::open(path)?, Sha256::new(), vec![0; SOME]);
    loop {
        match file.read(&mut bytes)? {
            0 => return Ok(text(digest)),
            read => digest.update(&bytes[..read]),
        }
    }
}

/// That of the library which makes a process a node.
pub(super) fn library() -> String {
    text(Sha256::new_with_prefix(crate::library::LIBRARY.as_slice()))
}
