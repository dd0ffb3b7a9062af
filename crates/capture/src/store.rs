//! A dataset that is a directory, and the rules for creating and replacing files in it.
use crate::error::CaptureError;
use homenode_trace::store::{ReadAt, Store};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Name of the manifest inside a dataset.
pub(crate) const MANIFEST: &str = "manifest.json";
/// Directory of the rings; exists only while recording and after a crash.
pub(crate) const RINGS: &str = "rings";
/// Directory of the frame files.
pub(crate) const THREADS: &str = "threads";

/// The files of a dataset directory, rings excluded.
#[derive(Clone, Debug)]
pub struct DirStore {
    root: PathBuf,
}

impl DirStore {
    /// Opens the dataset at `root`.
    ///
    /// # Errors
    /// [`CaptureError::NotADataset`] unless `root` is a directory with a manifest.
    pub fn open(root: &Path) -> Result<DirStore, CaptureError> {
        let not = |why: &str| CaptureError::NotADataset { path: root.to_owned(), why: why.to_owned() };
        match fs::metadata(root) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(not("there is no such file or directory")),
            Err(e) => return Err(CaptureError::io("read", root)(e)),
            Ok(meta) if !meta.is_dir() => return Err(not("it is a file, a dataset is a directory")),
            Ok(_) => {}
        }
        if !root.join(MANIFEST).is_file() {
            return Err(not("it has no manifest.json; `homenode recover` can rebuild it from a recorder's leftovers"));
        }
        Ok(DirStore { root: root.to_owned() })
    }
    /// A store over any directory, dataset or not.
    pub(crate) fn at(root: &Path) -> DirStore {
        DirStore { root: root.to_owned() }
    }
    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }
    /// Bytes of all files of the dataset.
    pub fn bytes(&self) -> io::Result<u64> {
        let mut sum = 0;
        for name in self.names()? {
            sum += fs::metadata(self.root.join(name))?.len();
        }
        Ok(sum)
    }
}

struct DirFile(File);

impl ReadAt for DirFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < buf.len() {
            match self.0.read_at(&mut buf[done..], offset.saturating_add(done as u64)) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(done)
    }
}

impl Store for DirStore {
    fn open(&self, name: &str) -> io::Result<Arc<dyn ReadAt>> {
        if !Path::new(name).components().all(|c| matches!(c, Component::Normal(_))) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "names inside a dataset are relative and plain"));
        }
        let file = File::open(self.root.join(name))?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a regular file"));
        }
        Ok(Arc::new(DirFile(file)))
    }
    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        list(&self.root, "", &mut names)?;
        names.sort();
        Ok(names)
    }
}

fn list(dir: &Path, prefix: &str, names: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let kind = entry.file_type()?;
        if kind.is_file() && !name.starts_with('.') {
            names.push(format!("{prefix}{name}"));
        } else if kind.is_dir() && prefix.is_empty() && name != RINGS && !name.starts_with('.') {
            list(&entry.path(), &format!("{name}/"), names)?;
        }
    }
    Ok(())
}

/// Makes sure that a dataset may be put at `out`; what stands there stays.
///
/// # Errors
/// [`CaptureError::OutputExists`] without `force`; with it, [`CaptureError::NotReplaceable`] unless what stands there is a
/// dataset directory or an empty one, and [`CaptureError::RecorderAlive`] while it is being written.
pub(crate) fn replace_target(out: &Path, force: bool) -> Result<(), CaptureError> {
    let Ok(meta) = fs::symlink_metadata(out) else { return Ok(()) };
    if !force {
        return Err(CaptureError::OutputExists(out.to_owned()));
    }
    if !meta.is_dir() || !(is_dataset(out) || is_empty(out)) {
        return Err(CaptureError::NotReplaceable(out.to_owned()));
    }
    crate::control::refuse_while_recorded(out)
}

/// Creates the directory of a new dataset with its sub-directories; errors as [`replace_target`].
pub(crate) fn create_dataset(out: &Path, force: bool) -> Result<(), CaptureError> {
    replace_target(out, force)?;
    if out.exists() {
        fs::remove_dir_all(out).map_err(CaptureError::io("replace", out))?;
    }
    fs::create_dir(out).map_err(CaptureError::io("create", out))?;
    for part in [THREADS, RINGS] {
        let dir = out.join(part);
        fs::create_dir(&dir).map_err(CaptureError::io("create", &dir))?;
    }
    Ok(())
}

/// Whether a directory is a dataset that this program wrote: by its manifest, or by its control file if a crash came before
/// the manifest.
fn is_dataset(dir: &Path) -> bool {
    let manifest = fs::read_to_string(dir.join(MANIFEST)).unwrap_or_default();
    manifest.contains("\"homenode-trace\"") || crate::control::Control::open(&dir.join(RINGS)).is_ok()
}

fn is_empty(dir: &Path) -> bool {
    fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none())
}

/// Writes `path` so that a reader, or a crash, sees either the old content or the new: a hidden sibling is written, synced
/// and renamed over it.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let hidden = sibling(path, "new");
    let result = (|| {
        let mut file = File::create(&hidden)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&hidden, path)
    })();
    if result.is_err() {
        // Best effort: the error that matters is the first one.
        let _ = fs::remove_file(&hidden);
    }
    result
}

/// A hidden name beside `path`, which [`DirStore`] does not list.
pub(crate) fn sibling(path: &Path, suffix: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{suffix}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_reads_only_what_belongs_to_the_dataset() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("x.hnt");
        assert!(matches!(DirStore::open(&root), Err(CaptureError::NotADataset { .. })));
        create_dataset(&root, false).unwrap();
        replace_file(&root.join(MANIFEST), b"{\"format\":\"homenode-trace\"}").unwrap();
        for name in ["threads/1.frames", "threads/0.frames", "rings/0.ring", "threads/.0.frames.new"] {
            fs::write(root.join(name), name).unwrap();
        }
        let store = DirStore::open(&root).unwrap();
        assert_eq!(store.names().unwrap(), ["manifest.json", "threads/0.frames", "threads/1.frames"]);
        let mut buf = [0; 64];
        assert_eq!(store.open("threads/1.frames").unwrap().read_at(8, &mut buf).unwrap(), 8);
        assert_eq!(&buf[..8], b"1.frames");
        for bad in ["../x.hnt/manifest.json", "/etc/passwd", "threads", "./manifest.json", "none"] {
            assert!(store.open(bad).is_err(), "{bad}");
        }
        assert_eq!(store.bytes().unwrap(), 27 + 32);
    }

    #[test]
    fn existing_outputs_are_kept_unless_forced_and_ours() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("x.hnt");
        create_dataset(&root, false).unwrap();
        assert!(matches!(create_dataset(&root, false), Err(CaptureError::OutputExists(_))));
        assert!(matches!(create_dataset(&root, true), Err(CaptureError::NotReplaceable(_))), "no manifest yet");
        fs::write(root.join(MANIFEST), "{\"format\":\"homenode-trace\"}").unwrap();
        fs::write(root.join("threads/0.frames"), "old").unwrap();
        create_dataset(&root, true).unwrap();
        assert!(!root.join("threads/0.frames").exists() && root.join(RINGS).is_dir());

        let file = dir.path().join("notes.txt");
        fs::write(&file, "mine").unwrap();
        assert!(matches!(create_dataset(&file, true), Err(CaptureError::NotReplaceable(_))));
        let home = dir.path().join("home");
        fs::create_dir(&home).unwrap();
        fs::write(home.join("thesis.tex"), "mine").unwrap();
        assert!(matches!(create_dataset(&home, true), Err(CaptureError::NotReplaceable(_))));
        let link = dir.path().join("link.hnt");
        std::os::unix::fs::symlink(&root, &link).unwrap();
        assert!(matches!(create_dataset(&link, true), Err(CaptureError::NotReplaceable(_))), "a link is not ours");
        assert_eq!(fs::read_to_string(home.join("thesis.tex")).unwrap(), "mine");
        assert!(matches!(create_dataset(&dir.path().join("no/x.hnt"), false), Err(CaptureError::Io { .. })));
    }

    #[test]
    fn a_failed_replacement_leaves_the_old_file_and_no_litter() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        replace_file(&path, b"old").unwrap();
        fs::create_dir(sibling(&path, "new")).unwrap();
        assert!(replace_file(&path, b"new").is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
    }
}
