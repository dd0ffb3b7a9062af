//! Making a usable dataset of what a crash left behind: frames and events up to the last good ones, then what the rings
//! still hold.
mod aside;
mod files;
mod rings;
mod salvage;
mod swap;

use crate::control::{self, Control, Entry, RINGS, remove_old_rings, remove_rings};
use crate::error::CaptureError;
use crate::facts::{Facts, Tables};
use crate::finish;
use crate::manifest;
use crate::store::{DirStore, THREADS};
use files::Kept;
use homenode_base::ring::{RINGS_MAX, STOP_LIMIT, STOP_USER, STOP_WRITE_FAILED};
use homenode_sys::dir::{Dir, Kind};
use homenode_trace::dataset;
use homenode_trace::manifest::Process;
use homenode_trace::writer::Counts;
use homenode_trace::{DatasetReader, Event, EventKind, Manifest};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a recovery came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoverSummary {
    /// The dataset.
    pub path: PathBuf,
    /// Whether anything had to be done.
    pub changed: bool,
    /// References in the dataset now.
    pub refs: u64,
    /// Of these, how many came out of the rings.
    pub refs_from_rings: u64,
    /// Events in the dataset now.
    pub events: u64,
    /// Threads.
    pub threads: u32,
    /// Damaged bytes that were taken out of files; they are kept in `.damaged` inside the dataset.
    pub cut_bytes: u64,
    /// What was lost, in sentences.
    pub notes: Vec<String>,
}

/// Recovers the dataset at `path` in place. Running it again, also after it was itself interrupted, is harmless; a dataset
/// that was finished in order is not touched.
///
/// # Errors
/// [`CaptureError::RecorderAlive`] while it is being recorded, [`CaptureError::NotADataset`] if there is nothing to recover,
/// [`CaptureError::Io`] if the dataset cannot be written.
pub fn recover(path: &Path) -> Result<RecoverSummary, CaptureError> {
    let root = &match Dir::open(path) {
        Ok(root) => root,
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            let why = "there is no such directory".to_owned();
            return Err(CaptureError::NotADataset { path: path.to_owned(), why });
        }
        Err(e) => return Err(CaptureError::io("open", path)(e)),
    };
    let control = Control::adopt(root)?;
    let old = read_manifest(root)?;
    if control.is_none() && old.is_none() && !matches!(root.kind(THREADS), Ok(Some(Kind::Directory))) {
        let why = "it has neither manifest.json nor threads nor rings".to_owned();
        return Err(CaptureError::NotADataset { path: path.to_owned(), why });
    }
    remove_old_rings(root)?;
    if control.is_none()
        && let Some(summary) = old.as_ref().and_then(|m| untouched(root, m))
    {
        return Ok(summary);
    }
    let lost_rings = if control.is_none() { control::lost_rings(root) } else { None };
    let mut kept = files::keep_good(root, old.is_some())?;
    kept.notes.extend(lost_rings);
    let facts = Facts::default();
    kept.events.iter().for_each(|e| facts.see(e));
    let mut summary = RecoverSummary { path: path.to_owned(), changed: true, ..RecoverSummary::default() };
    if let Some(old) = old.as_ref().filter(|m| control.is_none() && m.is_settled()) {
        // Threads of which nothing is left are still known.
        kept.threads
            .resize(kept.threads.len().max(old.threads.len().min(RINGS_MAX as usize)), files::KeptThread::default());
    }
    let counts = match &control {
        Some(control) => {
            let sampled = old.as_ref().is_some_and(|m| m.sampling.is_some());
            rings::drain(root, control, sampled, &mut kept, &facts, &mut summary)?
        }
        None => kept.counts(),
    };
    let tables = tables(control.as_ref(), old.as_ref(), &facts, &kept, &counts);
    write_dataset(root, old, control.as_ref(), tables, &kept, &mut summary)?;
    Ok(summary)
}

/// The manifest, if there is one that can be understood. One of a newer version is an error: this program would destroy it.
fn read_manifest(root: &Dir) -> Result<Option<Manifest>, CaptureError> {
    match dataset::read_manifest(&DirStore::of(root)) {
        Ok(manifest) => Ok(Some(manifest)),
        Err(newer @ homenode_trace::TraceError::Newer { .. }) => Err(newer.into()),
        Err(_) => Ok(None),
    }
}

/// The summary of a dataset that needs nothing: it can be read and holds what its manifest counts.
fn untouched(root: &Dir, manifest: &Manifest) -> Option<RecoverSummary> {
    DatasetReader::open(Arc::new(DirStore::of(root))).ok()?;
    files::all_good(root, manifest.threads.len()).then(|| RecoverSummary {
        path: root.path().to_owned(),
        refs: manifest.threads.iter().map(|t| t.refs).sum(),
        events: manifest.threads.iter().map(|t| t.events).sum(),
        threads: manifest.threads.len() as u32,
        ..RecoverSummary::default()
    })
}

/// Process and thread tables: from the ring table if it is there, else from the manifest if that has them, else from the
/// events.
fn tables(control: Option<&Control>, old: Option<&Manifest>, facts: &Facts, kept: &Kept, counts: &[Counts]) -> Tables {
    if let Some(control) = control {
        return facts
            .tables(|thread| if thread < RINGS_MAX { control.entry(thread) } else { Entry::default() }, counts);
    }
    let from_events = entries_of(&kept.events, counts.len());
    let mut tables = facts.tables(|thread| from_events[thread as usize], counts);
    if let Some(old) = old.filter(|m| m.threads.len() == counts.len() && !m.processes.is_empty()) {
        tables.processes.clone_from(&old.processes);
        tables.modules.resize(old.processes.len(), Vec::new());
        for (new, old) in tables.threads.iter_mut().zip(&old.threads) {
            (new.process, new.tid, new.parent) = (old.process, old.tid, old.parent);
        }
    }
    tables
}

/// What the ring table would say, as far as the events know it: a thread is in its creator's process unless it began one.
fn entries_of(events: &[Event], threads: usize) -> Vec<Entry> {
    let mut entries = vec![Entry::default(); threads];
    for event in events {
        match &event.kind {
            EventKind::Process { pid, .. } => entries[event.thread as usize].pid = *pid,
            EventKind::Spawn { child } if (*child as usize) < threads => {
                entries[*child as usize].parent = Some(event.thread);
            }
            _ => {}
        }
    }
    for thread in 0..threads {
        // Creators have lower numbers than what they create, so theirs is known already.
        let parent = entries[thread].parent.filter(|&p| (p as usize) < thread);
        if let Some(parent) = parent.filter(|_| entries[thread].pid == 0) {
            entries[thread].pid = entries[parent as usize].pid;
        }
    }
    entries
}

fn write_dataset(
    root: &Dir,
    old: Option<Manifest>,
    control: Option<&Control>,
    mut tables: Tables,
    kept: &Kept,
    summary: &mut RecoverSummary,
) -> Result<(), CaptureError> {
    if tables.processes.is_empty() {
        // A recorder that was killed before its program began: settled, with nothing in it.
        tables.processes.push(Process::default());
        tables.modules.push(Vec::new());
        summary.notes.push("no process had made contact: nothing was recorded".to_owned());
    }
    summary.cut_bytes = kept.cut_bytes;
    summary.notes.extend(kept.notes.iter().cloned());
    let mut manifest = old.unwrap_or_else(manifest::bare_manifest);
    let mut blind = control.map_or_else(|| manifest.blind.clone(), Control::blind);
    for note in &summary.notes {
        if !blind.notes.contains(note) {
            blind.notes.push(note.clone());
        }
    }
    blind.dropped += lost(&manifest, kept);
    manifest.exit_status = manifest.exit_status.filter(|_| manifest.complete);
    let ended = ended_words(control, summary);
    let left_out = control.map(finish::left_out);
    let ending = finish::Ending { exit_status: manifest.exit_status, ended, incomplete: true, blind, left_out };
    let done = finish::dataset(root, manifest, tables, &ending)?;
    if control.is_some() || matches!(root.kind(RINGS), Ok(Some(Kind::Directory))) {
        remove_rings(root)?;
    }
    (summary.refs, summary.events, summary.threads) = (done.refs, done.events, done.threads);
    Ok(())
}

/// References that are known to be missing: those that the manifest counts, or those between others that are left.
fn lost(old: &Manifest, kept: &Kept) -> u64 {
    let left: u64 = kept.threads.iter().map(|t| t.refs).sum();
    let counted: u64 = old.threads.iter().map(|t| t.refs).sum();
    match old.is_settled() {
        true => counted.saturating_sub(left),
        false => kept.threads.iter().map(files::KeptThread::lost_refs).sum(),
    }
}

fn ended_words(control: Option<&Control>, summary: &RecoverSummary) -> String {
    let before = match control.map_or(0, Control::stop_reason) {
        STOP_LIMIT => "recording stopped at the limit asked for; ",
        STOP_USER => "recording stopped by the user; ",
        STOP_WRITE_FAILED => "recording stopped because the dataset could not be written; ",
        _ => "",
    };
    let what = match (control.is_some(), summary.cut_bytes) {
        (true, _) => "the recorder ended before it finished the dataset".to_owned(),
        (false, 0) => "the dataset and its manifest did not agree".to_owned(),
        (false, n) => format!("the dataset was damaged, {n} bytes were taken out"),
    };
    format!("{before}{what}; recovered by `homenode recover`")
}
