//! `perf.data` as `perf record`, `perf mem` and `perf c2c` write it.
//!
//! Reading order: `container` (header, events, where the records are), `features` (facts about the recorded machine),
//! `folder` (recordings of several files), `stream` (records one at a time), `packed` (records in compressed ones), `queue` (back into order of time), `decoding` (records to samples), `rebuild`
//! (addresses where samples have none but registers), `spe` (samples as packets).
//!
//! No library is used for the container: the one that exists (linux-perf-data) allocates whatever length a file claims and
//! adds offsets unchecked, and its record reader passes over weight and data source, which are what placement lives on.
mod container;
mod decoding;
mod event;
mod features;
mod folder;
mod packed;
mod queue;
mod rebuild;
mod spe;
mod stream;
#[cfg(test)]
mod testfile;
#[cfg(test)]
mod tests;

use super::{Format, ReadError};
use crate::report::{FileReport, ImportSink, Input};
use container::Header;
pub(super) use folder::WHOLE;
use homenode_sampling::perf::Counts;
use std::fs::File;
use std::io::{BufReader, Read, Seek};

pub(crate) static SPEC: Format = Format {
    name: "perf.data",
    summary: "`perf record -d`, `perf mem record` and `perf c2c record`: samples of memory accesses, Arm SPE included; also compressed (`-z`) and as a folder (`--threads`)",
    recognises: |look| container::recognises(&look.start) || folder::recognises(&look.names),
    read,
};

/// Bytes of the file read at once.
const BUFFER: usize = 1 << 20;

fn read(input: Input<'_>, sink: &mut dyn ImportSink) -> Result<FileReport, ReadError> {
    let mut report = match input {
        Input::File(source) => {
            let (header, reader) = opened(source)?;
            if header.of_folder {
                return Err(ReadError::File(WHOLE.to_owned()));
            }
            decoding::run(header, reader, &mut std::iter::empty::<Result<File, ReadError>>(), sink)?
        }
        Input::Folder(dir) => folder::read(dir, sink)?,
    };
    evidence(&report.counts).map_err(ReadError::File)?;
    report.sampling.lost = report.counts.lost;
    report.sampling.unaddressed = report.counts.unaddressed + report.counts.kernel;
    Ok(report)
}

/// Whether a file of this name may be one of records, without a header, of such a folder.
pub(super) fn is_part(name: &str) -> bool {
    folder::part(name).is_some()
}

fn opened<R: Read + Seek>(source: R) -> Result<(Header, BufReader<R>), ReadError> {
    container::open(BufReader::with_capacity(BUFFER, source)).map_err(ReadError::File)
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
