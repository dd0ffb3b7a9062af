//! The program counters that a dataset mentions, found frame by frame and chunk by chunk: a recording may hold more events than
//! fit the recorder's memory limit.
use homenode_openmp::Construct;
use homenode_trace::dataset::{EVENTS_FILE, frames_file, scan_frames};
use homenode_trace::events::decode_chunk;
use homenode_trace::frame::{DecodedFrame, frame_sites};
use homenode_trace::framing::{FRAME_VERSION, HEADER_BYTES, Header, Kind};
use homenode_trace::manifest::Thread;
use homenode_trace::store::{ReadAt, Store};
use homenode_trace::{EventKind, Fault, TraceError};
use std::collections::BTreeSet;
use std::io::{self, ErrorKind};

/// The code locations of a dataset as (process, program counter).
#[derive(Clone, Debug, Default)]
pub(crate) struct Sites {
    /// Code locations of references and of allocation stacks, sorted.
    pub(crate) all: Vec<(u32, u64)>,
    /// Code locations of allocation stacks.
    pub(crate) allocating: Set,
    /// Code locations that ask how many threads there are, or which one this is.
    pub(crate) asking: Set,
}

/// Every code location of the dataset.
pub(crate) fn all_sites(store: &dyn Store, threads: &[Thread]) -> Result<Sites, TraceError> {
    let (mut sites, mut of_events) = (Set::new(), OfEvents::default());
    for (thread, t) in (0u32..).zip(threads) {
        of_references(store, thread, t.process, &mut sites)?;
    }
    of_events.read(store, threads)?;
    let OfEvents { allocating, asking, constructs } = of_events;
    sites.extend(allocating.iter().chain(&constructs));
    Ok(Sites { all: sites.into_iter().collect(), allocating, asking })
}

type Set = BTreeSet<(u32, u64)>;

fn of_references(store: &dyn Store, thread: u32, process: u32, sites: &mut Set) -> Result<(), TraceError> {
    let name = frames_file(thread);
    let Some(file) = opened(store, &name)? else { return Ok(()) };
    let (mut bytes, mut frame) = (Vec::new(), DecodedFrame::default());
    for entry in scan_frames(&*file, &name, thread)?.frames {
        bytes.resize(entry.len as usize, 0);
        file.read_at(entry.offset, &mut bytes).map_err(io_error(&name))?;
        frame_sites(&bytes, &mut frame).map_err(damage(&name, entry.offset))?;
        sites.extend(frame.pcs.iter().map(|&pc| (process, pc)));
    }
    Ok(())
}

/// Code locations that events mention.
#[derive(Default)]
struct OfEvents {
    allocating: Set,
    asking: Set,
    /// Of OpenMP's constructs.
    constructs: Set,
}

impl OfEvents {
    fn read(&mut self, store: &dyn Store, threads: &[Thread]) -> Result<(), TraceError> {
        let Some(file) = opened(store, EVENTS_FILE)? else { return Ok(()) };
        let (mut at, mut bytes, mut scratch, mut events) = (0, Vec::new(), Vec::new(), Vec::new());
        loop {
            bytes.resize(HEADER_BYTES, 0);
            let read = file.read_at(at, &mut bytes).map_err(io_error(EVENTS_FILE))?;
            if read == 0 {
                return Ok(());
            }
            let header = Header::parse(&bytes[..read], Kind::Events).map_err(damage(EVENTS_FILE, at))?;
            bytes.resize(header.total_len(), 0);
            let read = file.read_at(at, &mut bytes).map_err(io_error(EVENTS_FILE))?;
            events.clear();
            decode_chunk(&bytes[..read], &mut scratch, &mut events).map_err(damage(EVENTS_FILE, at))?;
            for event in &events {
                if let Some(t) = threads.get(event.thread as usize) {
                    self.event(&event.kind, t.process);
                }
            }
            at += bytes.len() as u64;
        }
    }

    fn event(&mut self, kind: &EventKind, process: u32) {
        match kind {
            EventKind::Alloc { stack, .. } => self.allocating.extend(stack.iter().map(|&pc| (process, pc))),
            EventKind::PhaseBegin { name } => {
                let Some(construct) = Construct::of(name) else { return };
                self.constructs.extend(construct.pcs().map(|pc| (process, pc)));
                if construct.other.is_some() {
                    self.asking.extend(construct.pcs().map(|pc| (process, pc)));
                }
            }
            _ => {}
        }
    }
}

fn opened(store: &dyn Store, name: &str) -> Result<Option<std::sync::Arc<dyn ReadAt>>, TraceError> {
    match store.open(name) {
        Ok(file) => Ok(Some(file)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(io_error(name)(e)),
    }
}

fn io_error(name: &str) -> impl Fn(io::Error) -> TraceError {
    move |source| TraceError::Io { name: name.to_owned(), source }
}

fn damage(name: &str, offset: u64) -> impl Fn(Fault) -> TraceError {
    move |fault| fault.into_error(name, offset, FRAME_VERSION.into())
}
