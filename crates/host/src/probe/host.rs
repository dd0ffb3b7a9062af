//! The machine, or one that a test makes up.
use std::io;
use std::path::{Path, PathBuf};

/// Something tried to see whether the kernel grants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Attempt {
    /// perf_event_open of the page-fault event.
    FaultEvent,
    /// userfaultfd for faults at user level.
    Userfaultfd,
    /// move_pages on an own page.
    MovePages,
    /// mbind on own memory.
    Mbind,
    /// Syscall User Dispatch.
    UserDispatch,
}

/// Where answers come from.
pub trait Host {
    /// A file below the root, without white space round it; `None` if it cannot be read.
    fn text(&self, path: &str) -> Option<String>;
    /// Whether a path exists below the root.
    fn exists(&self, path: &str) -> bool;
    /// Whether this process may write to the file.
    fn writable(&self, path: &str) -> bool;
    /// Tries it.
    ///
    /// # Errors
    /// The error number of the kernel.
    fn attempt(&self, what: Attempt) -> Result<(), i32>;
}

/// The machine that this runs on.
#[derive(Clone, Debug)]
pub struct ThisHost {
    root: PathBuf,
}

impl Default for ThisHost {
    fn default() -> ThisHost {
        ThisHost { root: "/".into() }
    }
}

impl ThisHost {
    /// This machine with its files read below another root.
    pub fn with_files_below(root: &Path) -> ThisHost {
        ThisHost { root: root.to_owned() }
    }
}

impl Host for ThisHost {
    fn text(&self, path: &str) -> Option<String> {
        Some(std::fs::read_to_string(self.root.join(path)).ok()?.trim().to_owned())
    }
    fn exists(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }
    fn writable(&self, path: &str) -> bool {
        // Opening changes nothing: these files act on what is written.
        std::fs::OpenOptions::new().write(true).open(self.root.join(path)).is_ok()
    }
    fn attempt(&self, what: Attempt) -> Result<(), i32> {
        use homenode_sys::probe;
        let done: io::Result<()> = match what {
            Attempt::FaultEvent => probe::fault_event(),
            Attempt::Userfaultfd => probe::userfaultfd(),
            Attempt::MovePages => probe::move_pages(),
            Attempt::Mbind => probe::mbind(),
            Attempt::UserDispatch => probe::user_dispatch(),
        };
        done.map_err(|e| e.raw_os_error().unwrap_or(0))
    }
}

/// CAP_* numbers of capabilities(7).
pub(super) const CAP_SYS_PTRACE: u32 = 19;
pub(super) const CAP_SYS_ADMIN: u32 = 21;
pub(super) const CAP_SYS_NICE: u32 = 23;
pub(super) const CAP_PERFMON: u32 = 38;

pub(super) const EPERM: i32 = 1;
pub(super) const EACCES: i32 = 13;
pub(super) const ENOSYS: i32 = 38;

/// A line `KEY:` of the process's status.
pub(super) fn status(host: &dyn Host, key: &str) -> Option<String> {
    let text = host.text("proc/self/status")?;
    text.lines().find_map(|l| Some(l.strip_prefix(key)?.strip_prefix(':')?.trim().to_owned()))
}

/// Whether the process has a capability in effect.
pub(super) fn capable(host: &dyn Host, capability: u32) -> bool {
    let set = status(host, "CapEff").and_then(|t| u64::from_str_radix(&t, 16).ok()).unwrap_or(0);
    set >> capability & 1 == 1
}

/// Whether a filter of system calls (seccomp) is on, as in most containers.
pub(super) fn filtered(host: &dyn Host) -> bool {
    status(host, "Seccomp").as_deref() == Some("2")
}

/// Who refused a system call and what to do, from the error number.
pub(super) fn refusal(host: &dyn Host, call: &str, errno: i32, kernel_option: &str) -> (String, String) {
    let container = format!(
        "start the container with --security-opt seccomp=unconfined, or with a profile that allows {call} \
         (Docker's does with --cap-add SYS_NICE)"
    );
    match errno {
        ENOSYS if !filtered(host) => {
            (format!("{call}: ENOSYS, the kernel is built without it"), format!("a kernel with {kernel_option}"))
        }
        ENOSYS | EPERM | EACCES if filtered(host) => (
            format!("{call}: {}, refused by this container's filter of system calls (seccomp)", name(errno)),
            container,
        ),
        _ => (format!("{call}: {}", name(errno)), String::new()),
    }
}

/// A name for an error number.
pub(super) fn name(errno: i32) -> String {
    match errno {
        EPERM => "EPERM".into(),
        EACCES => "EACCES".into(),
        ENOSYS => "ENOSYS".into(),
        22 => "EINVAL".into(),
        n => io::Error::from_raw_os_error(n).to_string(),
    }
}
