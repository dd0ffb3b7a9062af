//! What was counted in a trace, and what a reader should know of it.
use super::entry::file_type;
use crate::report::{ExactReport, FileFacts, FileReport};
use std::collections::{BTreeMap, BTreeSet};

/// Markers of unknown types that are told apart.
const UNKNOWN_MAX: usize = 8;
/// Numbers of processors and windows that are told apart.
const NUMBERS_MAX: usize = 1 << 16;

/// The file that records come from.
#[derive(Clone, Debug, Default)]
pub(super) struct Origin {
    /// Program, as far as the file's name says it.
    pub(super) program: String,
}

impl Origin {
    /// From a name such as `drmemtrace.PROGRAM.1234.5678.trace.gz`.
    pub(super) fn of(name: &str) -> Origin {
        let inner =
            name.strip_prefix("drmemtrace.").and_then(|n| n.split_once(".trace")).map_or("", |(inner, _)| inner);
        let numbers = |n: &str| {
            n.rsplit_once('.').filter(|(_, end)| end.bytes().all(|b| b.is_ascii_digit())).map(|(n, _)| n.to_owned())
        };
        let program = numbers(inner).and_then(|n| numbers(&n)).unwrap_or_default();
        Origin { program }
    }
}

/// Counts of a whole trace.
#[derive(Clone, Debug, Default)]
pub(super) struct Summary {
    pub(super) instructions: u64,
    pub(super) not_fetched: u64,
    pub(super) loads: u64,
    pub(super) stores: u64,
    pub(super) prefetches: u64,
    pub(super) flushes: u64,
    /// Loads and stores of the kernel, which are left out.
    pub(super) kernel: u64,
    /// Loads and stores whose size the trace does not say.
    pub(super) unsized_refs: u64,
    pub(super) stamps: u64,
    /// Stamps that lie before the one before them in their thread.
    pub(super) backwards: u64,
    pub(super) file_type: u64,
    /// Calls of functions that were recorded, and of these, those that order threads.
    pub(super) calls: (u64, u64),
    /// Waits in the kernel that order threads.
    pub(super) waited: u64,
    processors: BTreeSet<u64>,
    windows: BTreeSet<u64>,
    unknown: BTreeMap<u16, u64>,
    more_unknown: u64,
}

impl Summary {
    /// A processor on which a thread ran; all bits set says that it is not known which.
    pub(super) fn processor(&mut self, cpu: u64) {
        if cpu != u64::MAX && self.processors.len() < NUMBERS_MAX {
            self.processors.insert(cpu);
        }
    }
    /// A window of the run from which records are.
    pub(super) fn window(&mut self, number: u64) {
        if self.windows.len() < NUMBERS_MAX {
            self.windows.insert(number);
        }
    }
    /// A marker of a type that is not known.
    pub(super) fn unknown(&mut self, marker: u16) {
        if self.unknown.len() < UNKNOWN_MAX || self.unknown.contains_key(&marker) {
            *self.unknown.entry(marker).or_default() += 1;
        } else {
            self.more_unknown += 1;
        }
    }

    /// The report of a trace with so many threads, whose calls and waits in the kernel said so much.
    pub(super) fn report(self, threads: u64, waits: Vec<String>) -> FileReport {
        let counted = [
            ("instructions", self.instructions),
            ("instructions not fetched", self.not_fetched),
            ("loads", self.loads),
            ("stores", self.stores),
            ("threads", threads),
            ("prefetches", self.prefetches),
            ("flushes", self.flushes),
            ("processors", self.processors.len() as u64),
            ("windows", self.windows.len() as u64),
            ("calls of functions", self.calls.0),
            ("calls that order threads", self.calls.1),
            ("waits in the kernel", self.waited),
        ];
        let arch = match self.file_type {
            t if t & file_type::AARCH64 != 0 => "aarch64",
            t if t & file_type::X86_64 != 0 => "x86_64",
            _ => "",
        };
        FileReport {
            timed: self.stamps > 0,
            facts: FileFacts { arch: arch.to_owned(), ..FileFacts::default() },
            notes: self.notes().into_iter().chain(waits).collect(),
            exact: ExactReport {
                missing: self.missing(),
                counted: counted.into_iter().filter(|(_, n)| *n > 0).collect(),
                ..ExactReport::default()
            },
            ..FileReport::default()
        }
    }

    /// Reason why references are missing that the program made.
    fn missing(&self) -> String {
        let mut reasons = Vec::new();
        if self.file_type & file_type::INSTRUCTIONS_ONLY != 0 {
            reasons.push("it is a trace of instructions alone".to_owned());
        }
        if self.file_type & (file_type::FILTERED | file_type::DATA_FILTERED) != 0 {
            reasons.push("the tracer left out references that hit in a small cache".to_owned());
        }
        if self.windows.len() > 1 || self.windows.first().is_some_and(|&first| first > 0) {
            reasons.push(format!("it has {} windows of the run", self.windows.len()));
        }
        reasons.join("; ")
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let mut note = |n: u64, what: &str| {
            if n > 0 {
                notes.push(format!("{n} {what}"));
            }
        };
        note(self.kernel, "loads and stores of the kernel are left out");
        note(self.unsized_refs, "loads and stores have no size in the trace and are taken for one byte");
        note(self.prefetches, "prefetches are counted and are no references");
        note(self.backwards, "stamps lie before the one before them in their thread, and were moved to it");
        for (marker, n) in &self.unknown {
            note(*n, &format!("markers of type {marker}, which is not known, were passed over"));
        }
        note(self.more_unknown, "markers of further unknown types were passed over");
        notes
    }
}
