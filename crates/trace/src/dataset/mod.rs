//! A dataset opened for reading: manifest, events, symbols and an index of every thread's frames.
//!
//! Opening reads the headers of all frames but not their payloads. A dataset must agree with its manifest in every count,
//! whether it is complete or was recovered. One that is still being written, or whose recorder was killed, has no counts and
//! is not opened: `recover` makes a dataset of it.
mod files;
mod validate;

pub use files::{EventWalk, FrameEntry, FrameScan, read_fully, scan_events, scan_frames};
pub use validate::parse_manifest;

use crate::event::Event;
use crate::frame::{DecodedFrame, decode_frame, frame_sites};
use crate::framing::FRAME_VERSION;
use crate::packed::{Events, ThreadEvents};
use crate::store::{ReadAt, Store};
use crate::symbols::{Site, Symbols};
use crate::{Manifest, TraceError};
use homenode_base::SiteId;
use homenode_base::spaces::{Shared, View};
use std::borrow::Cow;
use std::sync::Arc;

/// File name of the manifest.
pub const MANIFEST_FILE: &str = "manifest.json";
/// File name of the events.
pub const EVENTS_FILE: &str = "events.bin";
/// Largest JSON file a reader accepts, in bytes.
pub const JSON_BYTES_MAX: u64 = 1 << 30;

/// Files of threads below this index stay open in readers and writers; those of later ones are opened for every frame.
pub(crate) const KEPT_OPEN: u32 = 256;

/// File name of a thread's frames.
pub fn frames_file(thread: u32) -> String {
    format!("threads/{thread}.frames")
}

/// Reads the manifest of a dataset and checks it against itself.
pub fn read_manifest(store: &dyn Store) -> Result<Manifest, TraceError> {
    parse_manifest(&files::read_all(store, MANIFEST_FILE)?)
}

/// An opened dataset.
pub struct DatasetReader {
    store: Arc<dyn Store>,
    manifest: Manifest,
    symbols: Symbols,
    events: Events,
    threads: Vec<ThreadFile>,
    shared: Shared,
    /// The busy waiting in it, once somebody has asked for it (`polls::of`).
    pub(crate) polls: std::sync::OnceLock<crate::waits::Polls>,
}

impl std::fmt::Debug for DatasetReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DatasetReader({} threads, {} events)", self.threads.len(), self.events.len())
    }
}

struct ThreadFile {
    name: String,
    /// Kept open, of the first [`KEPT_OPEN`] threads: a program with thousands must not run the reader out of descriptors.
    file: Option<Arc<dyn ReadAt>>,
    frames: Vec<FrameEntry>,
    refs: u64,
}

impl DatasetReader {
    /// Opens and validates a dataset.
    pub fn open(store: Arc<dyn Store>) -> Result<DatasetReader, TraceError> {
        let manifest = read_manifest(&*store)?;
        if !manifest.is_settled() {
            return Err(TraceError::Unfinished);
        }
        let threads = (0..manifest.threads.len() as u32)
            .map(|t| open_thread(&*store, &manifest, t))
            .collect::<Result<Vec<_>, _>>()?;
        let events = files::load_events(&*store, &manifest)?;
        let mut reader = DatasetReader {
            store: store.clone(),
            manifest,
            symbols: Symbols::default(),
            events,
            threads,
            shared: Shared::default(),
            polls: std::sync::OnceLock::new(),
        };
        validate::counts(&reader)?;
        reader.shared = crate::shared::find(&reader.manifest, &reader.events);
        if !reader.shared.is_empty() {
            reader.events.unite(&reader.shared);
        }
        reader.symbols = match files::read_optional(&*store, Symbols::FILE)? {
            Some(text) => Symbols::from_json(&text)?,
            None => reader.bare_symbols()?,
        };
        Ok(reader)
    }

    /// Where its files are.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }
    /// The manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }
    /// Names of code and data; bare sites if the dataset has no `symbols.json`.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }
    /// All events in file order, which keeps each thread's program order.
    pub fn events(&self) -> &Events {
        &self.events
    }
    /// Events of one thread, in program order.
    pub fn thread_events(&self, thread: u32) -> ThreadEvents<'_> {
        self.events.of_thread(thread)
    }
    /// The `n`-th event of one thread. Whoever wants one after the other walks [`DatasetReader::thread_events`].
    pub fn thread_event(&self, thread: u32, n: usize) -> Option<Cow<'_, Event>> {
        self.events.of_thread_from(thread, u32::try_from(n).ok()?).next()
    }
    /// Number of the `n`-th event of one thread among those of all threads, one thread after the other.
    pub(crate) fn event_index(&self, thread: u32, n: usize) -> u32 {
        self.events.first_of(thread) + n as u32
    }
    /// Number of threads.
    pub fn threads(&self) -> u32 {
        self.threads.len() as u32
    }
    /// References of one thread that the dataset holds, spins included.
    pub fn refs(&self, thread: u32) -> u64 {
        self.threads[thread as usize].refs
    }
    /// Where one thread's frames are, in order.
    pub fn frames(&self, thread: u32) -> &[FrameEntry] {
        &self.threads[thread as usize].frames
    }
    /// The frame that holds the `n`-th reference of a thread.
    pub fn frame_of(&self, thread: u32, n: u64) -> Option<usize> {
        let frames = self.frames(thread);
        let i = frames.partition_point(|f| f.first_ref + u64::from(f.refs) <= n);
        (i < frames.len()).then_some(i)
    }

    /// Decodes one frame of a thread into `out`; `bytes` is reused for its compressed form.
    pub fn read_frame(
        &self,
        thread: u32,
        frame: usize,
        bytes: &mut Vec<u8>,
        out: &mut DecodedFrame,
    ) -> Result<(), TraceError> {
        self.with_frame(thread, frame, bytes, |b| decode_frame(b, out)).map(|_len| ())
    }

    fn with_frame<T>(
        &self,
        thread: u32,
        frame: usize,
        bytes: &mut Vec<u8>,
        f: impl FnOnce(&[u8]) -> Result<T, crate::bytes::Fault>,
    ) -> Result<T, TraceError> {
        let t = &self.threads[thread as usize];
        let entry = t.frames[frame];
        bytes.resize(entry.len as usize, 0);
        let opened;
        let file = match &t.file {
            Some(file) => file,
            None => {
                opened = self.store.open(&t.name).map_err(|e| files::io_error(&t.name, e))?;
                &opened
            }
        };
        files::read_fully(&**file, &t.name, entry.offset, bytes)?;
        f(bytes).map_err(|fault| fault.into_error(&t.name, entry.offset, FRAME_VERSION.into()))
    }

    /// Dataset-wide ids of a decoded frame's program counters, in the order of [`DecodedFrame::pcs`], into `out`.
    pub fn map_sites(&self, frame: &DecodedFrame, out: &mut Vec<u32>) -> Result<(), TraceError> {
        let process = self.manifest.threads[frame.thread as usize].process;
        out.clear();
        for &pc in &frame.pcs {
            match self.symbols.site_id(process, pc) {
                Some(SiteId(id)) => out.push(id),
                None => {
                    let what = format!("no site for program counter {pc:#x} of process {process}");
                    return Err(TraceError::Damaged { name: Symbols::FILE.into(), offset: 0, what });
                }
            }
        }
        Ok(())
    }

    /// Address space of a thread.
    pub fn address_space(&self, thread: u32) -> u32 {
        self.manifest.processes[self.manifest.threads[thread as usize].process as usize].address_space
    }

    /// Memory that its processes share.
    pub fn shared(&self) -> &Shared {
        &self.shared
    }
    /// Where the memory lies that a thread refers to.
    pub(crate) fn view(&self, thread: u32) -> View<'_> {
        self.shared.view(self.address_space(thread))
    }

    /// Sites without names, from the key tables of all frames and the stacks of allocations.
    fn bare_symbols(&self) -> Result<Symbols, TraceError> {
        let mut pairs = std::collections::BTreeSet::new();
        let (mut bytes, mut frame) = (Vec::new(), DecodedFrame::default());
        for t in 0..self.threads() {
            let process = self.manifest.threads[t as usize].process;
            for i in 0..self.frames(t).len() {
                self.with_frame(t, i, &mut bytes, |b| frame_sites(b, &mut frame))?;
                pairs.extend(frame.pcs.iter().map(|&pc| (process, pc)));
            }
        }
        for e in &self.events {
            if let crate::EventKind::Alloc { stack, .. } = &e.kind {
                let process = self.manifest.threads[e.thread as usize].process;
                pairs.extend(stack.iter().map(|&pc| (process, pc)));
            }
        }
        let sites = pairs.into_iter().map(|(process, pc)| Site { process, pc, ..Site::default() }).collect();
        let notes = vec!["the dataset has no symbols.json: code locations are bare addresses".to_owned()];
        Ok(Symbols { sites, notes, ..Symbols::default() })
    }
}

fn open_thread(store: &dyn Store, manifest: &Manifest, thread: u32) -> Result<ThreadFile, TraceError> {
    let name = frames_file(thread);
    let announced = manifest.threads[thread as usize].refs;
    let Some(file) = files::open_optional(store, &name)? else {
        if announced > 0 {
            return Err(TraceError::Manifest(format!(
                "thread {thread} has {announced} references but {name} is missing"
            )));
        }
        return Ok(ThreadFile { name, file: None, frames: Vec::new(), refs: 0 });
    };
    let scan = scan_frames(&*file, &name, thread)?;
    if let Some(fault) = scan.torn {
        return Err(fault);
    }
    validate::samples(manifest, &name, &scan.frames)?;
    let refs = scan.frames.last().map_or(0, |f| f.first_ref + u64::from(f.refs));
    let file = (thread < KEPT_OPEN).then_some(file);
    Ok(ThreadFile { name, file, frames: scan.frames, refs })
}
