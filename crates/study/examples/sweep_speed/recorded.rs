//! Recorded datasets, read in the merged order in which every evaluation reads them.
use homenode_trace::Merged;
use homenode_trace::dataset::DatasetReader;
use homenode_trace::order::{Order, OrderKind, Stream};
use homenode_trace::store::{ReadAt, Store};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A dataset's folder.
struct Folder(PathBuf);

struct Plain(File);

impl ReadAt for Plain {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < buf.len() {
            match self.0.read_at(&mut buf[done..], offset + done as u64)? {
                0 => break,
                n => done += n,
            }
        }
        Ok(done)
    }
}

impl Store for Folder {
    fn open(&self, name: &str) -> io::Result<Arc<dyn ReadAt>> {
        Ok(Arc::new(Plain(File::open(self.0.join(name))?)))
    }
    fn names(&self) -> io::Result<Vec<String>> {
        // Nobody asks here.
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Opens a dataset.
pub(crate) fn open(path: &str) -> Result<DatasetReader, Box<dyn std::error::Error>> {
    let reader = DatasetReader::open(Arc::new(Folder(Path::new(path).to_owned())));
    reader.map_err(|e| format!("{path}: {e}").into())
}

/// Calls `each` with all references in order; returns how many there were.
pub(crate) fn all(reader: &DatasetReader, each: &mut dyn FnMut(&[Merged])) -> Result<u64, Box<dyn std::error::Error>> {
    let mut order = Order::new(reader, OrderKind::Model)?;
    while let Some(piece) = order.pull()? {
        each(piece.refs);
    }
    Ok(order.summary().refs)
}

/// Keeps the first error.
pub(crate) fn first_error<E>(done: &mut Result<(), E>, next: Result<(), E>) {
    if done.is_ok() {
        *done = next;
    }
}
