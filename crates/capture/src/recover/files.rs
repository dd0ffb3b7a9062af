//! What the files of a dataset still hold. What is damaged is put aside; where that changes the ordinals of what follows, or
//! where a file has another name elsewhere, the file is written anew and the new one takes its place ([`super::swap`]).
use super::aside::{self, DAMAGED};
use super::salvage::{Salvage, salvage};
use super::swap::Swap;
use crate::error::CaptureError;
use crate::store::{DirStore, THREADS};
use homenode_base::ring::RINGS_MAX;
use homenode_sys::dir::{Dir, Kind as FileKind};
use homenode_trace::dataset::{EVENTS_FILE, EventWalk, frames_file, scan_frames};
use homenode_trace::events::decode_chunk;
use homenode_trace::frame::{DecodedFrame, decode_frame};
use homenode_trace::framing::{Codec, Kind};
use homenode_trace::record::Op;
use homenode_trace::store::Store;
use homenode_trace::writer::{Counts, EventFile};
use homenode_trace::{Event, EventKind, TraceError};
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

/// What is kept of one thread's file.
#[derive(Clone, Debug, Default)]
pub(super) struct KeptThread {
    pub(super) bytes: u64,
    pub(super) refs: u64,
    pub(super) spins: u64,
    pub(super) events: u64,
    /// Stamp at the end of the last frame.
    pub(super) end: u64,
    /// Stretches of references that are lost, as (ordinal of the first, how many), in the numbers of the recording.
    pub(super) lost: Vec<(u64, u64)>,
}

impl KeptThread {
    /// References lost before the last one kept.
    pub(super) fn lost_refs(&self) -> u64 {
        self.lost.iter().map(|l| l.1).sum()
    }
    /// Where something that stood behind `at` references of the recording stands among those kept.
    fn moved(&self, at: u64) -> u64 {
        let before = |&(first, count): &(u64, u64)| at.saturating_sub(first).min(count);
        at - self.lost.iter().map(before).sum::<u64>()
    }
}

/// What is kept of all files.
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

/// Finds everything whole in every file and puts the rest aside. `known` says whether the manifest is of a version that this
/// program knows: a frame of a newer one is then damage.
pub(super) fn keep_good(root: &Dir, known: bool) -> Result<Kept, CaptureError> {
    let store = DirStore::of(root);
    let mut kept = Kept::default();
    let mut swap = Swap::begin(root)?;
    let names = store.names().map_err(CaptureError::io("list", root.path()))?;
    let odd = aside::odd_files(root).map_err(CaptureError::io("put aside what is no file in", root.path()))?;
    kept.notes.extend(odd.iter().map(|name| {
        format!("{name} was not what it should be (a link, a device, a folder) and was moved to {DAMAGED}")
    }));
    let threads = names.iter().filter_map(|n| thread_of(n)).max().map_or(0, |last| last as usize + 1);
    for thread in 0..threads as u32 {
        let good = keep_thread(root, &store, thread, known, &mut swap, &mut kept)?;
        kept.threads.push(good);
    }
    keep_events(root, &store, known, &mut swap, &mut kept)?;
    swap.commit()?;
    Ok(kept)
}

/// Whether the files of the first `threads` threads have nothing damaged in them.
pub(super) fn all_good(root: &Dir, threads: usize) -> bool {
    let store = DirStore::of(root);
    let frames_good = (0..threads as u32).all(|thread| match good_frames(&store, thread) {
        Ok(Some((_, found))) => found.damaged.is_empty(),
        Ok(None) => true,
        Err(_) => false,
    });
    // The events were read when the dataset was opened.
    frames_good
}

fn thread_of(name: &str) -> Option<u32> {
    let number = name.strip_prefix(THREADS)?.strip_prefix('/')?.strip_suffix(".frames")?;
    number.parse().ok().filter(|&n| n < RINGS_MAX)
}

fn read_error(name: &str) -> impl FnOnce(io::Error) -> TraceError {
    |source| TraceError::Io { name: name.to_owned(), source }
}

/// Decodes every frame of a thread that is whole; `None` if it has no file.
fn good_frames(store: &DirStore, thread: u32) -> Result<Option<(KeptThread, Salvage)>, CaptureError> {
    let name = frames_file(thread);
    let file = match store.open(&name) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(read_error(&name)(e).into()),
    };
    let (mut good, mut frame) = (KeptThread::default(), DecodedFrame::default());
    let mut next = 0;
    let found = salvage(&*file, &name, (Kind::Refs, thread), &mut |header, bytes| {
        if decode_frame(bytes, &mut frame).is_err() {
            return false;
        }
        if header.first > next {
            good.lost.push((next, header.first - next));
        }
        next = header.first + u64::from(header.count);
        good.bytes += bytes.len() as u64;
        good.refs += frame.len() as u64;
        good.spins += (0..frame.len()).filter(|&i| frame.get(i).op == Op::Spin).count() as u64;
        good.end = frame.end;
        true
    })?;
    Ok(Some((good, found)))
}

fn keep_thread(
    root: &Dir,
    store: &DirStore,
    thread: u32,
    known: bool,
    swap: &mut Swap,
    kept: &mut Kept,
) -> Result<KeptThread, CaptureError> {
    let name = frames_file(thread);
    let Some((good, found)) = good_frames(store, thread)? else { return Ok(KeptThread::default()) };
    if !known {
        // A newer version is an error here: this program would destroy what it does not know.
        scan_frames(&*store.open(&name).map_err(read_error(&name))?, &name, thread)?;
    }
    set_aside(root, &name, &found, kept)?;
    let lost = good.lost_refs();
    if lost > 0 {
        kept.notes.push(format!("{lost} references of thread {thread} are lost in the midst of its file"));
    }
    if lost == 0 && is_prefix(&found) && is_ours(root, &name)? {
        return cut(root, &name, good.bytes).map(|()| good);
    }
    let old = root.read(&name).map_err(read_error(&name))?;
    swap.add(&name, |new| {
        let (mut at, mut next, mut bytes) = (0, 0, Vec::new());
        for whole in &found.whole {
            bytes.resize(whole.header.total_len(), 0);
            old.read_exact_at(&mut bytes, whole.offset)?;
            whole.header.renumber(&mut bytes, next);
            new.write_all_at(&bytes, at)?;
            (at, next) = (at + bytes.len() as u64, next + u64::from(whole.header.count));
        }
        Ok(())
    })?;
    Ok(good)
}

/// Whether what is whole is the beginning of the file.
fn is_prefix(found: &Salvage) -> bool {
    let good: u64 = found.whole.iter().map(|w| w.header.total_len() as u64).sum();
    found.damaged.iter().all(|d| d.0 >= good)
}

/// Whether a file has no other name, so that it may be cut and appended to.
fn is_ours(root: &Dir, name: &str) -> Result<bool, CaptureError> {
    let meta = root.read(name).and_then(|f| f.metadata()).map_err(read_error(name))?;
    Ok(meta.nlink() == 1)
}

/// Cuts a file to its good part.
fn cut(root: &Dir, name: &str, good: u64) -> Result<(), CaptureError> {
    let shorten = || -> io::Result<()> {
        match root.kind(name)? {
            Some(FileKind::File(len)) if len > good => root.write(name)?.set_len(good),
            _ => Ok(()),
        }
    };
    shorten().map_err(CaptureError::io("cut the damaged end off", &root.path().join(name)))
}

/// Copies the damaged stretches of a file to `.damaged`.
fn set_aside(root: &Dir, name: &str, found: &Salvage, kept: &mut Kept) -> Result<(), CaptureError> {
    if found.damaged.is_empty() {
        return Ok(());
    }
    let copy = || -> io::Result<()> {
        let file: File = root.read(name)?;
        found.damaged.iter().try_for_each(|&(at, bytes)| aside::copy(root, name, &file, at, bytes))
    };
    copy().map_err(CaptureError::io("put aside what is damaged of", &root.path().join(name)))?;
    let (places, bytes, from) = (found.damaged.len(), found.damaged_bytes(), found.damaged[0].0);
    kept.cut_bytes += bytes;
    kept.notes.push(match places {
        1 if is_prefix(found) => {
            format!("{name} was damaged from byte {from} on; {bytes} bytes were moved to {DAMAGED}")
        }
        1 => format!("{name} was damaged at byte {from}; {bytes} bytes were moved to {DAMAGED}"),
        n => format!("{name} was damaged in {n} places from byte {from} on; {bytes} bytes were moved to {DAMAGED}"),
    });
    Ok(())
}

/// Keeps the good events, moved to where they stand among the references that are left. Events behind the last reference
/// of their thread go.
fn keep_events(
    root: &Dir,
    store: &DirStore,
    known: bool,
    swap: &mut Swap,
    kept: &mut Kept,
) -> Result<(), CaptureError> {
    let file = match store.open(EVENTS_FILE) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(read_error(EVENTS_FILE)(e).into()),
    };
    if !known && let Err(newer @ TraceError::Newer { .. }) = EventWalk::new(&*file, EVENTS_FILE).next(&mut Vec::new()) {
        return Err(newer.into());
    }
    let (mut events, mut scratch, mut next, mut lost) = (Vec::new(), Vec::new(), 0, 0);
    let found = salvage(&*file, EVENTS_FILE, (Kind::Events, u32::MAX), &mut |header, bytes| {
        let before = events.len();
        if decode_chunk(bytes, &mut scratch, &mut events).is_err() {
            events.truncate(before);
            return false;
        }
        lost += header.first - next;
        next = header.first + u64::from(header.count);
        true
    })?;
    set_aside(root, EVENTS_FILE, &found, kept)?;
    if lost > 0 {
        kept.notes
            .push(format!("{lost} events are lost in the midst of {EVENTS_FILE}: order and objects may lack parts"));
    }
    kept.event_bytes = found.whole.iter().map(|w| w.header.total_len() as u64).sum();
    let changed = fit(&mut events, kept) || lost > 0;
    if changed || !is_prefix(&found) || !is_ours(root, EVENTS_FILE)? {
        let mut file = EventFile::of(Vec::new(), 0, Codec::Lz4);
        file.append(&events).map_err(read_error(EVENTS_FILE))?;
        let out = file.into_file();
        swap.add(EVENTS_FILE, |new| new.write_all_at(&out, 0))?;
        kept.event_bytes = out.len() as u64;
    } else {
        cut(root, EVENTS_FILE, kept.event_bytes)?;
    }
    events.iter().for_each(|e| kept.threads[e.thread as usize].events += 1);
    kept.events = events;
    Ok(())
}

/// Makes the events fit the references that are left; whether any had to be changed.
fn fit(events: &mut Vec<Event>, kept: &mut Kept) -> bool {
    // A thread may have events and no file of references, if it never made one, or be known from its creation alone.
    let named = |e: &Event| match e.kind {
        EventKind::Spawn { child } | EventKind::Affinity { target: child, .. } if child < RINGS_MAX => {
            e.thread.max(child)
        }
        _ => e.thread,
    };
    let threads = events.iter().filter(|e| e.thread < RINGS_MAX).map(named).max().map_or(0, |t| t as usize + 1);
    kept.threads.resize(kept.threads.len().max(threads), KeptThread::default());
    let (before, mut moved) = (events.len(), false);
    let mut floors = vec![0; kept.threads.len()];
    let mut open: Vec<Vec<String>> = vec![Vec::new(); kept.threads.len()];
    events.retain_mut(|e| {
        let Some(thread) = kept.threads.get(e.thread as usize) else { return false };
        let (at, floor, open) = (thread.moved(e.at), &mut floors[e.thread as usize], &mut open[e.thread as usize]);
        moved |= at != e.at;
        e.at = at;
        if at > thread.refs || at < *floor {
            return false;
        }
        let keep = match &e.kind {
            EventKind::Spawn { child } | EventKind::Affinity { target: child, .. } => *child < RINGS_MAX,
            EventKind::PhaseBegin { name } => {
                open.push(name.clone());
                true
            }
            // Its beginning is lost.
            EventKind::PhaseEnd { name } => open.iter().rposition(|n| n == name).map(|i| open.remove(i)).is_some(),
            _ => true,
        };
        *floor = at;
        keep
    });
    let gone = before - events.len();
    if gone > 0 {
        kept.notes.push(format!("{gone} events stood behind references that are lost, and were left out"));
    }
    moved || gone > 0
}
