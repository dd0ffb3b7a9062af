//! The good part of the files of a dataset; what is damaged is put aside and cut off.
use crate::error::CaptureError;
use crate::facts::Counts;
use crate::store::{DirStore, THREADS, replace_file};
use homenode_base::ring::RINGS_MAX;
use homenode_trace::dataset::{EVENTS_FILE, frames_file, scan_events, scan_frames};
use homenode_trace::events::EventEncoder;
use homenode_trace::frame::{DecodedFrame, decode_frame};
use homenode_trace::framing::Codec;
use homenode_trace::record::Op;
use homenode_trace::store::Store;
use homenode_trace::{Event, TraceError};
use std::fs;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Where damaged ends of files are put.
const DAMAGED: &str = ".damaged";

/// The good part of one thread's file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KeptThread {
    pub(super) bytes: u64,
    pub(super) refs: u64,
    pub(super) spins: u64,
    pub(super) events: u64,
    /// Stamp at the end of the last frame.
    pub(super) end: u64,
}

/// The good part of all files.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) threads: Vec<KeptThread>,
    pub(super) events: Vec<Event>,
    pub(super) event_bytes: u64,
    pub(super) cut_bytes: u64,
    pub(super) notes: Vec<String>,
}

impl Kept {
    pub(super) fn counts(&self) -> Vec<Counts> {
        let count = |t: &KeptThread| Counts { refs: t.refs, spins: t.spins, events: t.events };
        self.threads.iter().map(count).collect()
    }
}

/// Finds the good part of every file and cuts off the rest, keeping a copy of it.
pub(super) fn keep_good(root: &Path) -> Result<Kept, CaptureError> {
    let store = DirStore::at(root);
    let mut kept = Kept::default();
    let names = store.names().map_err(CaptureError::io("list", root))?;
    let threads = names.iter().filter_map(|n| thread_of(n)).max().map_or(0, |last| last as usize + 1);
    for thread in 0..threads as u32 {
        let name = frames_file(thread);
        let Some((good, len)) = good_frames(&store, &name, thread)? else {
            kept.threads.push(KeptThread::default());
            continue;
        };
        cut(root, &name, good.bytes, len, &mut kept)?;
        kept.threads.push(good);
    }
    keep_events(root, &store, &mut kept)?;
    Ok(kept)
}

/// Whether the files of the first `threads` threads have nothing damaged in them.
pub(super) fn all_good(root: &Path, threads: usize) -> bool {
    let store = DirStore::at(root);
    let frames_good = (0..threads as u32).all(|thread| match good_frames(&store, &frames_file(thread), thread) {
        Ok(Some((good, len))) => good.bytes == len,
        Ok(None) => true,
        Err(_) => false,
    });
    let events = fs::read(root.join(EVENTS_FILE)).unwrap_or_default();
    frames_good && scan_events(&events).2.is_none()
}

fn thread_of(name: &str) -> Option<u32> {
    let number = name.strip_prefix(THREADS)?.strip_prefix('/')?.strip_suffix(".frames")?;
    number.parse().ok().filter(|&n| n < RINGS_MAX)
}

/// Decodes frame after frame; the good part and the length of the file, `None` if there is no file.
fn good_frames(store: &DirStore, name: &str, thread: u32) -> Result<Option<(KeptThread, u64)>, CaptureError> {
    let io = |source| TraceError::Io { name: name.to_owned(), source };
    let file = match store.open(name) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(io(e).into()),
    };
    let len = file.len().map_err(io)?;
    let (mut good, mut bytes, mut frame) = (KeptThread::default(), Vec::new(), DecodedFrame::default());
    for entry in scan_frames(&*file, name, thread)?.frames {
        bytes.resize(entry.len as usize, 0);
        let read = file.read_at(entry.offset, &mut bytes).map_err(io)?;
        if read < bytes.len() || decode_frame(&bytes, &mut frame).is_err() {
            break;
        }
        good.bytes = entry.offset + u64::from(entry.len);
        good.refs += frame.len() as u64;
        good.spins += (0..frame.len()).filter(|&i| frame.get(i).op == Op::Spin).count() as u64;
        good.end = frame.end;
    }
    Ok(Some((good, len)))
}

/// Cuts a file to its good part after copying the rest to `.damaged`.
fn cut(root: &Path, name: &str, good: u64, len: u64, kept: &mut Kept) -> Result<(), CaptureError> {
    if good >= len {
        return Ok(());
    }
    let path = root.join(name);
    let aside = root.join(DAMAGED).join(format!("{}@{good}", name.replace('/', "-")));
    let set_aside = || -> std::io::Result<()> {
        fs::create_dir_all(root.join(DAMAGED))?;
        let mut file = fs::File::options().read(true).write(true).open(&path)?;
        file.seek(SeekFrom::Start(good))?;
        let mut copy = fs::File::create(&aside)?;
        std::io::copy(&mut (&mut file).take(len - good), &mut copy)?;
        copy.flush()?;
        copy.sync_all()?;
        file.set_len(good)
    };
    set_aside().map_err(CaptureError::io("cut the damaged end off", &path))?;
    kept.cut_bytes += len - good;
    kept.notes.push(format!("{name} was damaged from byte {good} on; {} bytes were moved to {DAMAGED}", len - good));
    Ok(())
}

/// Keeps the good events. Events that stand after the last kept reference of their thread go too, and then the file is
/// written anew.
fn keep_events(root: &Path, store: &DirStore, kept: &mut Kept) -> Result<(), CaptureError> {
    let path = root.join(EVENTS_FILE);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(CaptureError::io("read", store.root())(e)),
    };
    let (mut events, good, fault) = scan_events(&bytes);
    if let Some(newer @ TraceError::Newer { .. }) = fault {
        return Err(newer.into());
    }
    cut(root, EVENTS_FILE, good as u64, bytes.len() as u64, kept)?;
    kept.event_bytes = good as u64;
    // A thread may have events and no file of references, if it never made one.
    let threads = events.iter().map(|e| e.thread).filter(|&t| t < RINGS_MAX).max().map_or(0, |t| t as usize + 1);
    kept.threads.resize(kept.threads.len().max(threads), KeptThread::default());
    let before = events.len();
    events.retain(|e| kept.threads.get(e.thread as usize).is_some_and(|t| e.at <= t.refs));
    if events.len() < before {
        let lost = before - events.len();
        kept.notes.push(format!("{lost} events stood behind references that are lost, and were left out"));
        let mut out = Vec::new();
        EventEncoder::default().encode(0, &events, Codec::Lz4, &mut out);
        replace_file(&path, &out).map_err(CaptureError::io("write", &path))?;
        kept.event_bytes = out.len() as u64;
    }
    events.iter().for_each(|e| kept.threads[e.thread as usize].events += 1);
    kept.events = events;
    Ok(())
}
