//! The dataset of an import.
use super::people::People;
use super::{FileReport, ImportSink, ImportSummary};
use crate::error::CaptureError;
use crate::finish::write_manifest;
use crate::output::{Appender, EventsFile};
use crate::samples::{Notice, RawSample};
use crate::store::{DirStore, RINGS, replace_file};
use homenode_trace::frame::{FRAME_REFS_MAX, FrameEncoder};
use homenode_trace::framing::Codec;
use homenode_trace::manifest::{Clock, Manifest};
use homenode_trace::symbols::{Site, Symbols};
use homenode_trace::{Event, EventKind, Sample};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Samples of one thread that wait before a frame is written.
const HELD_MAX: usize = 8192;
/// Events that wait before a chunk is written.
const EVENTS_HELD: usize = 4096;

#[derive(Debug, Default)]
struct Lane {
    held: Vec<RawSample>,
    refs: u64,
    events: u64,
    /// Stamps of a thread never run backwards.
    floor: u64,
    out: Option<Appender>,
    exited: bool,
}

/// Takes samples and notices and writes files.
#[derive(Debug)]
pub(super) struct Writer {
    root: PathBuf,
    people: People,
    lanes: Vec<Lane>,
    events: Vec<Event>,
    events_file: EventsFile,
    encoder: FrameEncoder,
    bytes: Vec<u8>,
    sites: BTreeSet<(u32, u64)>,
    weight: u64,
    after_exit: u64,
}

impl Writer {
    /// Starts the files of a dataset directory just created.
    pub(super) fn new(root: &Path) -> Result<Writer, CaptureError> {
        let rings = root.join(RINGS);
        fs::remove_dir(&rings).map_err(CaptureError::io("remove", &rings))?;
        let events_file = EventsFile::open(root, 0, 0).map_err(CaptureError::io("write events.bin in", root))?;
        Ok(Writer {
            root: root.to_owned(),
            people: People::default(),
            lanes: Vec::new(),
            events: Vec::new(),
            events_file,
            encoder: FrameEncoder::default(),
            bytes: Vec::new(),
            sites: BTreeSet::new(),
            weight: 0,
            after_exit: 0,
        })
    }

    fn say(&mut self, thread: u32, stamp: u64, kinds: Vec<EventKind>) -> Result<(), CaptureError> {
        let lane = &mut self.lanes[thread as usize];
        let at = lane.refs + lane.held.len() as u64;
        for kind in kinds {
            if lane.exited {
                break;
            }
            lane.exited = kind == EventKind::Exit;
            lane.events += 1;
            self.events.push(Event { thread, at, stamp, kind });
        }
        if self.events.len() >= EVENTS_HELD { self.flush_events() } else { Ok(()) }
    }

    fn flush_events(&mut self) -> Result<(), CaptureError> {
        // An event may not stand behind samples that are not in files.
        for thread in 0..self.lanes.len() {
            self.flush(thread)?;
        }
        self.events_file.append(&self.events).map_err(CaptureError::io("write events.bin in", &self.root))?;
        self.events.clear();
        Ok(())
    }

    fn flush(&mut self, thread: usize) -> Result<(), CaptureError> {
        let lane = &mut self.lanes[thread];
        while !lane.held.is_empty() {
            self.bytes.clear();
            let done = frame(thread as u32, lane, &mut self.encoder, &mut self.bytes);
            if lane.out.is_none() {
                let opened = Appender::frames(&self.root, thread as u32, 0);
                lane.out = Some(opened.map_err(CaptureError::io("create frames in", &self.root))?);
            }
            if let Some(out) = &mut lane.out {
                out.append(&self.bytes).map_err(CaptureError::io("write frames in", &self.root))?;
            }
            lane.held.drain(..done);
            lane.refs += done as u64;
        }
        Ok(())
    }

    /// Completes the dataset.
    pub(super) fn finish(mut self, report: FileReport) -> Result<ImportSummary, CaptureError> {
        self.flush_events()?;
        let samples: u64 = self.lanes.iter().map(|l| l.refs).sum();
        let mut sampling = report.sampling;
        sampling.period = self.weight.checked_div(samples).unwrap_or(0);
        for (row, lane) in self.people.rows.iter_mut().zip(&self.lanes) {
            (row.refs, row.events) = (lane.refs, lane.events);
        }
        let symbols = self.symbols();
        let path = self.root.join(Symbols::FILE);
        replace_file(&path, &symbols.to_json()).map_err(CaptureError::io("write", &path))?;
        let mut manifest = Manifest {
            complete: true,
            backend: "perf.data".to_owned(),
            command: report.facts.command,
            clock: if report.timed { Clock::Ns } else { Clock::Logical },
            host_cpus: report.facts.cpus,
            host: format!("Linux {} {}, {}", report.facts.kernel, report.facts.arch, report.facts.processor),
            processes: std::mem::take(&mut self.people.processes),
            threads: std::mem::take(&mut self.people.rows),
            synchronised: false,
            ..crate::finish::bare_manifest()
        };
        manifest.blind.notes = report.notes.clone();
        manifest.blind.dropped = self.after_exit;
        manifest.mark_sampled(sampling.clone());
        write_manifest(&self.root, &manifest)?;
        let bytes = DirStore::at(&self.root).bytes().map_err(CaptureError::io("read", &self.root))?;
        Ok(ImportSummary {
            path: self.root.clone(),
            samples,
            events: manifest.threads.iter().map(|t| t.events).sum(),
            threads: manifest.threads.len() as u32,
            processes: manifest.processes.len() as u32,
            bytes,
            sampling,
            counts: report.counts,
            notes: report.notes,
        })
    }

    /// Sites by module and offset. Names are not looked up: the files of the recorded machine may be others than those here.
    fn symbols(&self) -> Symbols {
        let site = |&(process, pc): &(u32, u64)| {
            let (module, offset) = self.people.place(process, pc).unwrap_or_default();
            Site { process, pc, module: module.to_owned(), offset, ..Site::default() }
        };
        let notes = vec!["code locations are modules and offsets: imports do not look up names".to_owned()];
        Symbols { sites: self.sites.iter().map(site).collect(), notes, ..Symbols::default() }
    }
}

impl ImportSink for Writer {
    fn sample(&mut self, s: &RawSample) -> Result<(), CaptureError> {
        let found = self.people.thread(s.pid, s.tid);
        let thread = found.thread as usize;
        if thread == self.lanes.len() {
            self.lanes.push(Lane::default());
        }
        self.say(found.thread, s.time_ns, found.begin)?;
        let lane = &mut self.lanes[thread];
        if lane.exited {
            self.after_exit += 1;
            return Ok(());
        }
        lane.held.push(*s);
        self.weight = self.weight.saturating_add(s.weight.into());
        self.sites.insert((self.people.rows[thread].process, s.ip));
        if lane.held.len() >= HELD_MAX { self.flush(thread) } else { Ok(()) }
    }
    fn notice(&mut self, notice: &Notice) -> Result<(), CaptureError> {
        match self.people.notice(notice) {
            Some((thread, kinds)) => self.say(thread, 0, kinds),
            None => Ok(()),
        }
    }
    fn name(&mut self, pid: u32, name: &str, exec: bool) {
        self.people.name(pid, name, exec);
    }
}

/// Encodes as many of the lane's samples as one frame takes; returns how many, at least one.
fn frame(thread: u32, lane: &mut Lane, encoder: &mut FrameEncoder, bytes: &mut Vec<u8>) -> usize {
    encoder.begin(thread, lane.refs);
    let (mut done, mut last) = (0, None);
    for s in lane.held.iter().take(FRAME_REFS_MAX) {
        let time = s.time_ns.max(lane.floor);
        if last != Some(time) && !encoder.stamp(time) {
            break;
        }
        (last, lane.floor) = (Some(time), time);
        let sample = Sample {
            weight: s.weight,
            latency_cycles: s.latency_cycles,
            source: s.source,
            cpu: s.cpu.and_then(|c| u16::try_from(c).ok()),
        };
        if !encoder.push_sample(s.addr, s.size, s.op, s.ip, &sample) {
            break;
        }
        done += 1;
    }
    encoder.finish(lane.floor, Codec::Zstd, bytes);
    done
}
