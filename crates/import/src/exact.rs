//! Exact references and events of an import to files.
use crate::error::ImportError;
use crate::report::{Batch, ExactReport, ExactSink};
use homenode_capture::{CaptureError, DirStore};
use homenode_sys::dir::Dir;
use homenode_trace::columns::INSTRUCTIONS;
use homenode_trace::framing::Codec;
use homenode_trace::manifest::{Manifest, Process, Thread};
use homenode_trace::symbols::{Global, Site, Symbols};
use homenode_trace::writer::Writer;
use homenode_trace::{Event, EventKind};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

/// Most threads of one dataset: each has a file.
pub(crate) const THREADS_MAX: usize = 1 << 16;
/// Most threads whose frames are held at the same time; that of the thread which has waited longest is written then.
const FRAMES_HELD: usize = 64;
/// Code locations of the last references, by which most are known not to be new.
const RECENT: usize = 1 << 12;

/// Takes references and events and writes files.
#[derive(Debug)]
pub(super) struct Exact {
    root: Dir,
    files: Writer<DirStore>,
    by_ids: HashMap<(u32, u32), u32>,
    by_pid: HashMap<u32, u32>,
    threads: Vec<Thread>,
    processes: Vec<Process>,
    /// Last stamp of each thread.
    stamps: Vec<u64>,
    /// Threads with a frame that is not written, the one with the youngest reference last.
    held: Vec<u32>,
    sites: BTreeSet<(u32, u64)>,
    recent: Vec<(u32, u64)>,
    named: BTreeMap<(u32, u64), Site>,
    globals: Vec<Global>,
}

impl Exact {
    /// Starts the files of a dataset directory just created.
    pub(super) fn new(root: &Dir) -> Result<Exact, ImportError> {
        let files = Writer::new(DirStore::of(root), Codec::Zstd).map(|w| w.events_in(Codec::Lz4));
        Ok(Exact {
            root: root.clone(),
            files: files.map_err(CaptureError::io("write events.bin in", root.path()))?,
            by_ids: HashMap::new(),
            by_pid: HashMap::new(),
            threads: Vec::new(),
            processes: Vec::new(),
            stamps: Vec::new(),
            held: Vec::new(),
            sites: BTreeSet::new(),
            recent: vec![(u32::MAX, 0); RECENT],
            named: BTreeMap::new(),
            globals: Vec::new(),
        })
    }

    /// Completes the files, with what `manifest` knows beside what is counted here. Returns the manifest and the number of
    /// references.
    pub(super) fn finish(
        mut self,
        mut manifest: Manifest,
        report: &ExactReport,
    ) -> Result<(Manifest, u64), ImportError> {
        let symbols = self.symbols();
        manifest.complete = report.missing.is_empty();
        manifest.ended = report.missing.clone();
        manifest.synchronised = report.synchronised;
        manifest.in_order = report.in_order;
        manifest.blind.dropped = report.dropped;
        manifest.processes = std::mem::take(&mut self.processes);
        manifest.threads = std::mem::take(&mut self.threads);
        let written = self.files.symbols(&symbols).and_then(|()| self.files.finish(manifest));
        let manifest = written.map_err(CaptureError::io("write", self.root.path()))?;
        let references = manifest.threads.iter().map(|t| t.refs).sum();
        Ok((manifest, references))
    }

    fn symbols(&mut self) -> Symbols {
        let mut named = std::mem::take(&mut self.named);
        let bare = |&(process, pc): &(u32, u64)| Site { process, pc, ..Site::default() };
        let sites = self.sites.iter().map(|key| named.remove(key).unwrap_or_else(|| bare(key)));
        let sites = sites.collect::<Vec<_>>().into_iter().chain(named.into_values()).collect();
        let mut symbols = Symbols { sites, globals: std::mem::take(&mut self.globals), ..Symbols::default() };
        symbols.normalise();
        symbols
    }

    fn see(&mut self, process: u32, pc: u64) {
        // Code is dense: neighbours get neighbouring places.
        let recent = &mut self.recent[(pc as usize ^ (pc >> 12) as usize) % RECENT];
        if *recent != (process, pc) {
            *recent = (process, pc);
            self.sites.insert((process, pc));
        }
    }

    fn put(&mut self, thread: u32, batch: Batch<'_>) -> io::Result<()> {
        let last = &mut self.stamps[thread as usize];
        if let Some(stamp) = batch.stamp {
            *last = stamp.max(*last);
            self.files.stamp(thread, *last)?;
        }
        for (i, &r) in batch.refs.iter().enumerate() {
            self.files.push(thread, r)?;
            if let Some(&n) = batch.instructions.get(i) {
                self.files.column(thread, INSTRUCTIONS, u64::from(n) + 1)?;
            }
        }
        self.hold(thread)
    }

    /// Takes note that a thread has a frame that is not written.
    fn hold(&mut self, thread: u32) -> io::Result<()> {
        if self.held.last() == Some(&thread) {
            return Ok(());
        }
        self.held.retain(|&t| t != thread);
        self.held.push(thread);
        if self.held.len() <= FRAMES_HELD {
            return Ok(());
        }
        let longest = self.held.remove(0);
        match self.files.pending(longest) {
            0 => Ok(()),
            _ => self.files.end_frame(longest, self.stamps[longest as usize]),
        }
    }

    fn failed<T>(&self, result: io::Result<T>) -> Result<T, ImportError> {
        Ok(result.map_err(CaptureError::io("write", self.root.path()))?)
    }
}

impl ExactSink for Exact {
    fn thread(&mut self, pid: u32, tid: u32) -> Result<u32, ImportError> {
        if let Some(&thread) = self.by_ids.get(&(pid, tid)) {
            return Ok(thread);
        }
        let thread = self.threads.len() as u32;
        if self.threads.len() == THREADS_MAX {
            let why = format!("it has more than {THREADS_MAX} threads, each of which would have a file");
            return Err(ImportError::Content(why));
        }
        let fresh = self.processes.len() as u32;
        let process = *self.by_pid.entry(pid).or_insert(fresh);
        self.by_ids.insert((pid, tid), thread);
        self.threads.push(Thread { process, tid, ..Thread::default() });
        self.stamps.push(0);
        if process == fresh {
            self.processes.push(Process { pid, address_space: process, executable: String::new() });
            let begin = EventKind::Process { pid, parent: 0 };
            self.event(Event { thread, at: 0, stamp: 0, kind: begin })?;
        }
        Ok(thread)
    }
    fn process(&mut self, pid: u32, executable: &str) {
        if let Some(&process) = self.by_pid.get(&pid) {
            self.processes[process as usize].executable = executable.to_owned();
        }
    }
    fn references(&mut self, thread: u32, batch: Batch<'_>) -> Result<(), ImportError> {
        let process = self.threads[thread as usize].process;
        batch.refs.iter().for_each(|r| self.see(process, r.pc));
        let written = self.put(thread, batch);
        self.failed(written)
    }
    fn taken(&self, thread: u32) -> u64 {
        self.files.refs(thread)
    }
    fn event(&mut self, event: Event) -> Result<(), ImportError> {
        if let EventKind::Spawn { child } = event.kind
            && let Some(row) = self.threads.get_mut(child as usize)
        {
            row.parent = Some(event.thread);
        }
        if let EventKind::Alloc { stack, .. } = &event.kind {
            let process = self.threads[event.thread as usize].process;
            stack.iter().for_each(|&pc| self.see(process, pc));
        }
        let written = self.files.event(event);
        self.failed(written)
    }
    fn site(&mut self, site: Site) {
        self.named.insert((site.process, site.pc), site);
    }
    fn global(&mut self, global: Global) {
        self.globals.push(global);
    }
}
