//! Appending to the files of a dataset such that a failed write leaves only whole frames.
use homenode_sys::dir::Dir;
use homenode_trace::Event;
use homenode_trace::dataset::{EVENTS_FILE, frames_file};
use homenode_trace::events::EventEncoder;
use homenode_trace::framing::Codec;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Files of threads below this index stay open; those of later ones are opened for every frame, so that a program with
/// thousands of threads does not run the recorder out of file descriptors.
const KEPT_OPEN: u32 = 256;

/// A file that grows by whole pieces.
#[derive(Debug)]
pub(crate) struct Appender {
    dir: Dir,
    name: String,
    file: Option<File>,
    /// Bytes of whole pieces.
    pub(crate) len: u64,
}

impl Appender {
    /// The frame file of a thread, of which the first `len` bytes are good and the rest is cut off. Created if missing.
    pub(crate) fn frames(dir: &Dir, thread: u32, len: u64) -> io::Result<Appender> {
        let mut appender = Appender::open(dir, frames_file(thread), len)?;
        if thread >= KEPT_OPEN {
            appender.file = None;
        }
        Ok(appender)
    }
    fn open(dir: &Dir, name: String, len: u64) -> io::Result<Appender> {
        let file = match dir.write(&name) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => dir.create(&name)?,
            other => other?,
        };
        if file.metadata()?.len() != len {
            file.set_len(len)?;
        }
        Ok(Appender { dir: dir.clone(), name, file: Some(file), len })
    }
    /// Appends all of `bytes`, or nothing.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
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
}

/// `events.bin`, to which all threads append.
#[derive(Debug)]
pub(crate) struct EventsFile {
    out: Appender,
    count: u64,
    encoder: EventEncoder,
    bytes: Vec<u8>,
}

impl EventsFile {
    /// Opens the file, of which `len` bytes with `count` events are good; what follows is cut off.
    pub(crate) fn open(dir: &Dir, len: u64, count: u64) -> io::Result<EventsFile> {
        let out = Appender::open(dir, EVENTS_FILE.to_owned(), len)?;
        Ok(EventsFile { out, count, encoder: EventEncoder::default(), bytes: Vec::new() })
    }
    /// Appends all of `events`, or none.
    pub(crate) fn append(&mut self, events: &[Event]) -> io::Result<()> {
        if events.is_empty() {
            return Ok(());
        }
        self.bytes.clear();
        self.encoder.encode(self.count, events, Codec::Lz4, &mut self.bytes);
        self.out.append(&self.bytes)?;
        self.count += events.len() as u64;
        Ok(())
    }
    /// Bytes so far.
    pub(crate) fn len(&self) -> u64 {
        self.out.len
    }
}
