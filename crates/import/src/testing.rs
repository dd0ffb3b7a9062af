//! What tests of exact formats share: a file imported, checked and read again.
use crate::{Batch, ExactSink, ImportError, ImportSink, ImportSummary, Input, import, read};
use homenode_capture::DirStore;
use homenode_sampling::{Notice, RawSample};
use homenode_trace::check::check;
use homenode_trace::columns::INSTRUCTIONS;
use homenode_trace::frame::DecodedFrame;
use homenode_trace::symbols::{Global, Site};
use homenode_trace::{DatasetReader, Event, Op};
use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// Address, size, operation, program counter, and instructions plus one.
pub(crate) type Seen = (u64, u32, Op, u64, u64);

/// An imported recording.
pub(crate) struct Imported {
    pub(crate) summary: ImportSummary,
    pub(crate) data: DatasetReader,
    _dir: TempDir,
}

/// Imports a file or folder; the dataset must pass the checker, and a refused one must leave nothing behind.
pub(crate) fn imported(path: &Path) -> Result<Imported, ImportError> {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("x.hnt");
    let summary = import(path, &out, false).inspect_err(|_| {
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "something was left behind");
    })?;
    let data = DatasetReader::open(Arc::new(DirStore::open(&out).unwrap())).unwrap();
    let report = check(&data);
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    Ok(Imported { summary, data, _dir: dir })
}

/// As [`imported`], of a file with these bytes.
pub(crate) fn imported_bytes(bytes: &[u8]) -> Result<Imported, ImportError> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, bytes).unwrap();
    imported(&file)
}

/// Why these bytes are refused.
pub(crate) fn refused(bytes: &[u8]) -> String {
    match imported_bytes(bytes) {
        Ok(found) => panic!("{} references were imported", found.summary.references),
        Err(e) => {
            assert_eq!(e.exit_status(), 3);
            e.to_string()
        }
    }
}

impl Imported {
    /// All references of a thread.
    pub(crate) fn refs(&self, thread: u32) -> Vec<Seen> {
        let (mut frame, mut bytes, mut out) = (DecodedFrame::default(), Vec::new(), Vec::new());
        for n in 0..self.data.frames(thread).len() {
            self.data.read_frame(thread, n, &mut bytes, &mut frame).unwrap();
            let counts = frame.column(INSTRUCTIONS);
            out.extend((0..frame.len()).map(|i| {
                let r = frame.get(i);
                (r.addr, r.size, r.op, frame.pcs[r.site as usize], counts.get(i).copied().unwrap_or(0))
            }));
        }
        out
    }
    /// What was counted under this name.
    pub(crate) fn counted(&self, name: &str) -> u64 {
        self.summary.counted.iter().find(|c| c.0 == name).map_or(0, |c| c.1)
    }
}

/// Counts what a sink is given.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Counter {
    pub(crate) samples: u64,
    /// References of each thread.
    pub(crate) refs: Vec<u64>,
    pub(crate) events: u64,
}

impl ImportSink for Counter {
    fn sample(&mut self, _: &RawSample) -> Result<(), ImportError> {
        self.samples += 1;
        Ok(())
    }
    fn notice(&mut self, _: &Notice) -> Result<(), ImportError> {
        Ok(())
    }
    fn name(&mut self, _: u32, _: &str, _: bool) {}
    fn exact(&mut self) -> Result<&mut dyn ExactSink, ImportError> {
        Ok(self)
    }
}

impl ExactSink for Counter {
    fn thread(&mut self, _: u32, _: u32) -> Result<u32, ImportError> {
        self.refs.push(0);
        Ok(self.refs.len() as u32 - 1)
    }
    fn process(&mut self, _: u32, _: &str) {}
    fn references(&mut self, thread: u32, batch: Batch<'_>) -> Result<(), ImportError> {
        assert!(batch.refs.iter().all(|r| r.size > 0) && batch.refs.len() == batch.instructions.len());
        self.refs[thread as usize] += batch.refs.len() as u64;
        Ok(())
    }
    fn taken(&self, thread: u32) -> u64 {
        self.refs[thread as usize]
    }
    fn event(&mut self, event: Event) -> Result<(), ImportError> {
        assert!(event.at <= self.refs[event.thread as usize]);
        self.events += 1;
        Ok(())
    }
    fn site(&mut self, _: Site) {}
    fn global(&mut self, _: Global) {}
}

/// What is in a file with these bytes, without a dataset.
pub(crate) fn counted(bytes: &[u8]) -> Result<Counter, ImportError> {
    let mut sink = Counter::default();
    read(Path::new("x"), Input::File(&mut Cursor::new(bytes)), &mut sink)?;
    Ok(sink)
}
