//! Putting the archive and its companions where a compiler can read them.
use crate::ARCHIVE;
use crate::compile::CompileError;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// File name of the archive in its directory.
const ARCHIVE_NAME: &str = "libhomenode_hooks.a";

const FILES: &[(&str, &[u8])] = &[
    ("gcc.specs", include_bytes!("../link/gcc.specs")),
    ("gcc10.specs", include_bytes!("../link/gcc10.specs")),
    ("exports.list", include_bytes!("../link/exports.list")),
    ("homenode.h", crate::HEADER.as_bytes()),
    (ARCHIVE_NAME, ARCHIVE),
];

/// Writes the archive to the user's cache (`$XDG_CACHE_HOME/homenode` or `~/.cache/homenode`, else a private directory
/// among the temporary files), in a directory named after its content, and returns its path. What is there already and
/// equal is left alone.
pub fn install() -> Result<PathBuf, CompileError> {
    first_base(install_in)
}

/// As [`install`], below the directory `base`.
pub fn install_in(base: &Path) -> io::Result<PathBuf> {
    Ok(write_all(base, "hooks", FILES)?.join(ARCHIVE_NAME))
}

/// The first place where something can be written.
pub(crate) fn first_base(write: impl Fn(&Path) -> io::Result<PathBuf>) -> Result<PathBuf, CompileError> {
    let mut failed = None;
    for base in bases() {
        match write(&base) {
            Ok(path) => return Ok(path),
            Err(e) => failed = failed.or(Some((base, e))),
        }
    }
    let (base, e) = failed.unwrap_or_else(|| (PathBuf::new(), io::ErrorKind::NotFound.into()));
    Err(CompileError::Install(base, e))
}

/// Writes files below `base`, in a directory named after `what` and their content, and returns that directory.
pub(crate) fn write_all(base: &Path, what: &str, files: &[(&str, &[u8])]) -> io::Result<PathBuf> {
    let content = files.iter().fold(0xcbf2_9ce4_8422_2325, |hash, (_, bytes)| fnv1a(hash, bytes));
    let dir = base.join(format!("{what}-{content:016x}"));
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
    let mine = std::fs::metadata("/proc/self")?.uid();
    if std::fs::metadata(&dir)?.uid() != mine {
        return Err(io::Error::other("the directory belongs to another user"));
    }
    for (name, bytes) in files {
        write_if_different(&dir, name, bytes)?;
    }
    Ok(dir)
}

/// Replaces the file in one step: several compilers of one `make -j` may be here at once.
fn write_if_different(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let path = dir.join(name);
    if std::fs::read(&path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    let temporary = dir.join(format!(".{name}.{}", std::process::id()));
    std::fs::write(&temporary, bytes)?;
    std::fs::rename(&temporary, &path)
}

fn bases() -> Vec<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    let uid = std::fs::metadata("/proc/self").map_or(0, |m| m.uid());
    let temporary = std::env::temp_dir().join(format!("homenode-{uid}"));
    cache.map(|c| c.join("homenode")).into_iter().chain([temporary]).collect()
}

/// FNV-1a (Fowler, Noll, Vo), 64 bits.
fn fnv1a(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}
