//! What a format delivers: samples, notices and names while it reads, and a report at its end.
use crate::error::ImportError;
use homenode_sampling::perf::Counts;
use homenode_sampling::{Notice, RawSample};
use homenode_trace::Sampling;
use std::io::{Read, Seek};

/// A file to read.
pub trait Source: Read + Seek {}

impl<R: Read + Seek> Source for R {}

/// Is handed what a file holds, in order of time as far as the file allows.
pub trait ImportSink {
    /// A sample with a usable address.
    fn sample(&mut self, sample: &RawSample) -> Result<(), ImportError>;
    /// Something else.
    fn notice(&mut self, notice: &Notice) -> Result<(), ImportError>;
    /// A process took a name.
    fn name(&mut self, pid: u32, name: &str, exec: bool);
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
