//! Where the debugging information of a stripped file may be.
use crate::answers::BYTES_MAX;
use homenode_sys::dir;
use object::{Object, ObjectSection};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Root of separate debug files on Debian, Ubuntu, Fedora and others.
const DEBUG_ROOT: &str = "/usr/lib/debug";

/// The build id as lower-case hexadecimal digits.
pub(crate) fn build_id(file: &object::File<'_>) -> Option<String> {
    let id = file.build_id().ok().flatten()?;
    Some(id.iter().map(|b| format!("{b:02x}")).collect())
}

/// Whether the file has line tables itself.
pub(crate) fn has_debug_info(file: &object::File<'_>) -> bool {
    file.section_by_name(".debug_info").is_some_and(|s| s.size() > 0)
}

/// Reads the separate debug file of `file` (which lies at `path`): by build id under `root`, then by debug link beside the
/// file and under `root`. A file whose build id differs is not taken.
pub(crate) fn separate(path: &Path, file: &object::File<'_>, root: Option<&Path>) -> Option<Vec<u8>> {
    let wanted = build_id(file);
    candidates(path, file, wanted.as_deref(), root.unwrap_or(Path::new(DEBUG_ROOT))).into_iter().find_map(|candidate| {
        let bytes = dir::content(&candidate, BYTES_MAX).ok()?;
        let parsed = object::File::parse(&*bytes).ok()?;
        let fits = has_debug_info(&parsed) && (wanted.is_none() || build_id(&parsed) == wanted);
        fits.then_some(bytes)
    })
}

fn candidates(path: &Path, file: &object::File<'_>, build_id: Option<&str>, root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if let Some((head, tail)) = build_id.and_then(|id| id.split_at_checked(2)) {
        found.push(root.join(".build-id").join(head).join(format!("{tail}.debug")));
    }
    let link = file.gnu_debuglink().ok().flatten().map(|(name, _)| Path::new(OsStr::from_bytes(name)).to_owned());
    if let (Some(link), Some(dir)) = (link.as_ref().and_then(|l| l.file_name()), path.parent()) {
        found.extend([dir.join(link), dir.join(".debug").join(link)]);
        found.push(root.join(dir.strip_prefix("/").unwrap_or(dir)).join(link));
    }
    found
}
