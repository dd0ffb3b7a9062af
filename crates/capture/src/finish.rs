//! Turning what the workers wrote into a dataset: tables, symbols, summary.
use crate::control::Control;
use crate::error::CaptureError;
use crate::facts::Tables;
use crate::manifest::write_manifest;
use crate::options::RecordSummary;
use crate::store::DirStore;
use crate::workers::Recording;
use homenode_base::ring::{STOP_LIMIT, STOP_RECORDER_GONE, STOP_USER, STOP_WRITE_FAILED};
use homenode_host::supervise::Outcome;
use homenode_sys::dir::Dir;
use homenode_sys::signals;
use homenode_trace::manifest::{Blind, CertainPages, Manifest};
use homenode_trace::symbols::Symbols;
use std::sync::atomic::Ordering;

/// How a recording ended, as the manifest says it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ending {
    pub(crate) exit_status: Option<i32>,
    /// Sentences, empty if all went well.
    pub(crate) ended: String,
    /// The recording did not end in order: references are missing.
    pub(crate) incomplete: bool,
    pub(crate) blind: Blind,
    /// References to pages that were not drawn, and pages that were recorded all the same; if anybody counted them.
    pub(crate) left_out: Option<(u64, Vec<CertainPages>)>,
}

/// What a control file says of the pages that were not drawn.
pub(crate) fn left_out(control: &Control) -> (u64, Vec<CertainPages>) {
    (control.left_out(), control.certain())
}

/// The manifest says which pages were recorded and what was left out. Of certain pages that are drawn nothing was.
fn note_pages(manifest: &mut Manifest, ending: &Ending) {
    if let (Some(pages), Some((left_out, certain))) = (&mut manifest.pages, &ending.left_out) {
        pages.left_out = *left_out;
        let is_whole = |bucket| pages.drawn().is_some_and(|drawn| drawn.holds_bucket(bucket));
        let of = |c: &CertainPages| CertainPages { left_out: if is_whole(c.bucket) { 0 } else { c.left_out }, ..*c };
        manifest.certain = certain.iter().map(of).collect();
    }
}

impl Ending {
    /// Reads it off the control file and the troubles met.
    pub(crate) fn of(recording: &Recording, outcome: &Outcome, limit: Option<u64>) -> Ending {
        let troubles = recording.troubles();
        let mut parts = Vec::new();
        if let Some(error) = &troubles.write {
            parts.push(format!(
                "recording stopped because the dataset could not be written ({error}); the program ran on unharmed"
            ));
        }
        parts.extend(stop_words(recording.control.stop_reason(), outcome, limit));
        if let Some(signal) = outcome.status.filter(|&s| s < 0) {
            parts.push(format!("the program was killed by {}", signals::name(-signal)));
        }
        let mut blind = recording.control.blind();
        blind.dropped += recording.ledger.dropped.load(Ordering::Relaxed);
        blind.notes = troubles.rings;
        if blind.unringed_threads > 0 {
            blind.notes.push(format!(
                "{} threads could not be recorded: no room in the table of {} rings, or no space for their files",
                blind.unringed_threads,
                homenode_base::ring::RINGS_MAX
            ));
        }
        let incomplete = troubles.write.is_some() || recording.control.stop_reason() == STOP_WRITE_FAILED;
        let left_out = Some(left_out(&recording.control));
        Ending { exit_status: outcome.status, ended: parts.join("; "), incomplete, blind, left_out }
    }
    /// Adds a sentence on how the recording ended.
    pub(crate) fn say(&mut self, sentence: &str) {
        if !self.ended.is_empty() {
            self.ended.push_str("; ");
        }
        self.ended.push_str(sentence);
    }
}

fn stop_words(reason: u64, outcome: &Outcome, limit: Option<u64>) -> Option<String> {
    match reason {
        STOP_LIMIT => {
            let limit = limit.map_or_else(|| "the limit".to_owned(), |n| format!("{n} references, as asked for"));
            Some(format!("recording stopped after {limit}; the program ran on"))
        }
        STOP_USER => Some(format!(
            "recording stopped by {}",
            outcome.stopped_by.map_or_else(|| "the user".to_owned(), signals::name)
        )),
        STOP_RECORDER_GONE => Some("the recorder was killed while the program ran".to_owned()),
        _ => None,
    }
}

/// Completes the dataset at `root`, whose frames and events are written: tables, symbols and the final manifest.
pub(crate) fn dataset(
    root: &Dir,
    mut manifest: Manifest,
    tables: Tables,
    ending: &Ending,
) -> Result<RecordSummary, CaptureError> {
    let Tables { processes, threads, modules } = tables;
    (manifest.processes, manifest.threads) = (processes, threads);
    manifest.exit_status = ending.exit_status;
    note_pages(&mut manifest, ending);
    manifest.blind = ending.blind.clone();
    write_manifest(root, &manifest)?;
    let named =
        homenode_symbols::name_everything(&DirStore::of(root), &manifest.threads, &modules, &homenode_hooks::ARCHIVE)?;
    if manifest.sampling.is_none() {
        // A sample may come from any code; that none came says nothing about how it was built.
        manifest.blind.notes.extend(named.unseen);
    }
    let mut write_failed = ending.incomplete;
    if let Err(error) = root.replace(Symbols::FILE, &named.symbols.to_json()) {
        // Without the file the sites are bare addresses: worth a sentence, not the dataset.
        write_failed = true;
        manifest.blind.notes.push(format!("symbols.json could not be written ({error}): sites have no names"));
    }
    manifest.complete = !ending.incomplete;
    manifest.ended = ending.ended.clone();
    write_manifest(root, &manifest)?;
    let bytes = DirStore::of(root).bytes().map_err(CaptureError::io("measure", root.path()))?;
    let summary = summary_of(&manifest);
    Ok(RecordSummary { path: Some(root.path().to_owned()), bytes, write_failed, ..summary })
}

fn summary_of(manifest: &Manifest) -> RecordSummary {
    let sum = |f: fn(&homenode_trace::manifest::Thread) -> u64| manifest.threads.iter().map(f).sum();
    RecordSummary {
        refs: sum(|t| t.refs),
        left_out: manifest.pages.map_or(0, |p| p.left_out),
        spins: sum(|t| t.spins),
        events: sum(|t| t.events),
        threads: u32::try_from(manifest.threads.len()).unwrap_or(u32::MAX),
        processes: u32::try_from(manifest.processes.len()).unwrap_or(u32::MAX),
        exit_status: manifest.exit_status,
        ended: manifest.ended.clone(),
        blind: manifest.blind.clone(),
        native: manifest.native.clone(),
        ..RecordSummary::default()
    }
}
