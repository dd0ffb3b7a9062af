//! The file of events.
use crate::dataset::EVENTS_FILE;
use crate::event::Event;
use crate::events::{CHUNK_EVENTS_MAX, EventEncoder};
use crate::framing::Codec;
use crate::store::{Append, Sink};
use std::io;

/// `events.bin`, to which all threads append.
#[derive(Debug)]
pub struct EventFile<F> {
    file: F,
    pub(super) codec: Codec,
    /// Events in the file.
    count: u64,
    /// Handed over one by one, and not in the file yet.
    held: Vec<Event>,
    encoder: EventEncoder,
    bytes: Vec<u8>,
}

impl<F: Append> EventFile<F> {
    /// Makes the file.
    ///
    /// # Errors
    /// What the sink says.
    pub fn create(sink: &impl Sink<File = F>, codec: Codec) -> io::Result<EventFile<F>> {
        Ok(EventFile::of(sink.create(EVENTS_FILE)?, 0, codec))
    }
    /// Goes on with a file that holds `count` whole events and nothing behind them.
    pub fn of(file: F, count: u64, codec: Codec) -> EventFile<F> {
        EventFile { file, codec, count, held: Vec::new(), encoder: EventEncoder::default(), bytes: Vec::new() }
    }
    /// Takes one event and writes every chunk that is full.
    ///
    /// # Errors
    /// The chunk could not be written; its events are still held.
    pub fn push(&mut self, event: Event) -> io::Result<()> {
        self.held.push(event);
        if self.held.len() < CHUNK_EVENTS_MAX {
            return Ok(());
        }
        self.bytes.clear();
        let n = self.encoder.chunk(self.count, &self.held, self.codec, &mut self.bytes);
        self.file.append(&self.bytes)?;
        self.count += n as u64;
        self.held.drain(..n);
        Ok(())
    }
    /// Writes what [`EventFile::push`] holds.
    ///
    /// # Errors
    /// Nothing was written, and it is still held.
    pub fn flush(&mut self) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        let written = self.put(&held);
        self.held = held;
        if written.is_ok() {
            self.held.clear();
        }
        written
    }
    /// Appends all of `events` behind those held, in as few chunks as possible, or none of them.
    ///
    /// # Errors
    /// The events could not be written.
    pub fn append(&mut self, events: &[Event]) -> io::Result<()> {
        self.flush()?;
        self.put(events)
    }
    fn put(&mut self, events: &[Event]) -> io::Result<()> {
        if events.is_empty() {
            return Ok(());
        }
        self.bytes.clear();
        self.encoder.encode(self.count, events, self.codec, &mut self.bytes);
        self.file.append(&self.bytes)?;
        self.count += events.len() as u64;
        Ok(())
    }
    /// Bytes in the file.
    pub fn bytes(&self) -> u64 {
        self.file.bytes()
    }
    /// The file, without what is held.
    pub fn into_file(self) -> F {
        self.file
    }
}
