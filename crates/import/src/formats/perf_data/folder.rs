//! Recordings of several threads of `perf` (`perf record --threads`): a folder with a file `data`, whose header counts for all, and
//! files `data.0`, `data.1` and so on, which hold nothing but records.
//!
//! `perf` marks no rounds there: everything is held until all files are read, since any may hold the oldest record.
use super::decoding;
use super::opened;
use crate::formats::ReadError;
use crate::report::{FileReport, ImportSink};
use homenode_sys::dir::Dir;
use std::fs::File;
use std::io::BufReader;

/// The file with the header.
const FIRST: &str = "data";
/// What to do with one file of them.
pub(in super::super) const WHOLE: &str = "it is one file of a recording of several (`perf record --threads`), and the samples are in all of them: \
    import the folder in which it lies";
/// Most other files; `perf` has one a thread, of which there is at most one a processor.
const PARTS_MAX: usize = 65_536;
/// Bytes of a file read at once.
const BUFFER: usize = 1 << 18;

/// Whether a folder with these names is one.
pub(super) fn recognises(names: &[String]) -> bool {
    names.iter().any(|n| n == FIRST) && names.iter().any(|n| part(n).is_some())
}

/// The number of a file of records.
pub(super) fn part(name: &str) -> Option<u32> {
    let digits = name.strip_prefix(FIRST)?.strip_prefix('.')?;
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
}

pub(super) fn read(dir: &Dir, sink: &mut dyn ImportSink) -> Result<FileReport, ReadError> {
    let refused = |name: &str, e: std::io::Error| ReadError::File(format!("the file {name} in it cannot be read: {e}"));
    let names = dir.names().map_err(|e| ReadError::File(e.to_string()))?;
    let mut parts: Vec<(u32, String)> = names.into_iter().filter_map(|n| Some((part(&n)?, n))).collect();
    parts.sort();
    if parts.len() > PARTS_MAX {
        return Err(ReadError::File(format!("it has more than {PARTS_MAX} files of records")));
    }
    let gap = (0..).zip(&parts).find(|(i, part)| *i != part.0).map(|(i, _)| i);
    let (header, reader) = opened(dir.read(FIRST).map_err(|e| refused(FIRST, e))?)?;
    let open = |(_, name): &(u32, String)| -> Result<BufReader<File>, ReadError> {
        Ok(BufReader::with_capacity(BUFFER, dir.read(name).map_err(|e| refused(name, e))?))
    };
    let mut report = decoding::run(header, reader, &mut parts.iter().map(open), sink)?;
    report.notes.extend(gap.map(|i| format!("the file {FIRST}.{i} is not there: what it held is lost")));
    Ok(report)
}
