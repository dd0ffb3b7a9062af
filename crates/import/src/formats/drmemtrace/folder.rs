//! The files of a trace: in a folder, in its sub-folder `trace`, and there perhaps in one folder for each window.
use super::entry::{BYTES, Entry, file_type, marker};
use super::stream::{RAW, Stream};
use crate::unpack;
use homenode_sys::dir::{Dir, Kind};
use std::fs::File;
use std::io::Read;

/// Most files of one trace.
const FILES_MAX: usize = 1 << 17;
/// Records of a file before which its type stands.
const HEAD: usize = 64;

/// The files of a trace, in the order of their names.
pub(super) struct Folder {
    /// Folders of windows, with the numbers of these; or the only folder.
    dirs: Vec<(Option<u32>, Dir)>,
    /// Folder, by its place, and name.
    files: Vec<(usize, String)>,
    /// The folder that was given.
    root: Dir,
}

/// Sub-folders in which files lie that belong to a trace.
const AROUND: [&str; 3] = ["raw", "trace", "aux"];

/// Whether a folder with these names is that of a trace, if only of a raw one.
pub(super) fn recognises(names: &[String]) -> bool {
    names.iter().any(|n| is_trace(n) || is_raw(n) || window(n).is_some() || n == "trace" || n == "raw")
}

/// Whether a file of this name holds records. Beside them lie schedules, lists of modules and the like.
fn is_trace(name: &str) -> bool {
    let plain = ["gz", "zip", "lz4", "sz", "zlib"].iter().find_map(|e| name.strip_suffix(e)?.strip_suffix('.'));
    plain.unwrap_or(name).ends_with(".trace")
}

fn is_raw(name: &str) -> bool {
    name.ends_with(".raw") || name.contains(".raw.")
}

/// The number in the name of a folder of a window.
fn window(name: &str) -> Option<u32> {
    name.strip_prefix("window.")?.parse().ok()
}

impl Folder {
    /// Finds the files.
    pub(super) fn find(dir: &Dir) -> Result<Folder, String> {
        let root = dir.clone();
        let dir = match dir.kind("trace").map_err(|e| e.to_string())? {
            Some(Kind::Directory) => dir.sub("trace").map_err(|e| format!("trace: {e}"))?,
            _ => dir.clone(),
        };
        let mut folder = Folder { dirs: Vec::new(), files: Vec::new(), root };
        let names = sorted(&dir)?;
        let mut windows: Vec<(u32, &String)> = names.iter().filter_map(|n| Some((window(n)?, n))).collect();
        windows.sort();
        if windows.is_empty() {
            folder.add(None, dir.clone())?;
        }
        for (number, name) in windows {
            folder.add(Some(number), dir.sub(name).map_err(|e| format!("{name}: {e}"))?)?;
        }
        let raw = names.iter().any(|n| is_raw(n) || n == "raw");
        match (folder.files.is_empty(), raw) {
            (false, _) => Ok(folder),
            (true, true) => Err(RAW.to_owned()),
            (true, false) => Err("no trace file (NAME.trace, .trace.gz, .trace.zip or .trace.lz4) is in it".to_owned()),
        }
    }

    fn add(&mut self, window: Option<u32>, dir: Dir) -> Result<(), String> {
        let found = sorted(&dir)?.into_iter().filter(|name| is_trace(name));
        let place = self.dirs.len();
        self.files.extend(found.map(|name| (place, name)));
        self.dirs.push((window, dir));
        if self.files.len() > FILES_MAX {
            return Err(format!("it has more than {FILES_MAX} trace files"));
        }
        Ok(())
    }

    /// Window and name of each file; window after window.
    pub(super) fn files(&self) -> impl Iterator<Item = (Option<u32>, &str)> {
        self.files.iter().map(|(dir, name)| (self.dirs[*dir].0, name.as_str()))
    }

    /// Opens a file, which must be a regular one.
    pub(super) fn open(&self, window: Option<u32>, name: &str) -> Result<Stream<'static>, String> {
        let dir = self.dirs.iter().find(|d| d.0 == window).map(|d| &d.1).ok_or("there is no such window")?;
        let file = dir.read(name).map_err(|e| format!("{name}: {e}"))?;
        Ok(Stream::new(unpack::open(file).map_err(|e| format!("{name}: {e}"))?))
    }

    /// A file that belongs to the trace: in the folder, or in one of those in it.
    pub(super) fn beside(&self, name: &str) -> Result<Option<File>, String> {
        let among = |dir: &Dir| match dir.kind(name).map_err(|e| format!("{name}: {e}"))? {
            Some(Kind::File(_)) => dir.read(name).map(Some).map_err(|e| format!("{name}: {e}")),
            _ => Ok(None),
        };
        let found = among(&self.root)?;
        AROUND.iter().try_fold(found, |found, sub| match (found, self.root.kind(sub)) {
            (None, Ok(Some(Kind::Directory))) => among(&self.root.sub(sub).map_err(|e| format!("{sub}: {e}"))?),
            (found, _) => Ok(found),
        })
    }

    /// Whether its files are of processors: as the first of them says.
    pub(super) fn is_by_core(&self) -> Result<bool, String> {
        let Some((window, name)) = self.files().next() else { return Ok(false) };
        let mut stream = self.open(window, name)?;
        let start = stream.rest().map_err(|e| format!("{name}: {e}"))?;
        let (head, _) = start.as_chunks::<BYTES>();
        let of_type = head.iter().take(HEAD).map(Entry::of).find(|e| e.marker() == Some(marker::FILE_TYPE));
        Ok(of_type.is_some_and(|e| e.value & file_type::BY_CORE != 0))
    }
}

/// All bytes of a file, if they are not too many.
pub(super) fn bounded(file: File, most: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    if bytes.len() as u64 > most { Err(format!("it is longer than {most} bytes")) } else { Ok(bytes) }
}

fn sorted(dir: &Dir) -> Result<Vec<String>, String> {
    let mut names = dir.names().map_err(|e| e.to_string())?;
    names.sort();
    Ok(names)
}
