//! The library that makes a program a node, and how the loader gets it.
use homenode_command::Failure;
use homenode_hooks::install;
use std::ffi::{OsStr, OsString};
use std::sync::LazyLock;

/// The library: the loader wants it as a file.
pub(crate) static LIBRARY: LazyLock<Vec<u8>> =
    LazyLock::new(|| install::embedded(include_bytes!(concat!(env!("OUT_DIR"), "/libhomenode_svm.so.zst"))));
/// File name of the library.
const NAME: &str = "libhomenode_svm.so";
/// Environment variable with the libraries that the loader loads first.
pub(crate) const PRELOAD_ENV: &str = "LD_PRELOAD";

/// Writes the library where it is found again, and the value of [`PRELOAD_ENV`] with it as the first one of those `before`.
pub(crate) fn preload(before: Option<&OsStr>) -> Result<OsString, Failure> {
    let mut preload = OsString::from(install::library("svm", NAME, &LIBRARY).map_err(Failure::work)?);
    if let Some(before) = before.filter(|list| !list.is_empty()) {
        preload.push(":");
        preload.push(before);
    }
    Ok(preload)
}
