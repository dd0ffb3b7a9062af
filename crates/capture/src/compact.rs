//! Re-encoding a dataset smaller: whole frames joined up to the largest size, zstd instead of LZ4, the same content. A frame with
//! columns that this build does not know stays as it is.
use crate::control::{RINGS, refuse_while_recorded};
use crate::error::CaptureError;
use crate::output::Appender;
use crate::store::{DirStore, THREADS, put_in_place, replace_target, sibling};
use homenode_sys::dir::{self, Dir, hidden};
use homenode_trace::columns::{ALL, Column};
use homenode_trace::dataset::{EVENTS_FILE, EventWalk, MANIFEST_FILE, frames_file, scan_frames};
use homenode_trace::events::CHUNK_EVENTS_MAX;
use homenode_trace::frame::{Batch, DecodedFrame, FRAME_REFS_MAX, FrameEncoder, RawRef, decode_frame};
use homenode_trace::framing::Codec;
use homenode_trace::store::Store;
use homenode_trace::symbols::Symbols;
use homenode_trace::writer::{EventFile, ThreadFile};
use homenode_trace::{DatasetReader, Event, Events, TraceError};
use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// What compacting came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompactSummary {
    /// The compacted dataset.
    pub path: PathBuf,
    /// References in it.
    pub refs: u64,
    /// Bytes before.
    pub bytes_before: u64,
    /// Bytes after.
    pub bytes_after: u64,
}

/// Compacts the dataset at `path`, in place or into the new dataset `out` (which `force` allows to replace). Every new file is
/// read back and compared before it takes the place of an old one, and takes it atomically: interrupted at any moment,
/// the dataset holds the same references and events.
///
/// # Errors
/// [`CaptureError::RecorderAlive`] while it is recorded; [`CaptureError::NotADataset`] if it must be recovered first;
/// [`CaptureError::Trace`] if it is damaged; [`CaptureError::Io`] if the result cannot be written.
pub fn compact(path: &Path, out: Option<&Path>, force: bool) -> Result<CompactSummary, CaptureError> {
    let store = DirStore::open(path)?;
    let dir = Dir::open(path).map_err(CaptureError::io("open", path))?;
    refuse_while_recorded(&dir)?;
    if dir.kind(RINGS).map_err(CaptureError::io("read", path))?.is_some() {
        let why = "its recorder was killed; run `homenode recover` first".to_owned();
        return Err(CaptureError::NotADataset { path: path.to_owned(), why });
    }
    let reader = DatasetReader::open(Arc::new(store.clone()))?;
    let bytes_before = bytes_of(&store)?;
    let refs = (0..reader.threads()).map(|t| reader.refs(t)).sum();
    let target = match out {
        None => {
            rewrite(&reader, &dir)?;
            path.to_owned()
        }
        Some(out) => {
            copy_to(&reader, &dir, out, force)?;
            out.to_owned()
        }
    };
    let bytes_after = bytes_of(&DirStore::open(&target)?)?;
    Ok(CompactSummary { path: target, refs, bytes_before, bytes_after })
}

fn bytes_of(store: &DirStore) -> Result<u64, CaptureError> {
    store.bytes().map_err(CaptureError::io("measure", store.root()))
}

/// Builds the compacted dataset beside its final place and moves it there when it is whole.
fn copy_to(reader: &DatasetReader, from: &Dir, out: &Path, force: bool) -> Result<(), CaptureError> {
    replace_target(out, force)?;
    let place = sibling(out, &format!("compacting-{}", std::process::id()));
    let build = || -> Result<(), CaptureError> {
        let to = dir::make_new(&place).map_err(CaptureError::io("create", &place))?;
        to.make(THREADS).map_err(CaptureError::io("create", &place.join(THREADS)))?;
        for name in [MANIFEST_FILE, Symbols::FILE] {
            copy_file(from, &to, name).map_err(CaptureError::io("copy", &from.path().join(name)))?;
        }
        rewrite(reader, &to)?;
        put_in_place(&place, out)
    };
    let result = build();
    if result.is_err() {
        // Best effort: the error that matters is the first one.
        let _ = fs::remove_dir_all(&place);
    }
    result
}

/// Copies a file if there is one.
fn copy_file(from: &Dir, to: &Dir, name: &str) -> io::Result<()> {
    let mut source = match from.read(name) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    to.replace_with(name, |file| io::copy(&mut source, file).map(drop))
}

/// Writes compacted files into `to`, which may be the directory that is read. Threads are shared among the processors.
fn rewrite(reader: &DatasetReader, to: &Dir) -> Result<(), CaptureError> {
    let next = AtomicU32::new(0);
    let work = || -> Result<(), CaptureError> {
        let mut buffers = Buffers::default();
        loop {
            let thread = next.fetch_add(1, Ordering::Relaxed);
            if thread >= reader.threads() {
                return Ok(());
            }
            if !reader.frames(thread).is_empty() {
                compact_thread(reader, thread, to, &mut buffers)?;
            }
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get()).min(reader.threads().max(1) as usize);
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        handles.into_iter().try_for_each(|h| h.join().expect("the worker returns its errors and does not panic"))
    })?;
    compact_events(reader, to)
}

#[derive(Default)]
struct Buffers {
    encoder: FrameEncoder,
    frame: DecodedFrame,
    other: DecodedFrame,
    bytes: Vec<u8>,
    out: Vec<u8>,
}

fn compact_thread(reader: &DatasetReader, thread: u32, to: &Dir, b: &mut Buffers) -> Result<(), CaptureError> {
    let name = frames_file(thread);
    let path = to.path().join(&name);
    let new = hidden(&name).map_err(CaptureError::io("create", &path))?;
    // A leftover of somebody who was killed.
    let _ = to.remove(&new);
    let result = Appender::open(to, &new, 0).map_err(CaptureError::io("create", &path)).and_then(|file| {
        write_compacted(reader, thread, file, &path, b)?;
        verify(reader, thread, to, &new, b)?;
        to.rename(&new, &name).map_err(CaptureError::io("replace", &path))
    });
    if result.is_err() {
        // Best effort: the error that matters is the first one.
        let _ = to.remove(&new);
    }
    result
}

/// Frames that fit together become one.
fn write_compacted(
    reader: &DatasetReader,
    thread: u32,
    file: Appender,
    path: &Path,
    b: &mut Buffers,
) -> Result<(), CaptureError> {
    let write = |e| CaptureError::io("write", path)(e);
    let mut file = ThreadFile::of(thread, file, 0);
    let mut end = 0;
    file.begin(&mut b.encoder);
    for i in 0..reader.frames(thread).len() {
        reader.read_frame(thread, i, &mut b.bytes, &mut b.frame)?;
        let strange = b.frame.unknown_columns() > 0;
        if !fits(&b.encoder, &b.frame) || (strange && !b.encoder.is_empty()) {
            file.append(&mut b.encoder, (end, Codec::Zstd), 0, &mut b.out).map_err(write)?;
            file.begin(&mut b.encoder);
        }
        if strange {
            file.append_frame(&b.bytes, b.frame.len() as u64).map_err(write)?;
            file.begin(&mut b.encoder);
        } else {
            join(&mut b.encoder, &b.frame, end);
        }
        end = b.frame.end;
    }
    if !b.encoder.is_empty() {
        file.append(&mut b.encoder, (end, Codec::Zstd), 0, &mut b.out).map_err(write)?;
    }
    file.into_file().sync().map_err(write)
}

fn fits(encoder: &FrameEncoder, frame: &DecodedFrame) -> bool {
    // A quarter of the frame for batches: far more than 64 Ki references in batches of 63 need.
    let batches = frame.batches.len() <= FRAME_REFS_MAX / 4;
    encoder.is_empty() || (frame.len() <= encoder.room() && batches)
}

/// Appends a frame to the one being built. Where it does not begin when the one before ended, an empty batch keeps that
/// end.
fn join(encoder: &mut FrameEncoder, frame: &DecodedFrame, end: u64) {
    let begin = frame.batches.first().map_or(0, |b| b.begin);
    if !encoder.is_empty() && begin != end {
        encoder.stamp(end);
    }
    let columns: Vec<(&Column, &[u64])> =
        ALL.iter().map(|c| (*c, frame.column(c))).filter(|(_, values)| !values.is_empty()).collect();
    let mut from = 0;
    for batch in &frame.batches {
        encoder.stamp(batch.begin);
        let to = from + batch.refs as usize;
        let raw = |i: usize| {
            let r = frame.get(i);
            RawRef { addr: r.addr, size: r.size, op: r.op, pc: frame.pcs[r.site as usize] }
        };
        if frame.samples().is_empty() && columns.is_empty() {
            encoder.extend((from..to).map(raw));
        } else {
            for (i, r) in (from..to).zip((from..to).map(raw)) {
                match frame.samples().get(i) {
                    None => encoder.push(r.addr, r.size, r.op, r.pc),
                    Some(sample) => encoder.push_sample(r.addr, r.size, r.op, r.pc, sample),
                };
                columns.iter().filter(|(_, values)| values[i] != 0).for_each(|(column, values)| {
                    encoder.put(column, values[i]);
                });
            }
        }
        from = to;
    }
}

/// Compares the new file with the old frames, reference by reference and batch by batch.
fn verify(reader: &DatasetReader, thread: u32, to: &Dir, name: &str, b: &mut Buffers) -> Result<(), CaptureError> {
    let io = |source| TraceError::Io { name: name.to_owned(), source };
    let file = DirStore::of(to).open(name).map_err(io)?;
    let differs = |what: &str| TraceError::Damaged { name: name.to_owned(), offset: 0, what: what.to_owned() };
    let (mut old, mut used, mut bytes) = (0, 0, Vec::new());
    b.frame = DecodedFrame::default();
    for entry in scan_frames(&*file, name, thread)?.frames {
        bytes.resize(entry.len as usize, 0);
        file.read_at(entry.offset, &mut bytes).map_err(io)?;
        decode_frame(&bytes, &mut b.other).map_err(|_| differs("what was written does not decode"))?;
        let mut at = 0;
        let mut batches = Spans::default();
        while at < b.other.len() {
            if used == b.frame.len() {
                reader.read_frame(thread, old, &mut b.bytes, &mut b.frame)?;
                (old, used) = (old + 1, 0);
                batches.add(&b.frame);
                continue;
            }
            let n = (b.other.len() - at).min(b.frame.len() - used);
            let columns = ALL.iter().all(|c| same_column(b.other.column(c), at, b.frame.column(c), used, n));
            if !columns || !(0..n).all(|i| same(&b.other, at + i, &b.frame, used + i)) {
                return Err(differs("the references written differ from those read").into());
            }
            (at, used) = (at + n, used + n);
        }
        let mut written = Spans::default();
        written.add(&b.other);
        if used != b.frame.len() || written != batches {
            return Err(differs("the batches written differ from those read").into());
        }
    }
    let rest: u64 = reader.frames(thread)[old..].iter().map(|f| u64::from(f.refs)).sum();
    if rest == 0 { Ok(()) } else { Err(differs("references are missing").into()) }
}

fn same(a: &DecodedFrame, i: usize, b: &DecodedFrame, j: usize) -> bool {
    let (r, s) = (a.get(i), b.get(j));
    let site = a.pcs[r.site as usize] == b.pcs[s.site as usize];
    site && (r.addr, r.size, r.op) == (s.addr, s.size, s.op) && a.samples().get(i) == b.samples().get(j)
}

/// Whether `n` values from these places on are the same; a column that is not there is one of zeros.
fn same_column(a: &[u64], i: usize, b: &[u64], j: usize, n: usize) -> bool {
    let value = |of: &[u64], at: usize| of.get(at).copied().unwrap_or(0);
    (a.is_empty() && b.is_empty()) || (0..n).all(|k| value(a, i + k) == value(b, j + k))
}

/// Batches that hold references, as (references, begin, end).
#[derive(Debug, Default, PartialEq, Eq)]
struct Spans(Vec<(u32, u64, u64)>);

impl Spans {
    fn add(&mut self, frame: &DecodedFrame) {
        let ends = frame.batches.iter().skip(1).map(|b| b.begin).chain([frame.end]);
        let spans = frame.batches.iter().zip(ends).filter(|(b, _)| b.refs > 0);
        self.0.extend(spans.map(|(&Batch { refs, begin }, end)| (refs, begin, end)));
    }
}

/// The events once more, in few chunks.
fn compact_events(reader: &DatasetReader, to: &Dir) -> Result<(), CaptureError> {
    let events = reader.events();
    if events.is_empty() {
        return Ok(());
    }
    let mut new = EventFile::of(Vec::new(), 0, Codec::Zstd);
    let mut walk = events.iter();
    loop {
        let some: Vec<Event> = walk.by_ref().take(CHUNK_EVENTS_MAX).map(Cow::into_owned).collect();
        if some.is_empty() {
            break;
        }
        new.append(&some).map_err(|source| TraceError::Io { name: EVENTS_FILE.to_owned(), source })?;
    }
    let new = new.into_file();
    if !same_events(&new, events).unwrap_or(false) {
        let what = "the events written differ from those read".to_owned();
        return Err(TraceError::Damaged { name: EVENTS_FILE.into(), offset: 0, what }.into());
    }
    to.replace(EVENTS_FILE, &new).map_err(CaptureError::io("write", &to.path().join(EVENTS_FILE)))
}

fn same_events(bytes: &[u8], events: &Events) -> Result<bool, TraceError> {
    let (mut walk, mut expected, mut chunk) = (EventWalk::new(&bytes, EVENTS_FILE), events.iter(), Vec::new());
    while walk.next(&mut chunk)? {
        if !chunk.drain(..).all(|e| expected.next().is_some_and(|x| *x == e)) {
            return Ok(false);
        }
    }
    Ok(expected.next().is_none())
}
