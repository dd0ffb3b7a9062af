//! Rings in memory. A store to a mapped file on a disk waits for the disk's journal now and then, with the map of the
//! process's memory locked; whoever makes a thread meanwhile waits too, for tens of milliseconds. So the rings and the control
//! file lie in a directory of the system's memory file system, which belongs to this user alone, and the dataset's directory of
//! rings has a file with its name. They outlive recorder and program like files on a disk, and are lost when the machine is
//! started anew, as unwritten pages of a disk's file would be.
use crate::error::CaptureError;
use homenode_sys::dir::Dir;
use homenode_sys::{disk, private};
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Where every Linux has its memory file system, open to all users and each file only to its owner.
const SYSTEM: &str = "/dev/shm";
const PREFIX: &str = "homenode-rings-";
/// The file with the name of the directory.
const NAME_FILE: &str = "memory";
/// Space that must be free: what rings may use, and as much again for the program's own use of the same place.
const FREE_MIN: u64 = 512 << 20;

/// What a directory of rings says about the one in memory.
#[derive(Debug)]
pub(crate) enum Memory {
    /// Nothing: the rings lie in the directory itself.
    Unused,
    /// Directory in memory, which is there.
    At(Dir),
    /// Path of a directory in memory that is gone.
    Lost(PathBuf),
}

/// Makes a directory in memory for the rings of a new recording; `None` where there is no memory to have.
pub(crate) fn make() -> Option<Dir> {
    let system = Path::new(SYSTEM);
    let room = disk::free_bytes(system).ok()?.min(available_memory().unwrap_or(u64::MAX));
    if !disk::is_in_memory(system) || room < FREE_MIN {
        return None;
    }
    private::fresh(system, PREFIX).ok()
}

/// Bytes that programs may still use before the kernel swaps.
fn available_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Writes the name of `memory` into the directory of rings.
pub(crate) fn name(rings: &Dir, memory: &Dir) -> io::Result<()> {
    let leaf = memory.path().file_name().unwrap_or_default().to_string_lossy();
    rings.replace(NAME_FILE, format!("{leaf}\n").as_bytes())
}

/// Follows that name. The dataset may be anybody's: only a name that [`make`] could have given is looked up, only in the one
/// place, and only a directory of this user's own is opened. Whose rings they are, the control file in it says.
///
/// # Errors
/// [`ErrorKind::PermissionDenied`] if it is another user's: whether that user is recording cannot be known.
pub(crate) fn find(rings: &Dir) -> io::Result<Memory> {
    let Some(leaf) = read_name(rings)? else { return Ok(Memory::Unused) };
    let path = Path::new(SYSTEM).join(leaf);
    match private::existing(&path) {
        Ok(memory) => Ok(Memory::At(memory)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(Memory::Lost(path)),
        Err(e) => Err(e),
    }
}

fn read_name(rings: &Dir) -> io::Result<Option<String>> {
    if rings.kind(NAME_FILE)?.is_none() {
        return Ok(None);
    }
    let invalid = || io::Error::new(ErrorKind::InvalidData, format!("{NAME_FILE} has no name of a directory of rings"));
    let mut text = String::new();
    rings.read(NAME_FILE)?.take(256).read_to_string(&mut text)?;
    let leaf = text.strip_suffix('\n').ok_or_else(invalid)?;
    let random = leaf.strip_prefix(PREFIX).ok_or_else(invalid)?;
    match random.len() == 16 && random.bytes().all(|b| b.is_ascii_hexdigit()) {
        true => Ok(Some(leaf.to_owned())),
        false => Err(invalid()),
    }
}

/// Removes a directory in memory with everything in it: the file `last` at the end, by which it is known whose it is.
pub(crate) fn remove(memory: &Dir, last: &str) -> Result<(), CaptureError> {
    let path = memory.path();
    let empty = || -> io::Result<()> {
        let mut names = memory.names()?;
        names.sort_by_key(|name| name == last);
        names.iter().try_for_each(|name| memory.remove(name))
    };
    let gone = |e: &io::Error| e.kind() == ErrorKind::NotFound;
    let mut removed = Ok(());
    for _ in 0..10 {
        removed = empty().and_then(|()| fs::remove_dir(path));
        match &removed {
            Err(e) if !gone(e) && e.kind() != ErrorKind::DirectoryNotEmpty => break,
            // A program that still makes threads puts new files there.
            Err(_) if path.exists() => {}
            _ => return Ok(()),
        }
    }
    removed.map_err(CaptureError::io("remove", path))
}

/// The directories of rings of this user that lie in memory now.
pub(crate) fn directories() -> Vec<Dir> {
    let system = Path::new(SYSTEM);
    let names = Dir::open(system).and_then(|d| d.names()).unwrap_or_default();
    let rings = names.iter().filter(|n| n.starts_with(PREFIX));
    rings.filter_map(|n| private::existing(&system.join(n)).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_were_given_are_followed_and_only_to_own_directories() {
        let t = tempfile::tempdir().unwrap();
        let rings = Dir::open(t.path()).unwrap();
        assert!(matches!(find(&rings), Ok(Memory::Unused)));
        for bad in [
            "",
            "x",
            "../etc\n",
            "homenode-rings-\n",
            "homenode-rings-0123456789abcde/\n",
            "homenode-rings-0123456789abcdef",
        ] {
            fs::write(t.path().join(NAME_FILE), bad).unwrap();
            assert!(find(&rings).is_err(), "{bad:?}");
        }
        fs::write(t.path().join(NAME_FILE), "homenode-rings-0123456789abcdef\n").unwrap();
        assert!(matches!(find(&rings), Ok(Memory::Lost(_))), "nobody made it");
        assert!(!Path::new(SYSTEM).join("homenode-rings-0123456789abcdef").exists());
        fs::remove_file(t.path().join(NAME_FILE)).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", t.path().join(NAME_FILE)).unwrap();
        assert!(find(&rings).is_err());
        fs::remove_file(t.path().join(NAME_FILE)).unwrap();
        let Some(memory) = make() else { return };
        name(&rings, &memory).unwrap();
        assert!(matches!(find(&rings), Ok(Memory::At(d)) if d.path() == memory.path()));
        fs::set_permissions(memory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        assert!(find(&rings).is_err(), "anybody could have changed it");
        remove(&memory, "").unwrap();
        remove(&memory, "").unwrap();
        assert!(matches!(find(&rings), Ok(Memory::Lost(_))));
    }
}
