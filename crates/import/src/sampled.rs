//! Samples and notices of an import to files.
use crate::error::ImportError;
use crate::process_table::ProcessTable;
use crate::report::FileReport;
use homenode_capture::CaptureError;
use homenode_capture::sampled::writer::{self, Stamped};
use homenode_sampling::{Notice, RawSample};
use homenode_sys::dir::Dir;
use homenode_trace::framing::Codec;
use homenode_trace::manifest::Manifest;
use homenode_trace::symbols::{Site, Symbols};
use homenode_trace::{EventKind, Sample};
use std::collections::BTreeSet;

/// Samples of one thread that wait before a frame is written.
const HELD_MAX: usize = 8192;
/// Events that wait before a chunk is written.
const EVENTS_HELD: usize = 4096;

/// Takes samples and notices and writes files.
#[derive(Debug)]
pub(super) struct Sampled {
    root: Dir,
    process_table: ProcessTable,
    files: writer::Writer,
    sites: BTreeSet<(u32, u64)>,
    /// Samples since it was last looked whether a thread has enough of them.
    unlooked: usize,
}

impl Sampled {
    /// Starts the files of a dataset directory just created.
    pub(super) fn new(root: &Dir) -> Result<Sampled, ImportError> {
        let files = writer::Writer::new(root, Codec::Zstd);
        let files = files.map_err(CaptureError::io("write events.bin in", root.path()))?;
        Ok(Sampled {
            root: root.clone(),
            process_table: ProcessTable::default(),
            files,
            sites: BTreeSet::new(),
            unlooked: 0,
        })
    }

    /// Events of a thread, behind all of its samples so far; none after its exit.
    fn say(&mut self, thread: u32, stamp: u64, kinds: Vec<EventKind>) -> Result<(), ImportError> {
        for kind in kinds {
            if !self.files.is_exited(thread) {
                self.files.event(thread, u64::MAX, stamp, kind);
            }
        }
        if self.files.events_waiting() >= EVENTS_HELD { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), ImportError> {
        Ok(self.files.flush().map_err(CaptureError::io("write", self.root.path()))?)
    }

    /// Completes the files, with what `manifest` knows beside what is counted here. Returns the manifest and the number of samples.
    pub(super) fn finish(
        mut self,
        mut manifest: Manifest,
        report: &mut FileReport,
    ) -> Result<(Manifest, u64), ImportError> {
        self.flush()?;
        let samples = self.files.samples;
        report.sampling.period = self.files.weight.checked_div(samples).unwrap_or(0);
        let symbols = self.symbols();
        manifest.complete = true;
        manifest.processes = std::mem::take(&mut self.process_table.processes);
        manifest.threads = std::mem::take(&mut self.process_table.rows);
        manifest.blind.dropped = self.files.after_exit;
        manifest.mark_sampled(report.sampling.clone());
        let written = self.files.finish(&symbols, manifest);
        Ok((written.map_err(CaptureError::io("write", self.root.path()))?, samples))
    }

    /// Sites by module and offset. Names are not looked up: the files of the recorded machine may be others than those here.
    fn symbols(&self) -> Symbols {
        let site = |&(process, pc): &(u32, u64)| {
            let (module, offset) = self.process_table.place(process, pc).unwrap_or_default();
            Site { process, pc, module: module.to_owned(), offset, ..Site::default() }
        };
        let notes = vec!["code locations are modules and offsets: imports do not look up names".to_owned()];
        Symbols { sites: self.sites.iter().map(site).collect(), notes, ..Symbols::default() }
    }

    pub(super) fn sample(&mut self, s: &RawSample) -> Result<(), ImportError> {
        let found = self.process_table.thread(s.pid, s.tid);
        self.say(found.thread, s.time_ns, found.begin)?;
        let cpu = s.cpu.and_then(|c| u16::try_from(c).ok());
        let sample = Sample { weight: s.weight, latency_cycles: s.latency_cycles, source: s.source, cpu };
        let (ticks, addr, size, op, ip) = (s.time_ns, s.addr, s.size, s.op, s.ip);
        self.files.sample(found.thread, Stamped { ticks, addr, size, op, ip, sample });
        self.sites.insert((self.process_table.rows[found.thread as usize].process, s.ip));
        self.unlooked += 1;
        if self.unlooked < HELD_MAX {
            return Ok(());
        }
        self.unlooked = 0;
        Ok(self.files.flush_samples(HELD_MAX).map_err(CaptureError::io("write frames in", self.root.path()))?)
    }
    pub(super) fn notice(&mut self, notice: &Notice) -> Result<(), ImportError> {
        match self.process_table.notice(notice) {
            Some((thread, kinds)) => self.say(thread, 0, kinds),
            None => Ok(()),
        }
    }
    pub(super) fn name(&mut self, pid: u32, name: &str, exec: bool) {
        self.process_table.name(pid, name, exec);
    }
}
