//! What the manifest must be, alone and beside the files.
use super::{DatasetReader, FrameEntry};
use crate::TraceError;
use crate::event::Event;
use crate::manifest::{FORMAT_VERSION, Manifest, SAMPLED_FORMAT_VERSION};
use crate::packed::Events;
use homenode_base::pages::CertainPages;
use serde::Deserialize;

/// The name every manifest carries.
const FORMAT_NAME: &str = "homenode-trace";

/// The part of a manifest that no version changes.
#[derive(Deserialize)]
#[serde(expecting = "an object with `format` and `version`")]
struct Preamble {
    format: String,
    version: u32,
}

/// Reads a manifest and checks it against itself. The version is looked at first, so that a newer one is called newer
/// even if nothing else in it is understood.
pub fn parse_manifest(text: &[u8]) -> Result<Manifest, TraceError> {
    let bad = |e: serde_json::Error| TraceError::Manifest(format!("not the manifest of a dataset: {e}"));
    let preamble: Preamble = serde_json::from_slice(text).map_err(bad)?;
    if preamble.format != FORMAT_NAME {
        return Err(TraceError::Manifest(format!("format is `{}`, expected `{FORMAT_NAME}`", preamble.format)));
    }
    if preamble.version > FORMAT_VERSION {
        let (name, found) = (super::MANIFEST_FILE.to_owned(), preamble.version);
        return Err(TraceError::Newer { name, found, known: FORMAT_VERSION });
    }
    if preamble.version == 0 {
        return Err(TraceError::Manifest("there is no format version 0".into()));
    }
    let manifest: Manifest = serde_json::from_slice(text).map_err(bad)?;
    let without = |what| Err(TraceError::Manifest(format!("format version {} has no {what}", manifest.version)));
    if manifest.sampling.is_some() && manifest.version < SAMPLED_FORMAT_VERSION {
        return without("sampling");
    }
    if let Some(pages) = &manifest.pages {
        if manifest.version < FORMAT_VERSION {
            return without("recordings of some pages");
        }
        if pages.drawn().is_none() || manifest.sampling.is_some() {
            let what = format!("one in {} pages of {} bytes cannot have been drawn", pages.one_in, pages.page_bytes);
            return Err(TraceError::Manifest(what));
        }
    }
    if !(manifest.certain.is_empty() || manifest.pages.is_some() && CertainPages::may_be(&manifest.certain)) {
        return Err(TraceError::Manifest(format!("{} buckets of certain pages cannot be", manifest.certain.len())));
    }
    tables(&manifest)?;
    Ok(manifest)
}

fn tables(m: &Manifest) -> Result<(), TraceError> {
    let refuse = |what: String| Err(TraceError::Manifest(what));
    if m.threads.len() >= u32::MAX as usize {
        return refuse(format!("{} threads", m.threads.len()));
    }
    let mut total = 0u64;
    for (i, t) in m.threads.iter().enumerate() {
        if t.process as usize >= m.processes.len() {
            return refuse(format!("thread {i} is in process {}, there are {}", t.process, m.processes.len()));
        }
        if let Some(p) = t.parent.filter(|&p| p as usize >= m.threads.len() || p as usize == i) {
            return refuse(format!("thread {i} was created by thread {p} of {}", m.threads.len()));
        }
        if t.spins > t.refs {
            return refuse(format!("thread {i} has {} spins among {} references", t.spins, t.refs));
        }
        total = match total.checked_add(t.refs) {
            Some(sum) => sum,
            None => return refuse("more references than 64 bits count".into()),
        };
    }
    Ok(())
}

/// References of a sampled dataset have samples, those of an exact one have none: weights of 1 among weights of a
/// thousand would not be noticed in any sum.
pub(super) fn samples(m: &Manifest, name: &str, frames: &[FrameEntry]) -> Result<(), TraceError> {
    let odd = |f: &&FrameEntry| f.refs > 0 && f.sampled != m.sampling.is_some();
    let Some(f) = frames.iter().find(odd) else { return Ok(()) };
    let what = if f.sampled {
        "a frame with samples in an exact dataset"
    } else {
        "a frame without samples in a sampled dataset"
    };
    Err(TraceError::Damaged { name: name.to_owned(), offset: f.offset, what: what.to_owned() })
}

/// Appends an event, the `i`-th; positions must not decrease within a thread.
pub(super) fn enter(m: &Manifest, events: &mut Events, event: Event) -> Result<(), TraceError> {
    let i = events.len();
    let damaged = |what: String| TraceError::Damaged { name: super::EVENTS_FILE.into(), offset: 0, what };
    let Some(thread) = m.threads.get(event.thread as usize) else {
        return Err(damaged(format!("event {i} is of thread {}, there are {}", event.thread, m.threads.len())));
    };
    if events.last_at(event.thread).is_some_and(|last| last > event.at) {
        return Err(damaged(format!("event {i} of thread {} stands before its predecessor", event.thread)));
    }
    let space = m.processes[thread.process as usize].address_space;
    if events.push(space, event) {
        Ok(())
    } else {
        Err(damaged(format!("more than {i} events, more than 32 bits count")))
    }
}

/// A dataset holds exactly what its manifest counts, and no event beyond a thread's last reference.
pub(super) fn counts(r: &DatasetReader) -> Result<(), TraceError> {
    for (i, t) in r.manifest.threads.iter().enumerate() {
        let (refs, events) = (r.refs(i as u32), r.thread_events(i as u32).len() as u64);
        if (t.refs, t.events) != (refs, events) {
            let (a, b) = (t.refs, t.events);
            return Err(TraceError::Manifest(format!(
                "thread {i} should have {a} references and {b} events, the files have {refs} and {events}"
            )));
        }
        if let Some(last) = r.events().last_at(i as u32).filter(|last| *last > refs) {
            return Err(TraceError::Manifest(format!(
                "thread {i} has an event after reference {last}, but {refs} references"
            )));
        }
    }
    Ok(())
}
