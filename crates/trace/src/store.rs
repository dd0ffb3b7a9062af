//! Where a dataset's bytes are and go to: a directory (implemented in `homenode-capture`) or memory (tests, fuzzing).
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

/// Random access to one file.
#[allow(clippy::len_without_is_empty, reason = "nobody asks whether a file is empty; `len` can fail")]
pub trait ReadAt: Send + Sync {
    /// Bytes in the file now.
    fn len(&self) -> io::Result<u64>;
    /// Fills `buf` from `offset`; fewer bytes than asked for only at the end of the file.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize>;
    /// The first byte from `offset` on that is not in a hole of a sparse file, `None` if only holes follow; `offset` itself
    /// where nobody knows.
    fn next_data(&self, offset: u64) -> io::Result<Option<u64>> {
        Ok(Some(offset))
    }
}

/// The files of one dataset, named with forward slashes relative to its root (`threads/0.frames`).
pub trait Store: Send + Sync {
    /// Opens one file for reading.
    fn open(&self, name: &str) -> io::Result<Arc<dyn ReadAt>>;
    /// All file names, sorted.
    fn names(&self) -> io::Result<Vec<String>>;
}

/// A file that grows by whole pieces.
pub trait Append {
    /// Appends all of `bytes`, or nothing.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Bytes in the file.
    fn bytes(&self) -> u64;
    /// From now on the file is open only while something is appended: there are too many of its kind.
    fn close(&mut self) {}
}

/// Where the files of one dataset are written, named as in [`Store`].
pub trait Sink {
    /// A file that is written.
    type File: Append;
    /// Makes a file, or empties the one that is there.
    fn create(&self, name: &str) -> io::Result<Self::File>;
    /// Writes a whole file: a reader sees what had the name before, or all of `bytes`.
    fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()>;
}

impl Append for Vec<u8> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.extend_from_slice(bytes);
        Ok(())
    }
    fn bytes(&self) -> u64 {
        self.len() as u64
    }
}

impl ReadAt for Vec<u8> {
    fn len(&self) -> io::Result<u64> {
        Ok(Vec::len(self) as u64)
    }
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(Vec::len(self));
        let n = buf.len().min(Vec::len(self) - from);
        buf[..n].copy_from_slice(&self[from..from + n]);
        Ok(n)
    }
}

/// A dataset in memory.
#[derive(Debug, Default)]
pub struct MemStore(Mutex<BTreeMap<String, Arc<Vec<u8>>>>);

impl MemStore {
    /// Sets the content of one file.
    pub fn put(&self, name: &str, bytes: Vec<u8>) {
        self.lock().insert(name.to_owned(), Arc::new(bytes));
    }
    /// The content of one file.
    pub fn get(&self, name: &str) -> Option<Arc<Vec<u8>>> {
        self.lock().get(name).cloned()
    }
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<Vec<u8>>>> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// A file of a [`MemStore`] that is written.
#[derive(Debug)]
pub struct MemFile {
    store: Arc<MemStore>,
    name: String,
    bytes: u64,
}

impl Append for MemFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut files = self.store.lock();
        let file = files.entry(self.name.clone()).or_default();
        Arc::make_mut(file).extend_from_slice(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }
    fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Sink for Arc<MemStore> {
    type File = MemFile;
    fn create(&self, name: &str) -> io::Result<MemFile> {
        self.put(name, Vec::new());
        Ok(MemFile { store: self.clone(), name: name.to_owned(), bytes: 0 })
    }
    fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.put(name, bytes.to_vec());
        Ok(())
    }
}

impl Store for MemStore {
    fn open(&self, name: &str) -> io::Result<Arc<dyn ReadAt>> {
        match self.get(name) {
            Some(bytes) => Ok(bytes),
            None => Err(io::Error::new(io::ErrorKind::NotFound, "no such file in the dataset")),
        }
    }
    fn names(&self) -> io::Result<Vec<String>> {
        Ok(self.lock().keys().cloned().collect())
    }
}
