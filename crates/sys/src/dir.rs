//! A directory whose content anybody may have made: every file below it is opened relative to the directory's own
//! descriptor, without following links, without waiting, and only if it is a regular file.
//!
//! The calls are those of `rustix`, which wraps openat(2) and its relatives safely: they need no `unsafe` here.
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, RenameFlags, openat, renameat_with, statat, unlinkat};
use rustix::io::Errno;
use std::ffi::{CStr, OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An open directory. Clones share the descriptor.
#[derive(Clone, Debug)]
pub struct Dir {
    fd: Arc<OwnedFd>,
    path: PathBuf,
}

/// What stands under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file of so many bytes.
    File(u64),
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A FIFO, socket or device.
    Special,
}

/// Names one level deep: `manifest.json` or `threads/0.frames`.
fn parts(name: &str) -> io::Result<(Option<&str>, &str)> {
    let (folder, leaf) = name.split_once('/').map_or((None, name), |(folder, leaf)| (Some(folder), leaf));
    let plain = |n: &str| !n.is_empty() && n != "." && n != ".." && !n.contains(['/', '\0']);
    match plain(leaf) && folder.is_none_or(plain) {
        true => Ok((folder, leaf)),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "names inside a dataset are relative and plain")),
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// What the system says about things that are no regular files, in words.
fn opened(result: Result<OwnedFd, Errno>) -> io::Result<File> {
    let file = match result {
        Ok(fd) => File::from(fd),
        Err(Errno::LOOP) => return Err(invalid("it is a symbolic link, which is not followed here")),
        Err(Errno::NXIO | Errno::ISDIR | Errno::OPNOTSUPP) => return Err(invalid("not a regular file")),
        Err(e) => return Err(e.into()),
    };
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(invalid("not a regular file")),
    }
}

impl Dir {
    /// Opens the directory that the user named; links in `path` itself are followed.
    pub fn open(path: &Path) -> io::Result<Dir> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let fd = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(Dir { fd: Arc::new(fd), path: path.to_owned() })
    }
    pub(crate) fn of(fd: OwnedFd, path: PathBuf) -> Dir {
        Dir { fd: Arc::new(fd), path }
    }
    pub(crate) fn descriptor(&self) -> &OwnedFd {
        &self.fd
    }
    /// The path it was opened by, for messages and for other programs.
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// Device and inode: what stays the same when it gets another name.
    pub fn identity(&self) -> io::Result<(u64, u64)> {
        let stat = rustix::fs::fstat(&*self.fd)?;
        Ok((stat.st_dev as u64, stat.st_ino as u64))
    }
    /// A directory in it.
    pub fn sub(&self, name: &str) -> io::Result<Dir> {
        let (None, leaf) = parts(name)? else { return Err(invalid("only one directory at a time")) };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        match openat(&*self.fd, leaf, flags, Mode::empty()) {
            Ok(fd) => Ok(Dir { fd: Arc::new(fd), path: self.path.join(leaf) }),
            Err(Errno::NOTDIR | Errno::LOOP) => Err(invalid("it is not a directory, or a link to one")),
            Err(e) => Err(e.into()),
        }
    }
    /// Makes a directory in it.
    pub fn make(&self, name: &str) -> io::Result<Dir> {
        let (None, leaf) = parts(name)? else { return Err(invalid("only one directory at a time")) };
        rustix::fs::mkdirat(&*self.fd, leaf, Mode::from_raw_mode(0o777))?;
        self.sub(leaf)
    }
    fn at<T>(&self, name: &str, then: impl FnOnce(&OwnedFd, &str) -> io::Result<T>) -> io::Result<T> {
        match parts(name)? {
            (None, leaf) => then(&self.fd, leaf),
            (Some(folder), leaf) => then(&self.sub(folder)?.fd, leaf),
        }
    }
    fn open_file(&self, name: &str, how: OFlags) -> io::Result<File> {
        let flags = how | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        self.at(name, |fd, leaf| opened(openat(fd, leaf, flags, Mode::from_raw_mode(0o666))))
    }
    /// Opens a regular file for reading.
    pub fn read(&self, name: &str) -> io::Result<File> {
        self.open_file(name, OFlags::RDONLY)
    }
    /// Opens a regular file for reading and writing, if it has no other name by which it could be somebody else's.
    pub fn write(&self, name: &str) -> io::Result<File> {
        let file = self.open_file(name, OFlags::RDWR)?;
        match file.metadata()?.nlink() {
            1 => Ok(file),
            _ => Err(invalid("the file has another name elsewhere (a hard link); it is not written to")),
        }
    }
    /// Makes a file that was not there, for reading and writing.
    pub fn create(&self, name: &str) -> io::Result<File> {
        self.open_file(name, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)
    }
    /// What stands under a name; `None` if nothing does.
    pub fn kind(&self, name: &str) -> io::Result<Option<Kind>> {
        self.at(name, |fd, leaf| match statat(fd, leaf, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => Kind::File(u64::try_from(stat.st_size).unwrap_or(0)),
                FileType::Directory => Kind::Directory,
                FileType::Symlink => Kind::Link,
                _ => Kind::Special,
            })),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(e.into()),
        })
    }
    /// Names in it that are UTF-8, in no order; not `.` and `..`.
    pub fn names(&self) -> io::Result<Vec<String>> {
        // An own descriptor: the position in the list belongs to it.
        let here = self.again()?;
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let mut list = RawDir::new(here, &mut buffer);
        let mut names = Vec::new();
        while let Some(entry) = list.next() {
            let entry = entry?;
            let name: &CStr = entry.file_name();
            let name = OsStr::from_bytes(name.to_bytes());
            names.extend(name.to_str().filter(|n| *n != "." && *n != "..").map(str::to_owned));
        }
        Ok(names)
    }
    fn again(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(openat(&*self.fd, ".", flags, Mode::empty())?)
    }
    /// Gives a file another name, over what has that name now.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.rename_with(from, to, RenameFlags::empty())
    }
    fn rename_with(&self, from: &str, to: &str, flags: RenameFlags) -> io::Result<()> {
        self.at(from, |old, old_leaf| {
            self.at(to, |new, new_leaf| Ok(renameat_with(old, old_leaf, new, new_leaf, flags)?))
        })
    }
    /// Removes a name that is no directory's: of a link the link.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        self.at(name, |fd, leaf| Ok(unlinkat(fd, leaf, AtFlags::empty())?))
    }
    /// Removes a directory in it that is empty.
    pub fn remove_empty(&self, name: &str) -> io::Result<()> {
        self.at(name, |fd, leaf| Ok(unlinkat(fd, leaf, AtFlags::REMOVEDIR)?))
    }
    /// Has what was renamed and removed in it written to the disk.
    pub fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(self.fd.as_fd())?)
    }
    /// Writes a file so that a reader, or a crash, sees either the old content or the new: a hidden sibling is written,
    /// synced and renamed over whatever has the name.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.replace_with(name, |file| file.write_all(bytes))
    }
    /// As [`Dir::replace`] with what `write` writes.
    pub fn replace_with(&self, name: &str, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
        let hidden = hidden(name)?;
        let result = (|| {
            // A leftover of somebody who was killed; if it is a directory, making the file says so.
            let _ = self.remove(&hidden);
            let mut file = self.create(&hidden)?;
            write(&mut file)?;
            file.sync_all()?;
            self.rename(&hidden, name)
        })();
        if result.is_err() {
            // Best effort: the error that matters is the first one.
            let _ = self.remove(&hidden);
        }
        result
    }
}

/// Opens for reading what somebody else may have named or put there: links are followed, but only a regular file is opened, so that
/// nothing is waited for (a FIFO) and no device is read.
pub fn regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    opened(rustix::fs::open(path, flags, Mode::empty()))
}

/// The content of [`regular`], at most `bytes_max` of it.
///
/// # Errors
/// [`io::ErrorKind::FileTooLarge`] if it has more.
pub fn content(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    regular(path)?.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 <= bytes_max {
        true => Ok(bytes),
        false => Err(io::ErrorKind::FileTooLarge.into()),
    }
}

/// Makes a file for reading and writing at a name that others can foresee. What stands there, the leftover of a process of the same number
/// or a link that somebody put there to have its target overwritten, is removed and not written to.
pub fn create_new(path: &Path) -> io::Result<File> {
    let new = || File::options().read(true).write(true).create_new(true).open(path);
    match new() {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            std::fs::remove_file(path)?;
            new()
        }
        made => made,
    }
}

/// Makes a directory and opens that one: not another to which somebody has put a link in its place meanwhile.
pub fn make_new(path: &Path) -> io::Result<Dir> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let parent = rustix::fs::open(parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let leaf = path.file_name().ok_or_else(|| invalid("a directory to be made needs a name"))?;
    rustix::fs::mkdirat(&parent, leaf, Mode::from_raw_mode(0o777))?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(Dir::of(openat(&parent, leaf, flags, Mode::empty())?, path.to_owned()))
}

/// The name under which a file is written before it takes its place: hidden, in the same directory.
pub fn hidden(name: &str) -> io::Result<String> {
    Ok(match parts(name)? {
        (None, leaf) => format!(".{leaf}.new"),
        (Some(folder), leaf) => format!("{folder}/.{leaf}.new"),
    })
}

/// Lets `from` and `to` change places, both at once; the parents are directories that the user named.
pub fn exchange(from: &Path, to: &Path) -> io::Result<()> {
    let cwd = rustix::fs::CWD;
    Ok(renameat_with(cwd, from, cwd, to, RenameFlags::EXCHANGE)?)
}

/// Renames `from` to `to` unless something stands there.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    let cwd = rustix::fs::CWD;
    match renameat_with(cwd, from, cwd, to, RenameFlags::NOREPLACE) {
        // The file system does not know the flag; then a look must do.
        Err(Errno::INVAL | Errno::NOSYS) if !to.exists() => std::fs::rename(from, to),
        other => Ok(other?),
    }
}

/// The first byte from `offset` on that is not in a hole of a sparse file; `None` if only holes follow.
pub fn next_data(file: &File, offset: u64) -> io::Result<Option<u64>> {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(offset)) {
        Ok(at) => Ok(Some(at)),
        Err(Errno::NXIO) => Ok(None),
        // A file system without holes.
        Err(Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(Some(offset)),
        Err(e) => Err(e.into()),
    }
}

/// A name beside `path` in its directory, visible: `x.hnt` and `recording-7` make `x.hnt.recording-7`.
pub fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name: OsString = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(suffix);
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{FileExt, symlink};

    fn folder() -> (tempfile::TempDir, Dir) {
        let t = tempfile::tempdir().unwrap();
        let root = t.path().join("d");
        fs::create_dir_all(root.join("threads")).unwrap();
        fs::write(t.path().join("victim"), "mine").unwrap();
        let dir = Dir::open(&root).unwrap();
        (t, dir)
    }

    #[test]
    fn files_that_others_name_are_regular_and_what_is_made_is_new() {
        let (t, _) = folder();
        let at = |n: &str| t.path().join(n);
        symlink("victim", at("link")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, at("fifo"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        assert_eq!(content(&at("link"), 4).unwrap(), b"mine");
        assert_eq!(content(&at("victim"), 3).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        for other in [at("fifo"), at("d"), "/dev/zero".into(), at("nothing")] {
            assert!(content(&other, 9).is_err(), "{}", other.display());
        }
        create_new(&at("link")).unwrap().write_all(b"new").unwrap();
        assert_eq!((fs::read(at("link")).unwrap(), fs::read(at("victim")).unwrap()), (b"new".into(), b"mine".into()));
        assert!(create_new(&at("d")).is_err());
        make_new(&at("made")).unwrap().create("x").unwrap();
        symlink("made", at("to-made")).unwrap();
        assert!(at("made/x").is_file() && [at("made"), at("to-made"), "/".into()].iter().all(|p| make_new(p).is_err()));
    }

    #[test]
    fn only_regular_files_inside_are_opened_and_nothing_waits() {
        let (t, dir) = folder();
        let at = |n: &str| t.path().join("d").join(n);
        fs::write(at("good"), "g").unwrap();
        symlink(t.path().join("victim"), at("link")).unwrap();
        symlink("/dev/zero", at("zero")).unwrap();
        symlink(t.path(), at("up")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("fifo"), Mode::from_raw_mode(0o600)).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        fs::hard_link(t.path().join("victim"), at("hard")).unwrap();
        for bad in
            ["link", "zero", "up/victim", "fifo", "socket", "threads", "../victim", "/etc/passwd", "", ".", "a/b/c"]
        {
            assert!(dir.read(bad).is_err() && dir.write(bad).is_err(), "{bad}");
        }
        assert!(dir.read("good").is_ok() && dir.write("good").is_ok());
        assert!(dir.read("hard").is_ok() && dir.write("hard").is_err());
        assert!(dir.create("link").is_err() && dir.create("good").is_err() && dir.create("up/new").is_err());
        let kinds = ["good", "link", "fifo", "threads", "none"].map(|n| dir.kind(n).unwrap());
        assert_eq!(kinds, [Some(Kind::File(1)), Some(Kind::Link), Some(Kind::Special), Some(Kind::Directory), None]);
        assert_eq!(dir.names().unwrap().len(), 8);
        assert_eq!(fs::read(t.path().join("victim")).unwrap(), b"mine");
    }

    #[test]
    fn replacing_a_link_replaces_the_link_and_a_failure_leaves_no_litter() {
        let (t, dir) = folder();
        for make in [fs::hard_link::<PathBuf, PathBuf>, symlink::<PathBuf, PathBuf>] {
            make(t.path().join("victim"), t.path().join("d/threads/0")).unwrap();
            make(t.path().join("victim"), t.path().join("d/threads/.0.new")).unwrap();
            dir.replace("threads/0", b"new").unwrap();
            assert_eq!(fs::read(t.path().join("d/threads/0")).unwrap(), b"new");
            assert_eq!(fs::read(t.path().join("victim")).unwrap(), b"mine");
            dir.remove("threads/0").unwrap();
        }
        assert!(dir.replace("threads", b"new").is_err());
        assert_eq!(dir.names().unwrap(), ["threads"]);
        assert!(dir.sub("threads").unwrap().names().unwrap().is_empty());
    }

    #[test]
    fn holes_are_skipped() {
        let (_t, dir) = folder();
        let file = dir.create("sparse").unwrap();
        file.set_len(1 << 40).unwrap();
        file.write_all_at(b"x", 1 << 39).unwrap();
        let found = next_data(&file, 1).unwrap().unwrap();
        assert!(found == 1 || (found <= 1 << 39 && found > 1 << 38), "{found}");
    }
}
