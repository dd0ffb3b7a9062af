//! The agent: a library to preload into dynamically linked programs that were not compiled with the hooks.
//!
//! With `HOMENODE_CONTROL` set it logs threads, modules, mappings and allocations of at
//! least 4096 bytes into the same rings as the hooks, without any reference. With [`PLAN_ENV`] set it places memory and
//! threads as that file says; `homenode_base::agenttable` writes such files. With neither it passes
//! every call on.
//!
//! With `HOMENODE_AGENT_PROTECT` besides `HOMENODE_CONTROL` it samples who uses which page (`c/agent/protect.h`).
//!
//! Preload it **before** other allocators. Programs that bring an allocator in the executable keep it: then only the
//! allocator's mappings are seen, and a line on stderr says so. Static and set-user-ID programs are not affected.
use crate::error::CompileError;
use crate::install;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The library: `LD_PRELOAD` wants it as a file, see [`install`].
pub static AGENT: LazyLock<Vec<u8>> =
    LazyLock::new(|| install::embedded(include_bytes!(concat!(env!("OUT_DIR"), "/libhomenode_agent.so.zst"))));

/// Environment variable with the path of a plan.
pub const PLAN_ENV: &str = "HOMENODE_AGENT_PLAN";
/// Environment variable with the path of a file to which every process that the plan is meant for appends what came of
/// it when it ends.
pub const RESULT_ENV: &str = "HOMENODE_AGENT_RESULT";
/// Environment variable: `preferred` (the default: a full node does not kill the program) or `bind`.
pub const POLICY_ENV: &str = "HOMENODE_AGENT_POLICY";
/// File name of the library in its directory.
pub const NAME: &str = "libhomenode_agent.so";

/// Writes the library where [`crate::install::install`] writes the archive and returns its path.
pub fn install() -> Result<PathBuf, CompileError> {
    install::first_base(install_in)
}

/// As [`install`], below the directory `base`.
pub fn install_in(base: &Path) -> std::io::Result<PathBuf> {
    Ok(install::write_all(base, "agent", &[(NAME, &AGENT)])?.join(NAME))
}
