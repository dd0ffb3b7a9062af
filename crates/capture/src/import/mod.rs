//! Recordings of other tools as datasets. Now: `perf.data` as `perf record`, `perf mem` and `perf c2c` write it.
//!
//! Reading order: `container` (header, events, where the records are), `features` (facts about the recorded machine),
//! `stream` (records one at a time), `queue` (back into order of time), `decoding` (records to samples), `rebuild`
//! (addresses where samples have none but registers), `spe` (samples as packets), `people` (who and
//! what is mapped), `out` (the dataset), [`import()`].
//!
//! No library is used for the container: the one that exists (linux-perf-data) allocates whatever length a file claims and
//! adds offsets unchecked, and its record reader passes over weight and data source, which are what placement lives on.
mod container;
mod decoding;
mod features;
mod out;
mod people;
mod queue;
mod rebuild;
mod spe;
mod stream;
#[cfg(test)]
mod testfile;
#[cfg(test)]
mod tests;

use crate::error::CaptureError;
use crate::store::{NewDataset, put_in_place, replace_target, sibling};
use homenode_sampling::perf::Counts;
use homenode_sampling::{Notice, RawSample};
use homenode_sys::dir::Dir;
use homenode_trace::Sampling;
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};

pub use features::FileFacts;

/// What an import came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportSummary {
    /// The dataset.
    pub path: PathBuf,
    /// Samples in it.
    pub samples: u64,
    /// Events in it.
    pub events: u64,
    /// Threads with samples.
    pub threads: u32,
    /// Processes with samples.
    pub processes: u32,
    /// Bytes of the dataset.
    pub bytes: u64,
    /// How the recording was sampled.
    pub sampling: Sampling,
    /// What was seen and dropped.
    pub counts: Counts,
    /// What a reader should know, in sentences.
    pub notes: Vec<String>,
}

/// Is handed what a file holds, in order of time as far as the file allows.
pub trait ImportSink {
    /// A sample with a usable address.
    fn sample(&mut self, sample: &RawSample) -> Result<(), CaptureError>;
    /// Something else.
    fn notice(&mut self, notice: &Notice) -> Result<(), CaptureError>;
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

/// Reads a perf.data file from `reader`.
///
/// # Errors
/// [`CaptureError::Import`] for a file that is damaged, of a kind not supported, or without data addresses; and what the
/// sink says.
pub fn read<R: Read + Seek>(path: &Path, reader: R, sink: &mut dyn ImportSink) -> Result<FileReport, CaptureError> {
    let refuse = |why: String| CaptureError::Import { path: path.to_owned(), why };
    let (header, reader) = container::open(reader).map_err(refuse)?;
    let mut report = decoding::run(header, reader, sink).map_err(|e| match e {
        decoding::Failure::File(why) => refuse(why),
        decoding::Failure::Sink(e) => e,
    })?;
    evidence(&report.counts).map_err(refuse)?;
    report.sampling.lost = report.counts.lost;
    report.sampling.unaddressed = report.counts.unaddressed + report.counts.kernel;
    Ok(report)
}

/// Whether anything is left that placement can use.
fn evidence(c: &Counts) -> Result<(), String> {
    if c.delivered > 0 {
        return Ok(());
    }
    Err(match (c.seen, c.unaddressed, c.kernel) {
        (0, _, _) => "it holds no samples".to_owned(),
        (seen, without, 0) if without == seen => format!(
            "none of its {seen} samples has a data address (all are 0): the event does not record addresses; record with \
             `perf mem record` or another event that samples memory accesses"
        ),
        (seen, without, kernel) => format!(
            "none of its {seen} samples has an address of user space ({without} have none, {kernel} are of the kernel)"
        ),
    })
}

/// Makes a dataset at `out` of the perf.data file at `file`. It grows beside `out` under a hidden name, so that a refused
/// file leaves nothing behind and what stood there stays.
///
/// # Errors
/// As [`read`]; [`CaptureError::OutputExists`] and the like; what writing meets.
pub fn import(file: &Path, out: &Path, force: bool) -> Result<ImportSummary, CaptureError> {
    replace_target(out, force)?;
    // What was given to import is at fault, as with a file of the wrong kind.
    let opened = File::open(file).map_err(|e| CaptureError::Import { path: file.to_owned(), why: e.to_string() })?;
    if !opened.metadata().is_ok_and(|m| m.is_file()) {
        return Err(CaptureError::Import { path: file.to_owned(), why: "it is not a regular file".to_owned() });
    }
    let hidden = sibling(out, &format!("{}.import", std::process::id()));
    let new = NewDataset::create(&hidden, false)?;
    let done = fill(file, opened, &new.dir).and_then(|summary| {
        put_in_place(&hidden, out)?;
        Ok(ImportSummary { path: out.to_owned(), ..summary })
    });
    if done.is_err() {
        new.abandon();
    }
    done
}

fn fill(file: &Path, opened: File, root: &Dir) -> Result<ImportSummary, CaptureError> {
    let mut writer = out::Writer::new(root)?;
    let report = read(file, BufReader::with_capacity(1 << 20, opened), &mut writer)?;
    writer.finish(report)
}
