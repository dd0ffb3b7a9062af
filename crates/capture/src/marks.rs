//! What tells that a program has the capture hooks in it.
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// What the hooks runtime has in it wherever it is linked: the name of its environment variable.
pub(crate) const MARK: &[u8] = homenode_base::ring::CONTROL_ENV.as_bytes();

/// Whether a word of the command is the path of a program with the runtime in it.
pub(crate) fn is_built_with_hooks(word: &Path) -> bool {
    let runs = |m: std::fs::Metadata| m.is_file() && m.permissions().mode() & 0o111 != 0;
    word.metadata().is_ok_and(runs) && std::fs::read(word).is_ok_and(|bytes| contains(&bytes, MARK))
}

pub(crate) fn contains(bytes: &[u8], mark: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|b| b == &mark[0]) {
        if rest[at..].starts_with(mark) {
            return true;
        }
        rest = &rest[at + 1..];
    }
    false
}
