//! Importing a file.
use crate::dataset::{ImportSummary, Writer};
use crate::error::ImportError;
use crate::formats::{self, ReadError, START_BYTES};
use crate::report::{FileReport, ImportSink, Source};
use homenode_capture::store::NewDataset;
use homenode_sys::dir::Dir;
use std::fs::File;
use std::io::{Read, SeekFrom};
use std::path::Path;

/// Reads a file, called `path`, from the beginning of `source`; its first bytes say which format it is of. Also says which.
///
/// # Errors
/// [`ImportError::File`] for a file that is damaged, of a kind not supported, or without data addresses; and what the
/// sink says.
pub fn read(
    path: &Path,
    source: &mut dyn Source,
    sink: &mut dyn ImportSink,
) -> Result<(&'static str, FileReport), ImportError> {
    let refuse = |why: String| ImportError::File { path: path.to_owned(), why };
    let mut start = Vec::new();
    let begun = (&mut *source).take(START_BYTES as u64).read_to_end(&mut start);
    begun.and_then(|_| source.seek(SeekFrom::Start(0))).map_err(|e| refuse(e.to_string()))?;
    let format = formats::of(&start).map_err(refuse)?;
    let report = (format.read)(source, sink).map_err(|e| match e {
        ReadError::File(why) => refuse(why),
        ReadError::Sink(e) => e,
    })?;
    Ok((format.name, report))
}

/// Makes a dataset at `out` of the file at `file`. It grows beside `out` under a hidden name, so that a refused file leaves
/// nothing behind and what stood there stays.
///
/// # Errors
/// As [`read`]; [`homenode_capture::CaptureError::OutputExists`] and the like; what writing meets.
pub fn import(file: &Path, out: &Path, force: bool) -> Result<ImportSummary, ImportError> {
    let new = NewDataset::hidden(out, force, "import")?;
    let done = fill(file, &new.dir).and_then(|summary| {
        new.settle()?;
        Ok(ImportSummary { path: out.to_owned(), ..summary })
    });
    if done.is_err() {
        new.abandon();
    }
    done
}

fn fill(file: &Path, root: &Dir) -> Result<ImportSummary, ImportError> {
    // What was given to import is at fault, as with a file of the wrong kind.
    let refuse = |why: String| ImportError::File { path: file.to_owned(), why };
    let mut opened = File::open(file).map_err(|e| refuse(e.to_string()))?;
    if !opened.metadata().is_ok_and(|m| m.is_file()) {
        return Err(refuse("it is not a regular file".to_owned()));
    }
    let mut writer = Writer::new(root)?;
    let (format, report) = read(file, &mut opened, &mut writer)?;
    writer.finish(format, report)
}
