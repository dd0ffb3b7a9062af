//! A dataset that is a directory, and the rules for creating and replacing files in it.
use crate::control::{self, RINGS};
use crate::error::CaptureError;
use homenode_sys::dir::{self, Dir, Kind};
use homenode_trace::store::{ReadAt, Store};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Name of the manifest inside a dataset.
pub(crate) const MANIFEST: &str = "manifest.json";
/// Directory of the frame files.
pub(crate) const THREADS: &str = "threads";

/// The files of a dataset directory, rings excluded. Whoever made the directory may have put anything into it, so every
/// file is opened relative to it, without following links, and only if it is a regular one: see [`Dir`].
#[derive(Clone, Debug)]
pub struct DirStore {
    dir: Dir,
}

impl DirStore {
    /// Opens the dataset at `root`.
    ///
    /// # Errors
    /// [`CaptureError::NotADataset`] unless `root` is a directory with a manifest.
    pub fn open(root: &Path) -> Result<DirStore, CaptureError> {
        let not = |why: &str| CaptureError::NotADataset { path: root.to_owned(), why: why.to_owned() };
        let dir = match Dir::open(root) {
            Ok(dir) => dir,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(not("there is no such file or directory")),
            Err(e) if e.kind() == io::ErrorKind::NotADirectory => {
                return Err(not("it is a file, a dataset is a directory"));
            }
            Err(e) => return Err(CaptureError::io("read", root)(e)),
        };
        match dir.kind(MANIFEST).map_err(CaptureError::io("read", root))? {
            Some(Kind::File(_)) => Ok(DirStore { dir }),
            None => Err(not("it has no manifest.json; `homenode recover` can rebuild it from a recorder's leftovers")),
            Some(_) => Err(not("its manifest.json is not a regular file; `homenode recover` puts it aside")),
        }
    }
    /// A store over any directory, dataset or not.
    pub fn of(dir: &Dir) -> DirStore {
        DirStore { dir: dir.clone() }
    }
    /// The directory.
    pub fn root(&self) -> &Path {
        self.dir.path()
    }
    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }
    /// Says so if a recorder writes the dataset at this moment.
    ///
    /// # Errors
    /// [`CaptureError::RecorderAlive`].
    pub fn refuse_while_recorded(&self) -> Result<(), CaptureError> {
        control::refuse_while_recorded(&self.dir)
    }
    /// Bytes of all files of the dataset.
    pub fn bytes(&self) -> io::Result<u64> {
        Ok(self.files()?.iter().map(|f| f.1).sum())
    }
    /// Names and bytes of all files, sorted.
    fn files(&self) -> io::Result<Vec<(String, u64)>> {
        let mut files = Vec::new();
        list(&self.dir, "", &mut files)?;
        files.sort();
        Ok(files)
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
    fn next_data(&self, offset: u64) -> io::Result<Option<u64>> {
        dir::next_data(&self.0, offset)
    }
}

impl Store for DirStore {
    fn open(&self, name: &str) -> io::Result<Arc<dyn ReadAt>> {
        Ok(Arc::new(DirFile(self.dir.read(name)?)))
    }
    fn names(&self) -> io::Result<Vec<String>> {
        Ok(self.files()?.into_iter().map(|f| f.0).collect())
    }
}

fn list(dir: &Dir, prefix: &str, files: &mut Vec<(String, u64)>) -> io::Result<()> {
    for name in dir.names()?.into_iter().filter(|n| !n.starts_with('.')) {
        match dir.kind(&name)? {
            Some(Kind::File(bytes)) => files.push((format!("{prefix}{name}"), bytes)),
            Some(Kind::Directory) if prefix.is_empty() && name != RINGS => {
                list(&dir.sub(&name)?, &format!("{name}/"), files)?;
            }
            _ => {}
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
    let not = || CaptureError::NotReplaceable(out.to_owned());
    let dir = if meta.is_dir() { Dir::open(out).map_err(CaptureError::io("read", out))? } else { return Err(not()) };
    if !(is_dataset(&dir) || is_empty(&dir)) {
        return Err(not());
    }
    control::refuse_while_recorded(&dir)
}

/// A new dataset on its way to its name. What had the name before keeps it until the new one is whole.
#[derive(Debug)]
pub struct NewDataset {
    /// The directory that is written.
    pub dir: Dir,
    out: PathBuf,
}

impl NewDataset {
    /// Makes the directory of a new dataset with its sub-directories: at `out`, or beside it if something stands there.
    ///
    /// # Errors
    /// [`CaptureError::OutputExists`] without `force`; with it, [`CaptureError::NotReplaceable`] unless what stands there is a
    /// dataset or empty, and [`CaptureError::RecorderAlive`] while it is being written.
    pub fn create(out: &Path, force: bool) -> Result<NewDataset, CaptureError> {
        replace_target(out, force)?;
        let replaces = fs::symlink_metadata(out).is_ok();
        let root = match replaces {
            true => dir::beside(out, &format!("recording-{}", std::process::id())),
            false => out.to_owned(),
        };
        NewDataset::make(root, out, &[THREADS, RINGS])
    }
    /// As [`NewDataset::create`], but always beside `out` under a hidden name, which says the purpose, and without a directory
    /// of rings: for datasets that nobody records.
    ///
    /// # Errors
    /// As for [`NewDataset::create`].
    pub fn hidden(out: &Path, force: bool, purpose: &str) -> Result<NewDataset, CaptureError> {
        replace_target(out, force)?;
        NewDataset::make(sibling(out, &format!("{}.{purpose}", std::process::id())), out, &[THREADS])
    }
    fn make(root: PathBuf, out: &Path, parts: &[&str]) -> Result<NewDataset, CaptureError> {
        let dir = dir::make_new(&root).map_err(CaptureError::io("create", &root))?;
        let made = parts
            .iter()
            .try_for_each(|part| dir.make(part).map(drop).map_err(CaptureError::io("create", &root.join(part))));
        if made.is_err() {
            // Best effort: the error that matters is the first one.
            let _ = fs::remove_dir_all(&root);
        }
        made.map(|()| NewDataset { dir, out: out.to_owned() })
    }
    /// The whole dataset takes its name, and what had it before is gone.
    ///
    /// # Errors
    /// What stands at the name is no dataset any more; [`CaptureError::Io`].
    pub fn settle(&self) -> Result<(), CaptureError> {
        put_in_place(self.dir.path(), &self.out)
    }
    /// Removes what was begun.
    pub fn abandon(&self) {
        // What lies in memory first: the directory here knows where.
        let _ = control::remove_rings(&self.dir);
        // Best effort: there is an error already that matters more.
        let _ = fs::remove_dir_all(self.dir.path());
    }
}

/// Gives the whole dataset at `new` the name `out`; an older dataset there is removed after the new one has its name.
pub(crate) fn put_in_place(new: &Path, out: &Path) -> Result<(), CaptureError> {
    if new == out {
        return Ok(());
    }
    if fs::symlink_metadata(out).is_err() {
        return dir::rename_new(new, out).map_err(CaptureError::io("create", out));
    }
    // Once more: it may be another thing than at the start.
    replace_target(out, true)?;
    if dir::exchange(new, out).is_ok() {
        return fs::remove_dir_all(new).map_err(CaptureError::io("remove what was replaced,", new));
    }
    // A file system that cannot exchange two names at once.
    let aside = dir::beside(out, &format!("replaced-{}", std::process::id()));
    fs::rename(out, &aside).map_err(CaptureError::io("replace", out))?;
    fs::rename(new, out).map_err(CaptureError::io("create", out))?;
    fs::remove_dir_all(&aside).map_err(CaptureError::io("remove what was replaced,", &aside))
}

/// Whether a directory is a dataset that this program wrote: by its manifest, or by its control file if a crash came before
/// the manifest.
fn is_dataset(dir: &Dir) -> bool {
    let mut start = Vec::new();
    let read = dir.read(MANIFEST).and_then(|f| f.take(4096).read_to_end(&mut start));
    let named = read.is_ok() && start.windows(16).any(|w| w == b"\"homenode-trace\"");
    named || dir.sub(RINGS).is_ok_and(|rings| control::Control::open(&rings).is_ok())
}

fn is_empty(dir: &Dir) -> bool {
    fs::read_dir(dir.path()).is_ok_and(|mut entries| entries.next().is_none())
}

/// A hidden name beside `path`.
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
        let new = NewDataset::create(&root, false).unwrap();
        new.dir.replace(MANIFEST, b"{\"format\":\"homenode-trace\"}").unwrap();
        for name in ["threads/1.frames", "threads/0.frames", "rings/0.ring", "threads/.0.frames.new"] {
            fs::write(root.join(name), name).unwrap();
        }
        std::os::unix::fs::symlink("/etc/passwd", root.join("threads/2.frames")).unwrap();
        let store = DirStore::open(&root).unwrap();
        assert_eq!(store.names().unwrap(), ["manifest.json", "threads/0.frames", "threads/1.frames"]);
        let mut buf = [0; 64];
        assert_eq!(store.open("threads/1.frames").unwrap().read_at(8, &mut buf).unwrap(), 8);
        assert_eq!(&buf[..8], b"1.frames");
        for bad in ["../x.hnt/manifest.json", "/etc/passwd", "threads", "./manifest.json", "none", "threads/2.frames"] {
            assert!(store.open(bad).is_err(), "{bad}");
        }
        assert_eq!(store.bytes().unwrap(), 27 + 32);
    }

    #[test]
    fn existing_outputs_are_kept_until_the_new_one_is_whole_and_only_ours_are_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("x.hnt");
        NewDataset::create(&root, false).unwrap();
        let create = |path: &Path, force| NewDataset::create(path, force);
        assert!(matches!(create(&root, false), Err(CaptureError::OutputExists(_))));
        assert!(matches!(create(&root, true), Err(CaptureError::NotReplaceable(_))), "no manifest yet");
        fs::write(root.join(MANIFEST), "{\"format\":\"homenode-trace\"}").unwrap();
        fs::write(root.join("threads/0.frames"), "old").unwrap();
        create(&root, true).unwrap().abandon();
        assert_eq!(fs::read(root.join("threads/0.frames")).unwrap(), b"old");
        let new = create(&root, true).unwrap();
        fs::write(new.dir.path().join("threads/1.frames"), "new").unwrap();
        assert_eq!(fs::read(root.join("threads/0.frames")).unwrap(), b"old");
        new.settle().unwrap();
        assert!(!root.join("threads/0.frames").exists() && root.join("threads/1.frames").exists());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left beside it");

        let file = dir.path().join("notes.txt");
        fs::write(&file, "mine").unwrap();
        assert!(matches!(create(&file, true), Err(CaptureError::NotReplaceable(_))));
        let home = dir.path().join("home");
        fs::create_dir(&home).unwrap();
        fs::write(home.join("thesis.tex"), "mine").unwrap();
        assert!(matches!(create(&home, true), Err(CaptureError::NotReplaceable(_))));
        let link = dir.path().join("link.hnt");
        std::os::unix::fs::symlink(&root, &link).unwrap();
        assert!(matches!(create(&link, true), Err(CaptureError::NotReplaceable(_))), "a link is not ours");
        assert_eq!(fs::read_to_string(home.join("thesis.tex")).unwrap(), "mine");
        assert!(matches!(create(&dir.path().join("no/x.hnt"), false), Err(CaptureError::Io { .. })));
    }
}
