//! Records beyond memory, and partitions, as files.
use homenode_study::{Spill, Store};
use homenode_sys::dir::create_new;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Mutex;

/// Bytes collected before they are written.
const BUFFER_BYTES: usize = 1 << 20;
/// Bytes read at once.
const PIECE_BYTES: usize = 1 << 16;

/// One file for all regions: each region is a list of pieces in it. The file has no name any more, so that nothing is
/// left if the process dies.
pub struct FileSpill {
    file: File,
    /// (offset, bytes) of the pieces of each region, neighbours joined.
    pieces: HashMap<u64, Vec<(u64, u64)>>,
    pending: Mutex<Pending>,
}

#[derive(Default)]
struct Pending {
    bytes: Vec<u8>,
    /// Where they go.
    offset: u64,
}

impl FileSpill {
    /// A file at `path`, whose name is gone at once.
    pub(crate) fn new(path: &Path) -> io::Result<FileSpill> {
        let file = create_new(path)?;
        std::fs::remove_file(path)?;
        Ok(FileSpill::of(file))
    }
    /// An empty file without a name, open for reading and writing.
    pub fn of(file: File) -> FileSpill {
        FileSpill { file, pieces: HashMap::new(), pending: Mutex::default() }
    }

    fn flush(&self) -> Result<(), String> {
        let mut pending = self.pending.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.file.write_all_at(&pending.bytes, pending.offset).map_err(|e| format!("cannot write to disk: {e}"))?;
        pending.offset += pending.bytes.len() as u64;
        pending.bytes.clear();
        Ok(())
    }
}

impl Spill for FileSpill {
    fn append(&mut self, region: u64, bytes: &[u8]) -> Result<(), String> {
        let at = {
            let mut pending = self.pending.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let at = pending.offset + pending.bytes.len() as u64;
            pending.bytes.extend_from_slice(bytes);
            at
        };
        let pieces = self.pieces.entry(region).or_default();
        match pieces.last_mut() {
            Some((offset, len)) if *offset + *len == at => *len += bytes.len() as u64,
            _ => pieces.push((at, bytes.len() as u64)),
        }
        if self.pending.lock().unwrap_or_else(std::sync::PoisonError::into_inner).bytes.len() >= BUFFER_BYTES {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn read(&self, region: u64, each: &mut dyn FnMut(&[u8])) -> Result<(), String> {
        self.flush()?;
        let mut buffer = vec![0; PIECE_BYTES];
        for &(offset, len) in self.pieces.get(&region).map_or(&[][..], |p| p) {
            let mut done = 0;
            while done < len {
                let piece = &mut buffer[..(len - done).min(PIECE_BYTES as u64) as usize];
                self.file.read_exact_at(piece, offset + done).map_err(|e| format!("cannot read from disk: {e}"))?;
                each(piece);
                done += piece.len() as u64;
            }
        }
        Ok(())
    }

    fn bytes(&self, region: u64) -> u64 {
        self.pieces.get(&region).map_or(0, |p| p.iter().map(|(_, len)| len).sum())
    }
}

/// A partition's file.
pub(crate) struct FileStore {
    file: File,
    bytes: u64,
}

impl FileStore {
    pub(crate) fn open(path: &Path) -> io::Result<FileStore> {
        let file = File::open(path)?;
        let bytes = file.metadata()?.len();
        Ok(FileStore { file, bytes })
    }
}

impl Store for FileStore {
    fn bytes(&self) -> u64 {
        self.bytes
    }
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<(), String> {
        self.file.read_exact_at(into, offset).map_err(|e| e.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_base::Rng;

    #[test]
    fn what_is_spilled_comes_back_in_order_and_leaves_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let mut spill = FileSpill::new(&dir.path().join("spill")).unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        let mut expected: HashMap<u64, Vec<u8>> = HashMap::new();
        let mut rng = Rng::new(1);
        for i in 0..3000u32 {
            let region = rng.below(7);
            let bytes = vec![i as u8; rng.below(3000) as usize];
            spill.append(region, &bytes).unwrap();
            expected.entry(region).or_default().extend(bytes);
        }
        for region in 0..8 {
            let mut got = Vec::new();
            spill.read(region, &mut |b| got.extend_from_slice(b)).unwrap();
            assert_eq!(spill.bytes(region), got.len() as u64);
            assert_eq!(got, expected.remove(&region).unwrap_or_default());
        }
    }
}
