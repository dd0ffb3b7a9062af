//! Importing a file or a folder.
use crate::dataset::{ImportSummary, Writer};
use crate::error::ImportError;
use crate::formats::{self, Look, ReadError, START_BYTES};
use crate::report::{FileReport, ImportSink, Input, Source};
use crate::unpack;
use homenode_capture::store::NewDataset;
use homenode_sys::dir::{Dir, regular};
use std::fs;
use std::io::{Read, SeekFrom};
use std::path::Path;

/// Reads what is called `path`, a file from the beginning; its first bytes, or the names in it, say which format it is of. Also
/// says which.
///
/// # Errors
/// [`ImportError::File`] for a file that is damaged, of a kind not supported, or without data addresses; and what the
/// sink says.
pub fn read(
    path: &Path,
    mut input: Input<'_>,
    sink: &mut dyn ImportSink,
) -> Result<(&'static str, FileReport), ImportError> {
    let refuse = |why: String| ImportError::File { path: path.to_owned(), why };
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let look = match &mut input {
        Input::File(source) => look(*source, name),
        Input::Folder(dir) => names(dir).map(|names| Look { name, names, ..Look::default() }),
    };
    let format = look.and_then(|look| formats::of(&look)).map_err(refuse)?;
    let report = (format.read)(input, sink).map_err(|e| match e {
        ReadError::File(why) | ReadError::Sink(ImportError::Content(why)) => refuse(why),
        ReadError::Sink(e) => e,
    })?;
    Ok((format.name, report))
}

/// How a file begins, which is then at its beginning again.
fn look(source: &mut dyn Source, name: String) -> Result<Look, String> {
    let words = |e: std::io::Error| e.to_string();
    let mut start = Vec::new();
    (&mut *source).take(START_BYTES as u64).read_to_end(&mut start).map_err(words)?;
    source.seek(SeekFrom::Start(0)).map_err(words)?;
    let content = unpack::start(source, START_BYTES)?;
    source.seek(SeekFrom::Start(0)).map_err(words)?;
    Ok(Look { name, start, content, names: Vec::new() })
}

/// Names in a folder, sorted.
fn names(dir: &Dir) -> Result<Vec<String>, String> {
    let mut names = dir.names().map_err(|e| e.to_string())?;
    names.sort();
    if names.is_empty() { Err("it is an empty folder".to_owned()) } else { Ok(names) }
}

/// Makes a dataset at `out` of the file or folder at `path`. It grows beside `out` under a hidden name, so that a refused file
/// leaves nothing behind and what stood there stays.
///
/// # Errors
/// As [`read`]; [`homenode_capture::CaptureError::OutputExists`] and the like; what writing meets.
pub fn import(path: &Path, out: &Path, force: bool) -> Result<ImportSummary, ImportError> {
    let new = NewDataset::hidden(out, force, "import")?;
    let done = fill(path, &new.dir).and_then(|summary| {
        new.settle()?;
        Ok(ImportSummary { path: out.to_owned(), ..summary })
    });
    if done.is_err() {
        new.abandon();
    }
    done
}

fn fill(path: &Path, root: &Dir) -> Result<ImportSummary, ImportError> {
    // What was given to import is at fault, as with a file of the wrong kind.
    let refuse = |why: String| ImportError::File { path: path.to_owned(), why };
    let system = |e: std::io::Error| refuse(e.to_string());
    let kind = fs::metadata(path).map_err(system)?;
    let mut writer = Writer::new(root);
    let (format, report) = if kind.is_dir() {
        read(path, Input::Folder(&Dir::open(path).map_err(system)?), &mut writer)?
    } else if kind.is_file() {
        read(path, Input::File(&mut regular(path).map_err(system)?), &mut writer)?
    } else {
        return Err(refuse("it is neither a regular file nor a folder".to_owned()));
    };
    writer.finish(format, report)
}
