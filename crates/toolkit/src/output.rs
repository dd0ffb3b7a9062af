//! Output files: never replaced unasked, never half written.
use crate::Failure;
use std::path::{Path, PathBuf};

/// Fails if the path exists and `force` is not given.
pub fn refuse_existing(path: &Path, force: bool) -> Result<(), Failure> {
    if !force && path.symlink_metadata().is_ok() {
        return Err(Failure::usage(format!("{} exists; --force replaces it", path.display())));
    }
    Ok(())
}

/// The name to write to before renaming to `path`: in the same directory, so that the rename is atomic.
pub fn temporary(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.part", std::process::id()));
    path.with_file_name(name)
}

/// Writes the whole file or nothing.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let part = temporary(path);
    let done = std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, path));
    done.map_err(|e| {
        // What could not be finished must not stay; that removing it fails too changes nothing for the user.
        let _ = std::fs::remove_file(&part);
        Failure::work(format!("cannot write {}: {e}", path.display()))
    })
}
