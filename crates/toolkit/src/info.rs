//! `homenode info`: what a recording holds, counted from its frames and not from what the manifest says.
use homenode_command::dataset::{Opened, open_any, refs};
use homenode_command::instructions::{Followers, Instructions};
use homenode_command::{Failure, Progress};
use homenode_openmp::{Construct, What};
use homenode_report::doc::blind_sentences;
use homenode_report::info::{INFO_SCHEMA, InfoInstructions, InfoPhase, InfoSync, InfoThread, OpCounts};
use homenode_report::quick::PagesDoc;
use homenode_report::{InfoDoc, Provenance, SamplingDoc};
use homenode_sim::evaluation::{SampledTotals, SourceRow};
use homenode_sim::names::{NameTable, short_names};
use homenode_trace::dataset::DatasetReader;
use homenode_trace::event::SyncKind;
use homenode_trace::frame::DecodedFrame;
use homenode_trace::{DataSource, EventKind, Op, Sample};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

/// Reads the whole dataset and describes it.
pub fn info(path: &Path, progress: &mut dyn Progress) -> Result<InfoDoc, Failure> {
    let Opened { store, reader } = open_any(path)?;
    let total = refs(&reader);
    let (mut threads, mut done) = (Vec::new(), 0);
    let mut seen = Seen { sampled: Sampled::default(), followers: Followers::default() };
    for t in 0..reader.threads() {
        threads.push(thread(&reader, t, &mut seen, &mut |n| {
            done += n;
            progress.at("reading", done, Some(total));
        })?);
    }
    let mut ops = OpCounts::default();
    threads.iter().for_each(|t| add(&mut ops, &t.ops));
    let dataset_bytes = store.bytes().map_err(|e| Failure::work(format!("cannot read {}: {e}", path.display())))?;
    Ok(InfoDoc {
        schema: INFO_SCHEMA,
        provenance: provenance(path, &reader, "not replayed"),
        sampling: reader.manifest().sampling.as_ref().map(|s| SamplingDoc::new(s, &seen.sampled.totals(), None)),
        pages: PagesDoc::of(reader.manifest()),
        blind: unseen(&reader),
        imported: Some(reader.manifest().imported.clone()).filter(|counted| !counted.is_empty()),
        bytes_referenced: threads.iter().map(|t| t.bytes).sum(),
        ops,
        dataset_bytes,
        bytes_per_ref: (total > 0).then(|| dataset_bytes as f64 / total as f64),
        instructions: instructions(&reader, seen.followers),
        frames: (0..reader.threads()).map(|t| reader.frames(t).len() as u64).sum(),
        phases: phases(&reader),
        synchronisation: synchronisation(&reader),
        objects: NameTable::new(&reader)?.rows() as u64,
        sites: reader.symbols().sites.len() as u64,
        threads,
    })
}

/// Facts of the dataset for any document.
pub(crate) fn provenance(path: &Path, reader: &DatasetReader, order: &str) -> Provenance {
    let shown = path.display().to_string();
    Provenance::from_manifest(reader.manifest(), &shown, env!("CARGO_PKG_VERSION"), order)
}

/// What the recording could not see and what it has no names for. Missing names first: they show in every table.
pub(crate) fn unseen(reader: &DatasetReader) -> Vec<String> {
    reader.symbols().notes.iter().cloned().chain(blind_sentences(reader.manifest())).collect()
}

fn add(sum: &mut OpCounts, o: &OpCounts) {
    sum.read += o.read;
    sum.write += o.write;
    sum.atomic += o.atomic;
    sum.spin += o.spin;
}

/// What is counted in frames beside references.
struct Seen {
    sampled: Sampled,
    followers: Followers,
}

fn instructions(reader: &DatasetReader, followers: Followers) -> Option<InfoInstructions> {
    // What follows a reference in the recording follows it in the program only if all are there.
    (reader.manifest().sampling.is_none() && reader.manifest().pages.is_none()).then(|| {
        let known = followers.known(&mut Instructions::new(reader));
        InfoInstructions {
            counted: known.counted.1,
            estimated: known.estimated.1,
            counted_refs: known.counted.0,
            estimated_refs: known.estimated.0,
            unknown_refs: known.unknown,
            pairs: known.pairs,
            estimated_pairs: known.pairs_estimated,
        }
    })
}

/// Samples and their weights by data source.
#[derive(Default)]
struct Sampled([(u64, u64); DataSource::ALL.len()]);

impl Sampled {
    fn add(&mut self, s: &Sample) {
        let row = &mut self.0[s.source as usize];
        *row = (row.0 + 1, row.1 + u64::from(s.weight));
    }
    fn totals(&self) -> SampledTotals {
        let row = |(source, &(samples, weight)): (&DataSource, &(u64, u64))| SourceRow {
            source: *source,
            samples,
            weight,
            charged: source.placement_matters(),
        };
        let sources = DataSource::ALL.iter().zip(&self.0).map(row).filter(|r| r.samples > 0).collect();
        let (samples, weight) = self.0.iter().fold((0, 0), |sum, s| (sum.0 + s.0, sum.1 + s.1));
        SampledTotals { samples, weight, sources }
    }
}

fn thread(reader: &DatasetReader, t: u32, seen: &mut Seen, read: &mut dyn FnMut(u64)) -> Result<InfoThread, Failure> {
    let meta = &reader.manifest().threads[t as usize];
    let events = reader.thread_events(t).len() as u64;
    let mut row = InfoThread {
        thread: t,
        process: meta.process,
        tid: meta.tid,
        parent: meta.parent,
        events,
        ..Default::default()
    };
    let (mut bytes, mut frame, mut per_key, mut sites) = (Vec::new(), DecodedFrame::default(), Vec::new(), Vec::new());
    seen.followers.thread();
    for i in 0..reader.frames(t).len() {
        reader.read_frame(t, i, &mut bytes, &mut frame)?;
        frame.samples().iter().for_each(|s| seen.sampled.add(s));
        reader.map_sites(&frame, &mut sites)?;
        seen.followers.frame(&frame, &sites);
        per_key.clear();
        per_key.resize(frame.keys.len(), 0u64);
        frame.key.iter().for_each(|&k| per_key[usize::from(k)] += 1);
        for (key, &n) in frame.keys.iter().zip(&per_key) {
            match key.op {
                Op::Read => row.ops.read += n,
                Op::Write => row.ops.write += n,
                Op::Atomic => row.ops.atomic += n,
                Op::Spin => row.ops.spin += n,
            }
            if key.op != Op::Spin {
                row.bytes += n * u64::from(key.size);
            }
        }
        read(frame.len() as u64);
    }
    Ok(row)
}

/// Acquires and releases by kind.
fn synchronisation(reader: &DatasetReader) -> Vec<InfoSync> {
    let mut rows: BTreeMap<SyncKind, (HashSet<(u32, u64)>, InfoSync)> = BTreeMap::new();
    for t in 0..reader.threads() {
        let space = reader.address_space(t);
        for e in reader.thread_events(t) {
            let (sync, object, acquires, releases) = match e.kind {
                EventKind::Acquire { sync, object, .. } => (sync, object, 1, 0),
                EventKind::Release { sync, object, .. } => (sync, object, 0, 1),
                EventKind::AcqRel { sync, object, .. } => (sync, object, 1, 1),
                _ => continue,
            };
            let (objects, row) = rows.entry(sync).or_default();
            objects.insert((space, object));
            row.acquires += acquires;
            row.releases += releases;
        }
    }
    let named = |(sync, (objects, row)): (SyncKind, (HashSet<_>, InfoSync))| {
        let parties = Some(sync.code().1).filter(|n| *n > 0);
        InfoSync { kind: sync.name().to_owned(), parties, objects: objects.len() as u64, ..row }
    };
    rows.into_iter().map(named).collect()
}

/// References inside each named phase, all threads; nested entries of the same name count once.
fn phases(reader: &DatasetReader) -> Vec<InfoPhase> {
    let short = short_names(reader.symbols());
    let mut rows: Vec<InfoPhase> = Vec::new();
    for phase in named_phases(reader) {
        let name = phase_name(&phase.name, reader, &short);
        let row = row(&mut rows, &name);
        (row.entered, row.refs) = (row.entered + phase.entered, row.refs + phase.refs);
    }
    rows
}

/// A phase of the program by its name; a construct of `OpenMP` by what it is and where.
fn phase_name(text: &str, reader: &DatasetReader, short: &HashMap<&str, String>) -> String {
    let Some(construct) = Construct::of(text) else { return text.to_owned() };
    let words = match construct.what {
        What::Unseen(what) => format!("not understood: {what}"),
        _ => construct.words(),
    };
    let known = |p: usize| construct.site(reader.symbols(), p as u32).filter(|s| s.line > 0);
    match (0..reader.manifest().processes.len()).find_map(known) {
        Some(site) => {
            let file = short.get(site.file.as_str()).map_or(site.file.as_str(), String::as_str);
            format!("{words} at {file}:{}", site.line)
        }
        None if construct.other.is_some() => "not a loop: the program asks which thread it is in".to_owned(),
        None => format!("{words} at {:x}", construct.pc),
    }
}

/// By the text of each.
fn named_phases(reader: &DatasetReader) -> Vec<InfoPhase> {
    let mut order: Vec<InfoPhase> = Vec::new();
    for t in 0..reader.threads() {
        let mut open: BTreeMap<String, (u32, u64)> = BTreeMap::new();
        for e in reader.thread_events(t) {
            match &e.kind {
                EventKind::PhaseBegin { name } => {
                    row(&mut order, name).entered += 1;
                    let entry = open.entry(name.clone()).or_insert((0, e.at));
                    entry.0 += 1;
                }
                EventKind::PhaseEnd { name } => {
                    if let Some(entry) = open.get_mut(name.as_str()) {
                        entry.0 -= 1;
                        if entry.0 == 0 {
                            let from = open.remove(name.as_str()).map_or(e.at, |(_, from)| from);
                            row(&mut order, name).refs += e.at.saturating_sub(from);
                        }
                    }
                }
                _ => {}
            }
        }
        for (name, (_, from)) in open {
            row(&mut order, &name).refs += reader.refs(t).saturating_sub(from);
        }
    }
    order
}

fn row<'a>(rows: &'a mut Vec<InfoPhase>, name: &str) -> &'a mut InfoPhase {
    let i = rows.iter().position(|r| r.name == name).unwrap_or_else(|| {
        rows.push(InfoPhase { name: name.to_owned(), ..Default::default() });
        rows.len() - 1
    });
    &mut rows[i]
}
