//! The one way in which datasets are written. It names files, encodes frames and chunks of events, and counts.
//!
//! Three layers, each of the parts below it: [`ThreadFile`] appends the frames of one thread and [`EventFile`] the chunks of
//! events, for writers that encode in several workers; [`Writer`] holds a whole dataset of any number of threads. Bytes go
//! to a [`Sink`]: memory here, a directory in `homenode-capture`. Only whole frames and chunks are ever handed to it, so
//! that what [`Writer::flush`] has returned from survives the writer.
//!
//! ```
//! use homenode_trace::framing::Codec;
//! use homenode_trace::manifest::{Manifest, Process, Thread};
//! use homenode_trace::{DatasetReader, Event, EventKind, Op, frame::RawRef, store::MemStore, writer::Writer};
//!
//! let store = std::sync::Arc::new(MemStore::default());
//! let mut writer = Writer::new(store.clone(), Codec::Lz4)?;
//! writer.stamp(0, 1)?;
//! writer.push(0, RawRef { addr: 0x1000, size: 8, op: Op::Write, pc: 0x40_1000 })?;
//! writer.event(Event { thread: 0, at: writer.refs(0), stamp: 2, kind: EventKind::Exit })?;
//! let tables = Manifest { processes: vec![Process::default()], threads: vec![Thread::default()], ..Manifest::default() };
//! writer.finish(Manifest { complete: true, ..tables.of_format() })?;
//!
//! let dataset = DatasetReader::open(store)?;
//! assert_eq!((dataset.refs(0), dataset.events().len()), (1, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
mod events;
mod thread;

pub use events::EventFile;
pub use thread::{Counts, ThreadFile};

use crate::columns::Column;
use crate::dataset::MANIFEST_FILE;
use crate::event::Event;
use crate::frame::{FrameEncoder, RawRef};
use crate::framing::Codec;
use crate::manifest::Manifest;
use crate::record::Op;
use crate::sample::Sample;
use crate::store::Sink;
use crate::symbols::Symbols;
use std::io;

/// Writes one dataset. References of a thread are handed over in its program order, threads in any; a thread begins with
/// its first use, and its number is its place in the manifest's table. At most one frame for each thread and one chunk of
/// events are held. A frame that the sink refuses is forgotten and not counted, and the next one takes its place; events that it
/// refuses are still held.
#[derive(Debug)]
pub struct Writer<S: Sink> {
    sink: S,
    codec: Codec,
    threads: Vec<ThreadState<S::File>>,
    events: EventFile<S::File>,
    /// Encoders that no thread needs at the moment.
    idle: Vec<FrameEncoder>,
    bytes: Vec<u8>,
    frame_bytes: u64,
}

/// What the writer knows of one thread.
#[derive(Debug)]
struct ThreadState<F> {
    /// Absent until the first frame or [`Writer::begin`].
    file: Option<ThreadFile<F>>,
    /// The frame that is being filled.
    frame: Option<FrameEncoder>,
    /// Spins in it.
    spins: u64,
    /// The last stamp.
    stamp: u64,
    events: u64,
}

impl<F> Default for ThreadState<F> {
    fn default() -> ThreadState<F> {
        ThreadState { file: None, frame: None, spins: 0, stamp: 0, events: 0 }
    }
}

impl<F> ThreadState<F> {
    fn pending(&self) -> usize {
        self.frame.as_ref().map_or(0, FrameEncoder::len)
    }
    fn counts(&self) -> Counts {
        let Counts { refs, spins, .. } = self.file.as_ref().map_or_else(Counts::default, ThreadFile::counts);
        Counts { refs: refs + self.pending() as u64, spins: spins + self.spins, events: self.events }
    }
}

impl<S: Sink> Writer<S> {
    /// Begins a dataset whose frames and events are compressed like this.
    ///
    /// # Errors
    /// What the sink says when the file of events is made; so in all other functions here.
    pub fn new(sink: S, codec: Codec) -> io::Result<Writer<S>> {
        let events = EventFile::create(&sink, codec)?;
        let (threads, idle, bytes) = Default::default();
        Ok(Writer { sink, codec, threads, events, idle, bytes, frame_bytes: 0 })
    }
    /// Compresses events in another way than frames.
    #[must_use]
    pub fn events_in(mut self, codec: Codec) -> Writer<S> {
        self.events.codec = codec;
        self
    }

    fn state(&mut self, thread: u32) -> &mut ThreadState<S::File> {
        let index = thread as usize;
        if self.threads.len() <= index {
            self.threads.resize_with(index + 1, ThreadState::default);
        }
        &mut self.threads[index]
    }
    /// Makes the file of a thread now, even if it will have no references.
    pub fn begin(&mut self, thread: u32) -> io::Result<()> {
        self.state(thread);
        let Writer { sink, threads, .. } = self;
        file_of(sink, &mut threads[thread as usize].file, thread).map(drop)
    }

    /// References of a thread handed over so far: the position of an event that comes next.
    pub fn refs(&self, thread: u32) -> u64 {
        self.counts(thread).refs
    }
    /// Counts of a thread so far.
    pub fn counts(&self, thread: u32) -> Counts {
        self.threads.get(thread as usize).map_or_else(Counts::default, ThreadState::counts)
    }
    /// References of a thread that are not in its file yet.
    pub fn pending(&self, thread: u32) -> usize {
        self.threads.get(thread as usize).map_or(0, ThreadState::pending)
    }
    /// Bytes of frames and events written so far.
    pub fn bytes(&self) -> u64 {
        self.frame_bytes + self.events.bytes()
    }

    /// A stamp of a thread: the references that follow were made from here on. Stamps of a thread never run backwards. It
    /// ends a full frame.
    pub fn stamp(&mut self, thread: u32, stamp: u64) -> io::Result<()> {
        if self.state(thread).frame.as_ref().is_some_and(|f| f.room() == 0) {
            self.end_frame(thread, stamp)?;
        }
        self.frame(thread).stamp(stamp);
        self.state(thread).stamp = stamp;
        Ok(())
    }
    /// One reference.
    pub fn push(&mut self, thread: u32, r: RawRef) -> io::Result<()> {
        let frame = self.frame_with_room(thread)?;
        frame.push(r.addr, r.size, r.op, r.pc);
        self.threads[thread as usize].spins += u64::from(r.op == Op::Spin);
        Ok(())
    }
    /// One sampled reference.
    pub fn push_sample(&mut self, thread: u32, r: RawRef, sample: &Sample) -> io::Result<()> {
        let frame = self.frame_with_room(thread)?;
        frame.push_sample(r.addr, r.size, r.op, r.pc, sample);
        self.threads[thread as usize].spins += u64::from(r.op == Op::Spin);
        Ok(())
    }
    /// What an optional column holds for the thread's last reference, which must have been pushed just before.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] if there is no such reference, or the value is larger than the column's largest.
    pub fn column(&mut self, thread: u32, column: &Column, value: u64) -> io::Result<()> {
        if self.frame(thread).put(column, value) {
            return Ok(());
        }
        let why = format!("{value} is no value of the column `{}`, or there is no reference to have it", column.name);
        Err(io::Error::new(io::ErrorKind::InvalidInput, why))
    }
    /// The frame being filled, after a full one has been ended; the stamp holds in the next frame too.
    fn frame_with_room(&mut self, thread: u32) -> io::Result<&mut FrameEncoder> {
        if self.frame(thread).is_full() {
            let stamp = self.state(thread).stamp;
            self.end_frame(thread, stamp)?;
            self.frame(thread).stamp(stamp);
        }
        Ok(self.frame(thread))
    }
    fn frame(&mut self, thread: u32) -> &mut FrameEncoder {
        self.state(thread);
        let Writer { threads, idle, .. } = self;
        let ThreadState { file, frame, .. } = &mut threads[thread as usize];
        frame.get_or_insert_with(|| {
            let mut encoder = idle.pop().unwrap_or_default();
            encoder.begin(thread, file.as_ref().map_or(0, |f| f.counts().refs));
            encoder
        })
    }

    /// Writes the frame of a thread, which ended at this stamp, without waiting until it is full. An empty frame is a frame
    /// too.
    pub fn end_frame(&mut self, thread: u32, end: u64) -> io::Result<()> {
        self.frame(thread);
        let Writer { sink, threads, codec, idle, bytes, .. } = self;
        let state = &mut threads[thread as usize];
        let file = file_of(sink, &mut state.file, thread)?;
        let Some(mut encoder) = state.frame.take() else { return Ok(()) };
        let written = file.append(&mut encoder, (end, *codec), std::mem::take(&mut state.spins), bytes);
        idle.push(encoder);
        self.frame_bytes += written?;
        Ok(())
    }

    /// One event. At most one chunk of them is held.
    pub fn event(&mut self, event: Event) -> io::Result<()> {
        self.state(event.thread).events += 1;
        self.events.push(event)
    }
    /// Writes these events at once behind those held, in as few chunks as possible, or none of them.
    pub fn events(&mut self, events: &[Event]) -> io::Result<()> {
        self.events.append(events)?;
        events.iter().for_each(|event| self.state(event.thread).events += 1);
        Ok(())
    }
    /// Writes what is held, frames first: an event may not stand behind references that are not there. The frames end with
    /// their threads' last stamps.
    pub fn flush(&mut self) -> io::Result<()> {
        for thread in 0..self.threads.len() as u32 {
            if self.pending(thread) > 0 {
                let end = self.threads[thread as usize].stamp;
                self.end_frame(thread, end)?;
            }
        }
        self.events.flush()
    }

    /// Names of code and data, which a dataset may lack.
    pub fn symbols(&self, symbols: &Symbols) -> io::Result<()> {
        self.sink.replace(Symbols::FILE, &symbols.to_json())
    }
    /// Completes the dataset: the manifest gets the counts of its threads and is the last file to be written. Returns it.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] if a thread is not in the manifest; what the sink says.
    pub fn finish(mut self, mut manifest: Manifest) -> io::Result<Manifest> {
        self.flush()?;
        if self.threads.len() > manifest.threads.len() {
            let why =
                format!("{} threads were written, the manifest has {}", self.threads.len(), manifest.threads.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        for (thread, row) in (0..).zip(&mut manifest.threads) {
            Counts { refs: row.refs, spins: row.spins, events: row.events } = self.counts(thread);
        }
        put_manifest(&self.sink, &manifest)?;
        Ok(manifest)
    }
}

/// The file of a thread, made when it is needed first.
fn file_of<'f, S: Sink>(
    sink: &S,
    file: &'f mut Option<ThreadFile<S::File>>,
    thread: u32,
) -> io::Result<&'f mut ThreadFile<S::File>> {
    match file {
        Some(file) => Ok(file),
        none => Ok(none.insert(ThreadFile::create(sink, thread)?)),
    }
}

/// Writes the manifest, or replaces the one that is there.
///
/// # Errors
/// What the sink says.
pub fn put_manifest(sink: &impl Sink, manifest: &Manifest) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(manifest).expect("strings and integers always serialise");
    text.push(b'\n');
    sink.replace(MANIFEST_FILE, &text)
}
