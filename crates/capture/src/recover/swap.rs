//! New files that take the place of old ones all together: killed at any moment, a recovery leaves either the old files, or
//! new ones that the next recovery puts in place before it looks at anything.
use crate::error::CaptureError;
use crate::store::THREADS;
use homenode_sys::dir::Dir;
use homenode_trace::dataset::EVENTS_FILE;
use std::fs::File;
use std::io;

/// Where new files are written.
const BEGUN: &str = ".recovered";
/// Folder of the new files once all of them are written.
const READY: &str = ".recovered-ready";

/// A set of new files.
#[derive(Debug)]
pub(super) struct Swap {
    root: Dir,
    folder: Option<Dir>,
}

impl Swap {
    /// Finishes what an interrupted recovery began, and begins anew.
    pub(super) fn begin(root: &Dir) -> Result<Swap, CaptureError> {
        let clean = || -> io::Result<()> {
            put_in_place(root)?;
            match root.sub(BEGUN) {
                Ok(folder) => {
                    folder.names()?.iter().try_for_each(|name| folder.remove(name))?;
                    root.remove_empty(BEGUN)
                }
                Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
                Err(e) => Err(e),
            }
        };
        clean().map_err(CaptureError::io("finish the earlier recovery of", root.path()))?;
        Ok(Swap { root: root.clone(), folder: None })
    }
    /// Adds what will be the file `name`.
    pub(super) fn add(&mut self, name: &str, write: impl FnOnce(&File) -> io::Result<()>) -> Result<(), CaptureError> {
        let add = || -> io::Result<()> {
            let folder = match &self.folder {
                Some(folder) => folder,
                None => self.folder.insert(self.root.make(BEGUN)?),
            };
            let file = folder.create(&name.replace('/', "-"))?;
            write(&file)?;
            file.sync_all()
        };
        add().map_err(CaptureError::io("write a new", &self.root.path().join(name)))
    }
    /// Puts all of them in place.
    pub(super) fn commit(self) -> Result<(), CaptureError> {
        let Some(folder) = self.folder else { return Ok(()) };
        let commit = || -> io::Result<()> {
            folder.sync()?;
            self.root.rename(BEGUN, READY)?;
            self.root.sync()?;
            put_in_place(&self.root)
        };
        commit().map_err(CaptureError::io("replace files in", self.root.path()))
    }
}

/// Puts the files of a whole set in place, if there is one.
fn put_in_place(root: &Dir) -> io::Result<()> {
    let ready = match root.sub(READY) {
        Ok(ready) => ready,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(e),
    };
    for name in ready.names()? {
        let target = match name.strip_prefix("threads-") {
            Some(rest) => format!("{THREADS}/{rest}"),
            None if name == EVENTS_FILE => name.clone(),
            // Nobody here writes others.
            None => {
                ready.remove(&name)?;
                continue;
            }
        };
        root.rename(&format!("{READY}/{name}"), &target)?;
    }
    root.remove_empty(READY)?;
    root.sync()
}
