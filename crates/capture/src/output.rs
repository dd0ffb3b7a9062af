//! Appending to the files of a dataset such that a failed write leaves only whole frames.
use crate::store::DirStore;
use homenode_sys::dir::Dir;
use homenode_trace::store::{Append, Sink};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// A file that grows by whole pieces.
#[derive(Debug)]
pub struct Appender {
    dir: Dir,
    name: String,
    file: Option<File>,
    /// Bytes of whole pieces.
    len: u64,
}

impl Appender {
    /// A file of which the first `len` bytes are good and the rest is cut off. Created if missing.
    pub(crate) fn open(dir: &Dir, name: &str, len: u64) -> io::Result<Appender> {
        let file = match dir.write(name) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => dir.create(name)?,
            other => other?,
        };
        if file.metadata()?.len() != len {
            file.set_len(len)?;
        }
        Ok(Appender { dir: dir.clone(), name: name.to_owned(), file: Some(file), len })
    }
    /// Has everything written to the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        match &self.file {
            Some(file) => file.sync_all(),
            None => self.dir.write(&self.name)?.sync_all(),
        }
    }
}

impl Append for Appender {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let opened;
        let file = match &self.file {
            Some(file) => file,
            None => {
                opened = self.dir.write(&self.name)?;
                &opened
            }
        };
        if let Err(error) = file.write_all_at(bytes, self.len) {
            // If even this fails, the torn frame is left for `recover` to cut: readers stop before it.
            let _ = file.set_len(self.len);
            return Err(error);
        }
        self.len += bytes.len() as u64;
        Ok(())
    }
    fn bytes(&self) -> u64 {
        self.len
    }
    fn close(&mut self) {
        self.file = None;
    }
}

impl Sink for DirStore {
    type File = Appender;
    fn create(&self, name: &str) -> io::Result<Appender> {
        Appender::open(self.dir(), name, 0)
    }
    fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.dir().replace(name, bytes)
    }
}
