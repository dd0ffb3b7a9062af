//! Where a dataset's bytes are: a directory (implemented in `homenode-capture`) or memory (tests, fuzzing).
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
