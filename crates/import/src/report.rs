//! What a format delivers: samples, notices and names, or exact references, while it reads, and a report at its end.
use crate::error::ImportError;
use homenode_sampling::perf::Counts;
use homenode_sampling::{Notice, RawSample};
use homenode_sys::dir::Dir;
use homenode_trace::frame::RawRef;
use homenode_trace::symbols::{Global, Site};
use homenode_trace::{Event, Sampling};
use std::fs::File;
use std::io::{self, Cursor, Read, Seek};

/// A file to read.
pub trait Source: Read + Seek {
    /// The file itself, for libraries that read from several places of it; `None` for bytes in memory.
    fn handle(&self) -> Option<io::Result<File>>;
}

impl Source for File {
    fn handle(&self) -> Option<io::Result<File>> {
        Some(self.try_clone())
    }
}

impl<B: AsRef<[u8]>> Source for Cursor<B> {
    fn handle(&self) -> Option<io::Result<File>> {
        None
    }
}

impl<S: Source + ?Sized> Source for &mut S {
    fn handle(&self) -> Option<io::Result<File>> {
        (**self).handle()
    }
}

/// What is to be imported.
pub enum Input<'a> {
    /// A regular file.
    File(&'a mut dyn Source),
    /// A folder of files.
    Folder(&'a Dir),
}

impl<'a> Input<'a> {
    /// The file, for formats that have no folders.
    ///
    /// # Errors
    /// In words, if it is a folder.
    pub fn file(self) -> Result<&'a mut dyn Source, String> {
        match self {
            Input::File(source) => Ok(source),
            Input::Folder(_) => Err("it is a folder, and this format has none: give the file in it".to_owned()),
        }
    }
}

/// Is handed what a file holds, in order of time as far as the file allows. One file has either samples or exact references.
pub trait ImportSink {
    /// A sample with a usable address.
    fn sample(&mut self, sample: &RawSample) -> Result<(), ImportError>;
    /// Something else.
    fn notice(&mut self, notice: &Notice) -> Result<(), ImportError>;
    /// A process took a name.
    fn name(&mut self, pid: u32, name: &str, exec: bool);
    /// Where exact references go.
    ///
    /// # Errors
    /// The sink takes none, or what it begins with cannot be written.
    fn exact(&mut self) -> Result<&mut dyn ExactSink, ImportError>;
}

/// Is handed what an exact recording holds. References of a thread come in its program order, threads in any.
pub trait ExactSink {
    /// The number of a thread in the dataset, which is a new one for a (process id, thread id) that was not asked for before.
    ///
    /// # Errors
    /// There are more threads than a dataset may have.
    fn thread(&mut self, pid: u32, tid: u32) -> Result<u32, ImportError>;
    /// What is known of a process beside its id.
    fn process(&mut self, pid: u32, executable: &str);
    /// References of a thread.
    ///
    /// # Errors
    /// They cannot be written.
    fn references(&mut self, thread: u32, batch: Batch<'_>) -> Result<(), ImportError>;
    /// References of a thread taken so far: the place of an event that comes now.
    fn taken(&self, thread: u32) -> u64;
    /// An event, at its place among the references of its thread. Events of a thread come in its program order, but they may come
    /// long after the references around them.
    ///
    /// # Errors
    /// It cannot be written.
    fn event(&mut self, event: Event) -> Result<(), ImportError>;
    /// The name of a code location; those that are never named are numbers only. `process` in it is the place in the manifest.
    fn site(&mut self, site: Site);
    /// Named data; `process` as for sites.
    fn global(&mut self, global: Global);
}

/// References of one thread, one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Batch<'a> {
    /// Time of the first of them, not before that of the batch before; `None` where nothing new is known.
    pub stamp: Option<u64>,
    /// The references. No size is 0.
    pub refs: &'a [RawRef],
    /// For each of them the instructions counted from the one after the reference before up to and with its own; empty where they
    /// were not counted.
    pub instructions: &'a [u32],
}

/// What a whole file said.
#[derive(Clone, Debug, Default)]
pub struct FileReport {
    /// Events in words.
    pub sampling: Sampling,
    /// What was seen and dropped.
    pub counts: Counts,
    /// About the recorded machine.
    pub facts: FileFacts,
    /// Whether stamps are nanoseconds; else samples are numbered.
    pub timed: bool,
    /// What a reader should know, in sentences.
    pub notes: Vec<String>,
    /// What is special of an exact recording.
    pub exact: ExactReport,
}

/// What an exact recording said of itself as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExactReport {
    /// Reason why references are missing that were made, in words; empty if all are there.
    pub missing: String,
    /// References that were counted and are not there.
    pub dropped: u64,
    /// Whether what orders its threads was recorded.
    pub synchronised: bool,
    /// Whether stamps are the order of all its references.
    pub in_order: bool,
    /// What was counted in the file, by name: `instructions`, `loads`.
    pub counted: Vec<(&'static str, u64)>,
}

/// What the file says of where it was made; empty or 0 = nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileFacts {
    /// Kernel.
    pub kernel: String,
    /// Architecture as in `uname -m`.
    pub arch: String,
    /// Processor.
    pub processor: String,
    /// Processors online.
    pub cpus: u32,
    /// Command line of `perf`.
    pub command: Vec<String>,
}
