//! The control file: what the recorder tells every recorded process and what they count for it.
use crate::error::CaptureError;
use crate::memory::{self, Memory};
use homenode_base::pages::{BUCKETS, CERTAIN_BUCKETS_MAX, Drawn};
use homenode_base::ring::*;
use homenode_sys::dir::{Dir, Kind};
use homenode_sys::map::SharedMap;
use homenode_sys::{clock, disk, futex};
use homenode_trace::manifest::{Blind, CertainPages};
use std::fs::{self, File, TryLockError};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The name of the file.
pub(crate) const NAME: &str = "control";
/// Directory of the rings in a dataset; exists only while recording and after a crash.
pub(crate) const RINGS: &str = "rings";
/// The directory of rings while it is removed.
const OLD_RINGS: &str = ".rings.old";
const IN_FILE: &str = "every field lies inside a file of CONTROL_BYTES, which `map` checked";

/// The mapped control file. The recorder holds a lock on it for as long as it lives.
#[derive(Debug)]
pub(crate) struct Control {
    map: SharedMap,
    /// The dataset's directory of rings.
    dir: Dir,
    /// The directory in memory where this file lies, and rings if there is room; without one they lie in `dir`.
    memory: Option<Dir>,
    /// Of the file, for the program: absolute and without links.
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
    /// Creates `control` for the dataset's directory of rings and takes the recorder's lock. `roi` restricts recording to one
    /// phase.
    pub(crate) fn create(dir: &Dir, count_only: bool, roi: Option<&str>) -> Result<Control, CaptureError> {
        // Who only counts makes no rings.
        let memory = if count_only { None } else { memory::make() };
        let made = Control::create_in(dir, memory.clone(), count_only, roi);
        if let (Err(_), Some(memory)) = (&made, &memory) {
            // Best effort: the error that matters is the first one.
            let _ = memory::remove(memory, NAME);
        }
        made
    }
    fn create_in(dir: &Dir, memory: Option<Dir>, count_only: bool, roi: Option<&str>) -> Result<Control, CaptureError> {
        let disk = dir.path().canonicalize().map_err(CaptureError::io("find", dir.path()))?;
        let place = memory.as_ref().unwrap_or(dir);
        let path = if memory.is_some() { place.path().join(NAME) } else { disk.join(NAME) };
        let make = || -> std::io::Result<(SharedMap, File)> {
            let file = place.create(NAME)?;
            disk::allocate(&file, CONTROL_BYTES)?;
            file.lock()?;
            Ok((SharedMap::of_file(&file, CONTROL_BYTES, true)?, file))
        };
        let (map, file) = make().map_err(CaptureError::io("create", &path))?;
        let control = Control { map, dir: dir.clone(), memory, path, _lock: Some(file) };
        control.put_text(CONTROL_OFF_DIR, 3072, disk.as_os_str().as_bytes(), "the path of the output")?;
        if let Some(memory) = &control.memory {
            control.put_text(CONTROL_OFF_MEMORY, 256, memory.path().as_os_str().as_bytes(), "a path in memory")?;
        }
        if let Some(name) = roi {
            control.put_text(CONTROL_OFF_ROI, 64, name.as_bytes(), "the name of the region of interest")?;
            control.word(CONTROL_OFF_ROI_SET).store(1, Ordering::Relaxed);
        }
        let mode = if count_only { MODE_COUNT } else { MODE_RECORD };
        control.word(CONTROL_OFF_MODE).store(mode as u32, Ordering::Relaxed);
        control.word(CONTROL_OFF_VERSION).store(LAYOUT_VERSION as u32, Ordering::Relaxed);
        control.word(CONTROL_OFF_RECORDER_PID).store(std::process::id(), Ordering::Relaxed);
        control.put_u64(CONTROL_OFF_STAMP_START, clock::ticks());
        let (device, inode) = dir.identity().map_err(CaptureError::io("look at", dir.path()))?;
        control.put_u64(CONTROL_OFF_HOME, device);
        control.put_u64(CONTROL_OFF_HOME + 8, inode);
        control.put_u64(CONTROL_OFF_MAGIC, CONTROL_MAGIC);
        if let Some(memory) = &control.memory {
            // Last: whoever follows the name finds a whole file that is locked.
            memory::name(dir, memory).map_err(CaptureError::io("write in", dir.path()))?;
        }
        Ok(control)
    }

    /// Opens what a recorder left behind in a dataset's directory of rings, or in memory, without its lock.
    pub(crate) fn open(dir: &Dir) -> Result<Control, CaptureError> {
        let path = dir.path().join(NAME);
        let opened = open_file(dir, true)
            .and_then(|(file, memory)| Ok((SharedMap::of_file(&file, CONTROL_BYTES, true)?, memory)));
        let (map, memory) = opened.map_err(CaptureError::io("read", &path))?;
        Control::checked(Control { map, dir: dir.clone(), memory, path, _lock: None })
    }
    fn checked(self) -> Result<Control, CaptureError> {
        let (magic, version) = (self.u64(CONTROL_OFF_MAGIC), self.u32(CONTROL_OFF_VERSION));
        let not = |why| Err(CaptureError::NotADataset { path: self.path.clone(), why });
        if magic != CONTROL_MAGIC {
            return not("it does not begin with the control magic".to_owned());
        }
        if u64::from(version) != LAYOUT_VERSION {
            return not(format!("it has ring layout {version}, this homenode knows {LAYOUT_VERSION}"));
        }
        Ok(self)
    }

    /// Opens what a recorder left behind and takes its lock, so that nobody else does the same. `None` if there is no
    /// control file.
    pub(crate) fn adopt(root: &Dir) -> Result<Option<Control>, CaptureError> {
        if !matches!(root.kind(RINGS), Ok(Some(Kind::Directory))) {
            return Ok(None);
        }
        let found = root.sub(RINGS).and_then(|dir| open_file(&dir, true).map(|(file, _)| (dir, file)));
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
        self.path.clone()
    }
    /// Where the program makes files.
    pub(crate) fn places(&self) -> Vec<Dir> {
        self.memory.iter().chain([&self.dir]).cloned().collect()
    }
    /// The file of ring `index`: a regular one that nobody else has a name for.
    pub(crate) fn ring_file(&self, index: u32) -> std::io::Result<File> {
        let name = format!("{index}.ring");
        match self.memory.as_ref().map(|memory| memory.write(&name)) {
            Some(Err(e)) if e.kind() == std::io::ErrorKind::NotFound => self.dir.write(&name),
            Some(found) => found,
            None => self.dir.write(&name),
        }
    }
    /// Removes the file of a ring that is not needed any more; if that fails, it goes with the directory at the end.
    pub(crate) fn remove_ring(&self, index: u32) {
        let name = format!("{index}.ring");
        let removed = self.memory.as_ref().is_some_and(|memory| memory.remove(&name).is_ok());
        if !removed {
            let _ = self.dir.remove(&name);
        }
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
    /// Asks for the references to these pages alone; to be said before the program starts.
    pub(crate) fn draw(&self, pages: Drawn) {
        self.put_u64(CONTROL_OFF_PAGE_MASK, pages.mask());
        self.put_u64(CONTROL_OFF_PAGE_LIMIT, pages.limit());
    }
    /// Lets programs leave repetitions out of their rings; to be said before they start.
    pub(crate) fn allow_repeats(&self) {
        self.word(CONTROL_OFF_REPEATS).store(1, Ordering::Release);
    }
    /// References left out because their pages were not drawn.
    pub(crate) fn left_out(&self) -> u64 {
        self.u64(CONTROL_OFF_LEFT_OUT)
    }
    /// Buckets of pages that were recorded whether they were drawn or not, with the references that they had before.
    pub(crate) fn certain(&self) -> Vec<CertainPages> {
        let mut states = vec![0; BUCKETS as usize];
        if !self.map.copy_bytes(CONTROL_OFF_BUCKET_STATES, &mut states) {
            return Vec::new();
        }
        let is_certain = |(_, state): &(u32, u8)| u64::from(*state) == BUCKET_CERTAIN;
        let counted = |bucket| u64::from(self.u32(CONTROL_OFF_BUCKETS + 4 * u64::from(bucket))) * LOOK_REFS;
        let of = |(bucket, _)| CertainPages { bucket, left_out: counted(bucket) };
        (0..BUCKETS).zip(states).filter(is_certain).map(of).take(CERTAIN_BUCKETS_MAX).collect()
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

/// The control file of a dataset's directory of rings: in memory, if a directory there is named and says that it belongs to
/// this very directory; a dataset that was copied, or that somebody prepared, has no claim to the rings of another.
fn open_file(dir: &Dir, write: bool) -> std::io::Result<(File, Option<Dir>)> {
    let open = |dir: &Dir| if write { dir.write(NAME) } else { dir.read(NAME) };
    let memory = match memory::find(dir)? {
        Memory::Unused => return Ok((open(dir)?, None)),
        Memory::Lost(_) => return Err(std::io::ErrorKind::NotFound.into()),
        Memory::At(memory) => memory,
    };
    let file = open(&memory)?;
    let map = SharedMap::of_file(&file, CONTROL_BYTES, false)?;
    let home = (map.load_u64(CONTROL_OFF_HOME), map.load_u64(CONTROL_OFF_HOME + 8));
    let (device, inode) = dir.identity()?;
    match home == (Some(device), Some(inode)) {
        true => Ok((file, Some(memory))),
        false => Err(std::io::ErrorKind::NotFound.into()),
    }
}

/// The dataset to which the control file in a directory in memory belongs, if no recorder holds it.
pub(crate) fn abandoned(memory: &Dir) -> Option<PathBuf> {
    let file = memory.read(NAME).ok()?;
    file.try_lock().ok()?;
    let map = SharedMap::of_file(&file, CONTROL_BYTES, false).ok()?;
    let mut text = vec![0; 3072];
    map.copy_bytes(CONTROL_OFF_DIR, &mut text);
    let end = text.iter().position(|&b| b == 0)?;
    let rings = PathBuf::from(std::ffi::OsStr::from_bytes(&text[..end]));
    rings.parent().map(Path::to_owned)
}

/// A sentence for a dataset whose rings were in memory and are not there any more.
pub(crate) fn lost_rings(root: &Dir) -> Option<String> {
    let rings = root.sub(RINGS).ok()?;
    let path = match memory::find(&rings).ok()? {
        Memory::Unused => return None,
        Memory::Lost(path) => path,
        Memory::At(memory) => memory.path().to_owned(),
    };
    Some(format!(
        "its rings were in memory ({}) and are not there, or are those of another dataset: the machine was started anew, or \
         this is a copy; what each thread did last (at most its ring's 131,072 references) is lost",
        path.display()
    ))
}

/// Fails while a recorder holds the lock of the dataset at `root`; fine if there is no recorder or no dataset.
pub(crate) fn refuse_while_recorded(root: &Dir) -> Result<(), CaptureError> {
    let file = root.sub(RINGS).and_then(|dir| open_file(&dir, false));
    file.map_or(Ok(()), |(file, _)| take_lock(&file, root))
}

fn take_lock(file: &File, root: &Dir) -> Result<(), CaptureError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let rings = root.sub(RINGS).ok();
            let pid = rings.and_then(|dir| Control::open(&dir).ok()).map_or(0, |c| c.recorder_pid());
            Err(CaptureError::RecorderAlive { path: root.path().to_owned(), pid })
        }
        Err(TryLockError::Error(source)) => Err(CaptureError::io("lock", root.path())(source)),
    }
}

/// Removes the rings directory with everything in it, and the one in memory.
pub(crate) fn remove_rings(root: &Dir) -> Result<(), CaptureError> {
    // A program that still makes threads puts new files there; under another name it does not find it, and goes on without.
    remove_old_rings(root)?;
    root.rename(RINGS, OLD_RINGS).map_err(CaptureError::io("remove rings in", root.path()))?;
    remove_old_rings(root)
}

/// Removes what is left of a directory of rings whose removal was interrupted.
pub(crate) fn remove_old_rings(root: &Dir) -> Result<(), CaptureError> {
    let dir = root.path().join(OLD_RINGS);
    if let Ok(old) = root.sub(OLD_RINGS)
        && let Ok((_, Some(memory))) = open_file(&old, true)
    {
        memory::remove(&memory, NAME)?;
    }
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
        assert!(again.certain().is_empty());
        for bucket in [7, u64::from(BUCKETS) - 1] {
            let (at, byte) = (CONTROL_OFF_BUCKET_STATES + bucket / 4 * 4, bucket % 4 * 8);
            again.word(at).store((BUCKET_CERTAIN as u32) << byte, Ordering::Relaxed);
            again.word(CONTROL_OFF_BUCKETS + 4 * bucket).store(3, Ordering::Relaxed);
        }
        let certain = [7, BUCKETS - 1].map(|bucket| CertainPages { bucket, left_out: 3 * LOOK_REFS });
        assert_eq!(again.certain(), certain);
        // Whoever calls everything certain fills no manifest.
        (0..u64::from(BUCKETS) / 4).for_each(|word| {
            again
                .word(CONTROL_OFF_BUCKET_STATES + 4 * word)
                .store(BUCKET_CERTAIN as u32 * 0x0101_0101, Ordering::Relaxed);
        });
        assert_eq!(again.certain().len(), CERTAIN_BUCKETS_MAX);
        let memory = again.memory.as_ref().map(|m| m.path().to_owned());
        remove_rings(&root).unwrap();
        assert!(root.kind("rings").unwrap().is_none() && memory.is_none_or(|m| !m.exists()));
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
