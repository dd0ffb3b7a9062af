//! Directories that nobody but this user and root can change: what is loaded into programs, or executed, is kept there.
use crate::dir::Dir;
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

const STICKY: u32 = 0o1000;
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// Times that a file is looked at which was just written.
const LOOKS: u32 = 16;

fn refused(path: &Path, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, format!("{} {why}", path.display()))
}

/// Opens the directory at the absolute `path`, making what is missing of it for this user alone. Every directory on the way
/// belongs to this user or root, and nobody else may write to it; or it keeps everybody's files from everybody else (the
/// sticky bit of the system's folder for temporary files), and what is taken from it belongs to this user or root. So nobody
/// else can change what the returned path means, now or later: the path has no links in it.
///
/// # Errors
/// [`io::ErrorKind::PermissionDenied`] with the directory and the reason, else what the system says.
pub fn directory(path: &Path) -> io::Result<Dir> {
    let user = crate::disk::effective_ids().0;
    let resolved = resolve(path)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    // "/" has no name that anybody could change.
    let mut at: OwnedFd = rustix::fs::open("/", flags, Mode::empty())?;
    let mut walked = PathBuf::from("/");
    let mut own = false;
    for name in resolved.components() {
        let Component::Normal(name) = name else { continue };
        walked.push(name);
        match rustix::fs::mkdirat(&at, name, Mode::from_raw_mode(0o700)) {
            Ok(()) | Err(Errno::EXIST) => {}
            // It is made only if it is missing; whether it is, opening it says.
            Err(Errno::ROFS | Errno::ACCESS | Errno::PERM) => {}
            Err(e) => return Err(e.into()),
        }
        at = openat(&at, name, flags, Mode::empty()).map_err(|e| match e {
            Errno::LOOP | Errno::NOTDIR => refused(&walked, "is no directory"),
            other => io::Error::new(
                io::Error::from(other).kind(),
                format!("{}: {}", walked.display(), io::Error::from(other)),
            ),
        })?;
        own = trusted(&at, &walked, user)?;
    }
    match own {
        true => Ok(Dir::of(at, walked)),
        false => Err(refused(&walked, "does not belong to this user alone")),
    }
}

/// Refuses a directory that somebody else may change; whether it is this user's own, where others may not even make files.
fn trusted(at: &OwnedFd, path: &Path, user: u32) -> io::Result<bool> {
    let meta = File::from(at.as_fd().try_clone_to_owned()?).metadata()?;
    if meta.uid() != user && meta.uid() != 0 {
        return Err(refused(path, &format!("belongs to user {}, who could change what is in it", meta.uid())));
    }
    let open_to_others = meta.mode() & WRITABLE_BY_OTHERS != 0;
    if open_to_others && meta.mode() & STICKY == 0 {
        let why = format!("may be written to by others (mode {:o})", meta.mode() & 0o7777);
        return Err(refused(path, &why));
    }
    Ok(meta.uid() == user && !open_to_others)
}

/// `path` without links, as far as it exists.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    if !path.is_absolute() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path is not absolute"));
    }
    let mut rest = Vec::new();
    let mut existing = path.to_owned();
    loop {
        match fs::canonicalize(&existing) {
            Ok(found) => return Ok(rest.iter().rev().fold(found, |p, name| p.join(name))),
            Err(e) if e.kind() == io::ErrorKind::NotFound => match existing.file_name() {
                Some(name) if name != ".." => rest.push(name.to_owned()),
                _ => return Err(e),
            },
            Err(e) => return Err(e),
        }
        existing.pop();
    }
}

impl Dir {
    /// A directory in it that is this user's own and closed to writing by others.
    pub fn own_sub(&self, name: &str) -> io::Result<Dir> {
        let sub = self.sub(name)?;
        let user = crate::disk::effective_ids().0;
        match trusted(sub.descriptor(), sub.path(), user)? {
            true => Ok(sub),
            false => Err(refused(sub.path(), "does not belong to this user alone")),
        }
    }
    /// Puts a file with this content into a directory of [`directory`], in one step: several processes and threads may be at it.
    /// One that is there, this user's own, closed to others and equal, is left alone.
    /// With `program` it can be executed.
    pub fn keep_own(&self, name: &str, bytes: &[u8], program: bool) -> io::Result<()> {
        // The temporary file is named after the process.
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        if self.has_own(name, bytes) {
            return Ok(());
        }
        let temporary = format!(".{name}.{}", std::process::id());
        // A leftover of a process of the same number.
        let _ = self.remove(&temporary);
        let mut file = self.create(&temporary)?;
        file.set_permissions(fs::Permissions::from_mode(if program { 0o700 } else { 0o600 }))?;
        file.write_all(bytes)?;
        // A program cannot be executed while it may be written to.
        drop(file);
        self.rename(&temporary, name)?;
        // Another process may put the same in its place while it is looked at.
        match (0..LOOKS).any(|_| self.has_own(name, bytes)) {
            true => Ok(()),
            false => Err(io::Error::other(format!("{name} is not what was written a moment ago"))),
        }
    }
    fn has_own(&self, name: &str, bytes: &[u8]) -> bool {
        let user = crate::disk::effective_ids().0;
        let same = || -> io::Result<bool> {
            let file = self.read(name)?;
            let meta = file.metadata()?;
            let closed = meta.uid() == user && meta.mode() & WRITABLE_BY_OTHERS == 0 && meta.nlink() == 1;
            let mut found = Vec::new();
            Ok(closed && file.take(bytes.len() as u64 + 1).read_to_end(&mut found)? == bytes.len() && found == bytes)
        };
        same().unwrap_or(false)
    }
}

/// A directory of [`directory`] in the system's folder for temporary files, for users without another place: the one with
/// this name or, if somebody else was there first, one whose name begins with it and that nobody could foresee.
pub fn temporary(name: &str) -> io::Result<Dir> {
    let base = std::env::temp_dir();
    let first = directory(&base.join(name));
    let Err(why) = first else { return first };
    let prefix = format!("{name}-");
    let others = Dir::open(&base).and_then(|d| d.names()).unwrap_or_default();
    let mine = others.iter().filter(|n| n.starts_with(&prefix)).find_map(|n| directory(&base.join(n)).ok());
    if let Some(found) = mine {
        return Ok(found);
    }
    fresh(&base, &prefix).map_err(|_| why)
}

/// A new directory of [`directory`] in `base`, with a name that begins with `prefix` and that nobody could foresee.
pub fn fresh(base: &Path, prefix: &str) -> io::Result<Dir> {
    let mut random = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut random)?;
    directory(&base.join(format!("{prefix}{:016x}", u64::from_ne_bytes(random))))
}

/// The directory at `path`, if it is there and would do for [`directory`]; nothing is made.
pub fn existing(path: &Path) -> io::Result<Dir> {
    fs::symlink_metadata(path)?;
    directory(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn own_directories_are_made_and_foreign_or_open_ones_refused() {
        let t = tempfile::tempdir().unwrap();
        let root = t.path().canonicalize().unwrap();
        let made = directory(&root.join("a/b/c")).unwrap();
        assert_eq!(made.path(), root.join("a/b/c"));
        assert_eq!(fs::metadata(made.path()).unwrap().mode() & 0o777, 0o700);
        made.keep_own("x", b"content", false).unwrap();
        assert_eq!(fs::read(root.join("a/b/c/x")).unwrap(), b"content");
        fs::set_permissions(root.join("a/b"), fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(directory(&root.join("a/b/c")).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        fs::set_permissions(root.join("a/b"), fs::Permissions::from_mode(0o1777)).unwrap();
        assert!(directory(&root.join("a/b/c")).is_ok(), "sticky, and the rest is ours");
        assert!(directory(&root.join("a/b")).is_err(), "sticky is not enough for the place itself");
        assert!(directory(Path::new("relative")).is_err());
        fs::write(root.join("file"), "").unwrap();
        assert!(directory(&root.join("file")).is_err());
    }

    #[test]
    fn threads_that_keep_the_same_files_do_not_disturb_each_other() {
        let t = tempfile::tempdir().unwrap();
        for round in 0..50 {
            let path = t.path().join(format!("d{round}"));
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        let dir = directory(&path).unwrap();
                        ["a", "b"].iter().for_each(|name| dir.keep_own(name, &[7; 50_000], false).unwrap());
                    });
                }
            });
        }
    }

    #[test]
    fn what_is_there_is_believed_only_if_it_is_equal_closed_and_nobody_elses() {
        let t = tempfile::tempdir().unwrap();
        let dir = directory(&t.path().join("d")).unwrap();
        let at = dir.path().join("lib");
        let inode = || fs::symlink_metadata(&at).unwrap().ino();
        dir.keep_own("lib", b"good", false).unwrap();
        let first = inode();
        dir.keep_own("lib", b"good", false).unwrap();
        assert_eq!(inode(), first);
        fs::write(&at, "evil").unwrap();
        dir.keep_own("lib", b"good", false).unwrap();
        assert_eq!(fs::read(&at).unwrap(), b"good");
        fs::set_permissions(&at, fs::Permissions::from_mode(0o666)).unwrap();
        let open = inode();
        dir.keep_own("lib", b"good", false).unwrap();
        assert!(inode() != open && fs::metadata(&at).unwrap().mode() & 0o777 == 0o600);
        fs::remove_file(&at).unwrap();
        fs::write(t.path().join("elsewhere"), "good").unwrap();
        symlink(t.path().join("elsewhere"), &at).unwrap();
        dir.keep_own("lib", b"good", false).unwrap();
        assert!(fs::symlink_metadata(&at).unwrap().is_file());
    }
}
