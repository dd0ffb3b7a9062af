//! Putting the archive and its companions where a compiler can read them.
use crate::ARCHIVE;
use crate::error::CompileError;
use homenode_sys::dir::Dir;
use homenode_sys::{disk, private};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// File name of the archive in its directory.
const ARCHIVE_NAME: &str = "libhomenode_hooks.a";

/// Every file that compilers read.
fn files() -> [(&'static str, &'static [u8]); 6] {
    [
        ("gcc.specs", include_bytes!("../link/gcc.specs")),
        ("gcc10.specs", include_bytes!("../link/gcc10.specs")),
        ("exports.list", include_bytes!("../link/exports.list")),
        ("homenode.h", crate::HEADER.as_bytes()),
        (ARCHIVE_NAME, &ARCHIVE),
        (ASSEMBLER_NAME, &ASSEMBLER),
    ]
}

/// Name under which compilers look for the assembler.
const ASSEMBLER_NAME: &str = "as";
/// The program that makes calls of the hooks into blocks of references and then is the assembler.
static ASSEMBLER: LazyLock<Vec<u8>> = LazyLock::new(|| embedded(include_bytes!(concat!(env!("OUT_DIR"), "/as.zst"))));

/// A product of a build script, which is embedded compressed: the command is smaller by two megabytes.
///
/// # Panics
/// The bytes are none that zstd wrote.
pub fn embedded(small: &[u8]) -> Vec<u8> {
    zstd::decode_all(small).expect("the build script compressed it")
}

/// Writes the archive to the user's cache (`$XDG_CACHE_HOME/homenode` or `~/.cache/homenode`), else below
/// `$XDG_RUNTIME_DIR`, else in a directory of this user's own among the temporary files, in a directory named after its
/// content, and returns its path. What is there already and equal is left alone. A place that another user could change is
/// not used: whoever can replace these files has code run as this user. See [`private`].
pub fn install() -> Result<PathBuf, CompileError> {
    first_base(install_in)
}

/// As [`install`], below the directory `base`.
pub fn install_in(base: &Path) -> io::Result<PathBuf> {
    Ok(write_all(base, "hooks", &files())?.join(ARCHIVE_NAME))
}

/// Writes a library that is to be preloaded where [`install`] writes the archive, in a directory named after `what` and its
/// content, and returns its path.
///
/// # Errors
/// It can be written nowhere.
pub fn library(what: &str, name: &str, bytes: &[u8]) -> Result<PathBuf, CompileError> {
    first_base(|base| Ok(write_all(base, what, &[(name, bytes)])?.join(name)))
}

/// A directory of this name where [`install`] writes the archive, which nobody but this user can change, for what can be made again.
///
/// # Errors
/// It can be made nowhere.
pub fn directory(name: &str) -> Result<PathBuf, CompileError> {
    first_base(|base| Ok(private::directory(&base.join(name))?.path().to_owned()))
}

/// The first place where something can be written.
pub(crate) fn first_base(write: impl Fn(&Path) -> io::Result<PathBuf>) -> Result<PathBuf, CompileError> {
    let mut failed = None;
    for base in bases() {
        match private::directory(&base).and_then(|dir| write(dir.path())) {
            Ok(path) => return Ok(path),
            Err(e) => failed = failed.or(Some((base, e))),
        }
    }
    let last = private::temporary(&format!("homenode-{}", disk::effective_ids().0));
    let (base, e) = match last.and_then(|dir| write(dir.path())) {
        Ok(path) => return Ok(path),
        Err(e) => failed.unwrap_or_else(|| (std::env::temp_dir(), e)),
    };
    Err(CompileError::Install(base, e))
}

/// Writes files below `base`, in a directory named after `what` and their content, and returns that directory. That nobody
/// else can change `base` is the caller's business.
pub(crate) fn write_all(base: &Path, what: &str, files: &[(&str, &[u8])]) -> io::Result<PathBuf> {
    let content = files.iter().fold(0xcbf2_9ce4_8422_2325, |hash, (_, bytes)| fnv1a(hash, bytes));
    let name = format!("{what}-{content:016x}");
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(base)?;
    let base = Dir::open(base)?;
    match base.make(&name) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
        _ => {}
    }
    let dir = base.own_sub(&name)?;
    files.iter().try_for_each(|(name, bytes)| dir.keep_own(name, bytes, *name == ASSEMBLER_NAME))?;
    Ok(dir.path().to_owned())
}

/// Where a user's files may be that can be made again.
fn bases() -> Vec<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    cache.into_iter().chain(absolute("XDG_RUNTIME_DIR")).map(|base| base.join("homenode")).collect()
}

/// FNV-1a (Fowler, Noll, Vo), 64 bits. It names the directory; what is in it is compared byte by byte.
fn fnv1a(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}
