//! The control file: what the recorder tells every recorded process and what they count for it.
use crate::error::CaptureError;
use homenode_base::ring::*;
use homenode_sys::dir::{Dir, Kind};
use homenode_sys::map::SharedMap;
use homenode_sys::{clock, disk, futex};
use homenode_trace::manifest::Blind;
use std::fs::{self, File, TryLockError};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

const NAME: &str = "control";
/// The directory of rings while it is removed.
const OLD_RINGS: &str = ".rings.old";
const IN_FILE: &str = "every field lies inside a file of CONTROL_BYTES, which `map` checked";

/// The mapped control file. The recorder holds a lock on it for as long as it lives.
#[derive(Debug)]
pub(crate) struct Control {
    map: SharedMap,
    dir: Dir,
    /// Of the directory, for the program: absolute and without links.
    path: PathBuf,
    /// Held, not used: the kernel releases the lock when the recorder dies, however it dies.
    _lock: Option<File>,
}

/// One entry of the ring table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    /// `ENTRY_*`.
    pub(crate) state: u32,
    /// Process id.
    pub(crate) pid: u32,
    /// Kernel thread id.
    pub(crate) tid: u32,
    /// Ring index of the creating thread, if known.
    pub(crate) parent: Option<u32>,
    /// Bytes of slots.
    pub(crate) bytes: u64,
}

impl Control {
    /// Creates `control` in the directory of rings and takes the recorder's lock. `roi` restricts recording to one phase.
    pub(crate) fn create(dir: &Dir, count_only: bool, roi: Option<&str>) -> Result<Control, CaptureError> {
        let path = dir.path().canonicalize().map_err(CaptureError::io("find", dir.path()))?;
        let make = || -> std::io::Result<(SharedMap, File)> {
            let file = dir.create(NAME)?;
            disk::allocate(&file, CONTROL_BYTES)?;
            file.lock()?;
            Ok((SharedMap::of_file(&file, CONTROL_BYTES, true)?, file))
        };
        let (map, file) = make().map_err(CaptureError::io("create", &path.join(NAME)))?;
        let control = Control { map, dir: dir.clone(), path, _lock: Some(file) };
        control.put_text(CONTROL_OFF_DIR, 3072, control.path.as_os_str().as_bytes(), "the path of the output")?;
        if let Some(name) = roi {
            control.put_text(CONTROL_OFF_ROI, 64, name.as_bytes(), "the name of the region of interest")?;
            control.word(CONTROL_OFF_ROI_SET).store(1, Ordering::Relaxed);
        }
        let mode = if count_only { MODE_COUNT } else { MODE_RECORD };
        control.word(CONTROL_OFF_MODE).store(mode as u32, Ordering::Relaxed);
        control.word(CONTROL_OFF_VERSION).store(LAYOUT_VERSION as u32, Ordering::Relaxed);
        control.word(CONTROL_OFF_RECORDER_PID).store(std::process::id(), Ordering::Relaxed);
        control.put_u64(CONTROL_OFF_STAMP_START, clock::ticks());
        control.put_u64(CONTROL_OFF_MAGIC, CONTROL_MAGIC);
        Ok(control)
    }

    /// Opens what a recorder left behind, without its lock.
    pub(crate) fn open(dir: &Dir) -> Result<Control, CaptureError> {
        let path = dir.path().join(NAME);
        let map = dir.write(NAME).and_then(|file| SharedMap::of_file(&file, CONTROL_BYTES, true));
        let map = map.map_err(CaptureError::io("read", &path))?;
        let control = Control { map, dir: dir.clone(), path: dir.path().to_owned(), _lock: None };
        let (magic, version) = (control.u64(CONTROL_OFF_MAGIC), control.u32(CONTROL_OFF_VERSION));
        if magic != CONTROL_MAGIC {
            return Err(CaptureError::NotADataset { path, why: "it does not begin with the control magic".into() });
        }
        if u64::from(version) != LAYOUT_VERSION {
            let why = format!("it has ring layout {version}, this homenode knows {LAYOUT_VERSION}");
            return Err(CaptureError::NotADataset { path, why });
        }
        Ok(control)
    }

    /// Opens what a recorder left behind and takes its lock, so that nobody else does the same. `None` if there is no
    /// control file.
    pub(crate) fn adopt(root: &Dir) -> Result<Option<Control>, CaptureError> {
        if !matches!(root.kind(crate::store::RINGS), Ok(Some(Kind::Directory))) {
            return Ok(None);
        }
        let found = root.sub(crate::store::RINGS).and_then(|dir| dir.write(NAME).map(|file| (dir, file)));
        let (dir, file) = match found {
            Ok(found) => found,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(CaptureError::io("open rings/control in", root.path())(e)),
        };
        take_lock(&file, root)?;
        Ok(Some(Control { _lock: Some(file), ..Control::open(&dir)? }))
    }

    /// Path of the file, for the environment of the program.
    pub(crate) fn path(&self) -> PathBuf {
        self.path.join(NAME)
    }
    /// The file of ring `index`: a regular one that nobody else has a name for.
    pub(crate) fn ring_file(&self, index: u32) -> std::io::Result<File> {
        self.dir.write(&format!("{index}.ring"))
    }
    /// Removes the file of a ring that is not needed any more; if that fails, it goes with the directory at the end.
    pub(crate) fn remove_ring(&self, index: u32) {
        let _ = self.dir.remove(&format!("{index}.ring"));
    }
    /// Ring indices handed out so far, at most [`RINGS_MAX`].
    pub(crate) fn rings(&self) -> u32 {
        self.u32(CONTROL_OFF_NEXT_RING).min(RINGS_MAX)
    }
    /// The entry of ring `index`, which must be below [`RINGS_MAX`].
    pub(crate) fn entry(&self, index: u32) -> Entry {
        let at = CONTROL_OFF_TABLE + u64::from(index) * ENTRY_BYTES;
        let parent = self.u32(at + ENTRY_OFF_PARENT);
        Entry {
            state: self.u32(at + ENTRY_OFF_STATE),
            pid: self.u32(at + ENTRY_OFF_PID),
            tid: self.u32(at + ENTRY_OFF_TID),
            parent: (parent != u32::MAX).then_some(parent),
            bytes: self.u64(at + ENTRY_OFF_BYTES),
        }
    }
    /// Takes an entry for a thread that has no ring because no runtime is in its process; its state says that it is done,
    /// so that nobody looks for a ring. `None` if the table is full.
    pub(crate) fn claim(&self, pid: u32, tid: u32, parent: Option<u32>) -> Option<u32> {
        let next = self.word(CONTROL_OFF_NEXT_RING);
        let index =
            next.fetch_update(Ordering::AcqRel, Ordering::Acquire, |n| (n < RINGS_MAX).then_some(n + 1)).ok()?;
        let at = CONTROL_OFF_TABLE + u64::from(index) * ENTRY_BYTES;
        let state = self.word(at + ENTRY_OFF_STATE);
        // Like the runtime: an entry that somebody took without asking the counter is left alone.
        let free = ENTRY_FREE as u32;
        state.compare_exchange(free, ENTRY_CLAIMED as u32, Ordering::AcqRel, Ordering::Acquire).ok()?;
        let fields = [(ENTRY_OFF_PID, pid), (ENTRY_OFF_TID, tid), (ENTRY_OFF_PARENT, parent.unwrap_or(u32::MAX))];
        fields.into_iter().for_each(|(offset, value)| self.word(at + offset).store(value, Ordering::Release));
        self.put_u64(at + ENTRY_OFF_BYTES, RING_BYTES_MIN);
        state.store(ENTRY_DONE as u32, Ordering::Release);
        Some(index)
    }
    /// Processes that made contact.
    pub(crate) fn attached(&self) -> u32 {
        self.u32(CONTROL_OFF_ATTACHED)
    }
    /// References counted in counting mode.
    pub(crate) fn counted(&self) -> u64 {
        self.u64(CONTROL_OFF_COUNTED)
    }
    /// Why recording stopped (`STOP_*`), 0 if it goes on.
    pub(crate) fn stop_reason(&self) -> u64 {
        self.u32(CONTROL_OFF_STOP).into()
    }
    /// Stops recording for this reason unless it stopped for another one; the program runs on. True if this was the first.
    pub(crate) fn stop(&self, reason: u64) -> bool {
        let word = self.word(CONTROL_OFF_STOP);
        word.compare_exchange(0, reason as u32, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
    /// The futex word that the program bumps when there is something to do.
    pub(crate) fn doorbell(&self) -> &AtomicU32 {
        self.word(CONTROL_OFF_DOORBELL)
    }
    /// Bumps the doorbell and wakes its sleepers.
    pub(crate) fn ring_doorbell(&self) {
        self.doorbell().fetch_add(1, Ordering::AcqRel);
        futex::wake_all(self.doorbell());
    }
    /// Process id of the recorder that created the file.
    pub(crate) fn recorder_pid(&self) -> u32 {
        self.u32(CONTROL_OFF_RECORDER_PID)
    }
    /// What the program counted and could not record.
    pub(crate) fn blind(&self) -> Blind {
        Blind {
            dropped: self.u64(CONTROL_OFF_DROPPED),
            signal_refs: self.u64(CONTROL_OFF_SIGNAL_REFS),
            unnumbered: self.u64(CONTROL_OFF_UNNUMBERED),
            wide: self.u64(CONTROL_OFF_WIDE),
            unringed_threads: self.u64(CONTROL_OFF_UNRINGED),
            notes: Vec::new(),
        }
    }

    fn u32(&self, offset: u64) -> u32 {
        self.map.load_u32(offset).expect(IN_FILE)
    }
    fn u64(&self, offset: u64) -> u64 {
        self.map.load_u64(offset).expect(IN_FILE)
    }
    fn word(&self, offset: u64) -> &AtomicU32 {
        self.map.u32_mut(offset).expect(IN_FILE)
    }
    fn put_u64(&self, offset: u64, value: u64) {
        self.map.u64_mut(offset).expect(IN_FILE).store(value, Ordering::Release);
    }
    /// Stores a NUL-terminated text of less than `room` bytes.
    fn put_text(&self, offset: u64, room: usize, text: &[u8], what: &str) -> Result<(), CaptureError> {
        if text.len() >= room || text.contains(&0) {
            return Err(CaptureError::Option(format!("{what} must have fewer than {room} bytes and no NUL in it")));
        }
        for (i, chunk) in text.chunks(8).enumerate() {
            let mut bytes = [0; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            self.put_u64(offset + 8 * i as u64, u64::from_le_bytes(bytes));
        }
        Ok(())
    }
}

/// Fails while a recorder holds the lock of the dataset at `root`; fine if there is no recorder or no dataset.
pub(crate) fn refuse_while_recorded(root: &Dir) -> Result<(), CaptureError> {
    let file = root.sub(crate::store::RINGS).and_then(|dir| dir.read(NAME));
    file.map_or(Ok(()), |file| take_lock(&file, root))
}

fn take_lock(file: &File, root: &Dir) -> Result<(), CaptureError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let rings = root.sub(crate::store::RINGS).ok();
            let pid = rings.and_then(|dir| Control::open(&dir).ok()).map_or(0, |c| c.recorder_pid());
            Err(CaptureError::RecorderAlive { path: root.path().to_owned(), pid })
        }
        Err(TryLockError::Error(source)) => Err(CaptureError::io("lock", root.path())(source)),
    }
}

/// Removes the rings directory with everything in it.
pub(crate) fn remove_rings(root: &Dir) -> Result<(), CaptureError> {
    // A program that still makes threads puts new files there; under another name it does not find it, and goes on without.
    remove_old_rings(root)?;
    root.rename(crate::store::RINGS, OLD_RINGS).map_err(CaptureError::io("remove rings in", root.path()))?;
    remove_old_rings(root)
}

/// Removes what is left of a directory of rings whose removal was interrupted.
pub(crate) fn remove_old_rings(root: &Dir) -> Result<(), CaptureError> {
    let dir = root.path().join(OLD_RINGS);
    let mut removed = fs::remove_dir_all(&dir);
    for _ in 0..10 {
        match removed {
            Ok(()) => return Ok(()),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            // A file that was about to be made when the name changed.
            Err(_) => removed = fs::remove_dir_all(&dir),
        }
    }
    removed.map_err(CaptureError::io("remove", &dir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_created_can_be_opened_and_is_locked_while_it_lives() {
        let root = tempfile::tempdir().unwrap();
        let root = Dir::open(root.path()).unwrap();
        let rings = root.make("rings").unwrap();
        let control = Control::create(&rings, false, Some("solve")).unwrap();
        assert!(matches!(
            refuse_while_recorded(&root),
            Err(CaptureError::RecorderAlive { pid, .. }) if pid == std::process::id()
        ));
        assert!(control.stop(STOP_USER) && !control.stop(STOP_LIMIT));
        drop(control);
        refuse_while_recorded(&root).unwrap();
        let again = Control::open(&rings).unwrap();
        assert_eq!((again.stop_reason(), again.rings(), again.attached()), (STOP_USER, 0, 0));
        assert_eq!(again.u64(CONTROL_OFF_ROI).to_le_bytes(), *b"solve\0\0\0");
        assert_eq!(again.entry(RINGS_MAX - 1), Entry { parent: Some(0), ..Entry::default() });
    }

    #[test]
    fn foreign_truncated_and_newer_control_files_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let dir = Dir::open(root.path()).unwrap();
        assert!(Control::open(&dir).is_err());
        let path = root.path().join(NAME);
        fs::write(&path, vec![0; CONTROL_BYTES as usize]).unwrap();
        assert!(matches!(Control::open(&dir), Err(CaptureError::NotADataset { .. })));
        fs::write(&path, &b"HNCTRL01"[..]).unwrap();
        assert!(matches!(Control::open(&dir), Err(CaptureError::Io { .. })), "too short to map");
        let mut newer = vec![0; CONTROL_BYTES as usize];
        newer[..12].copy_from_slice(b"HNCTRL01\x09\0\0\0");
        fs::write(&path, newer).unwrap();
        assert!(Control::open(&dir).unwrap_err().to_string().contains("layout 9"));
        let long = "x".repeat(64);
        fs::remove_file(&path).unwrap();
        assert!(matches!(Control::create(&dir, false, Some(&long)), Err(CaptureError::Option(_))));
    }
}
