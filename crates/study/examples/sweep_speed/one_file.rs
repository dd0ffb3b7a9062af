//! Records out of memory.
use homenode_study::Spill;
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;

/// Bytes collected before they are written.
const BUFFER_BYTES: usize = 1 << 20;

/// One file for all regions, without a name.
pub(crate) struct OneFile {
    file: File,
    /// (offset, bytes) of the pieces of each region.
    pieces: HashMap<u64, Vec<(u64, u64)>>,
    pending: Mutex<(u64, Vec<u8>)>,
}

impl OneFile {
    /// In the folder for temporary files.
    pub(crate) fn new() -> std::io::Result<OneFile> {
        let path = std::env::temp_dir().join(format!("sweep-speed-{}.spill", std::process::id()));
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        std::fs::remove_file(&path)?;
        Ok(OneFile { file, pieces: HashMap::new(), pending: Mutex::default() })
    }
    fn flush(&self, least: usize) -> Result<(), String> {
        let mut pending = self.pending.lock().map_err(|e| e.to_string())?;
        let (offset, bytes) = &mut *pending;
        if bytes.len() >= least {
            self.file.write_all_at(bytes, *offset).map_err(|e| e.to_string())?;
            *offset += bytes.len() as u64;
            bytes.clear();
        }
        Ok(())
    }
}

impl Spill for OneFile {
    fn append(&mut self, region: u64, bytes: &[u8]) -> Result<(), String> {
        let (offset, buffer) = self.pending.get_mut().map_err(|e| e.to_string())?;
        let (at, len) = (*offset + buffer.len() as u64, bytes.len() as u64);
        buffer.extend_from_slice(bytes);
        let pieces = self.pieces.entry(region).or_default();
        match pieces.last_mut() {
            Some((from, known)) if *from + *known == at => *known += len,
            _ => pieces.push((at, len)),
        }
        self.flush(BUFFER_BYTES)
    }
    fn read(&self, region: u64, each: &mut dyn FnMut(&[u8])) -> Result<(), String> {
        self.flush(1)?;
        let mut buffer = vec![0; 1 << 16];
        for &(offset, len) in self.pieces.get(&region).map_or(&[][..], |p| p) {
            let mut done = 0;
            while done < len {
                let piece = &mut buffer[..(len - done).min(1 << 16) as usize];
                self.file.read_exact_at(piece, offset + done).map_err(|e| e.to_string())?;
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
