//! What can become of a page, and of a process, in the words of a report.
use std::fmt;
use std::io;

/// Why a page stayed where it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refusal {
    /// Other processes map it too (EACCES); moving it takes CAP_SYS_NICE.
    Shared,
    /// The kernel held it, also when asked again (EBUSY).
    Busy,
    /// The node has no free page (ENOMEM).
    NodeFull,
    /// The cpuset of the process forbids the node, or there is none of this number (EACCES, EINVAL, ENODEV).
    NodeForbidden,
    /// Nothing is there: never touched, or freed in the meantime (ENOENT).
    Absent,
    /// The common page of zeros, or no mapping (EFAULT).
    Unmapped,
    /// The process ended.
    ProcessGone,
    /// The user may not move pages of this process (EPERM).
    NotPermitted,
    /// Not attempted: the time for moving was used up.
    OutOfTime,
    /// The kernel moved it elsewhere or gave no answer.
    Unconfirmed,
    /// Another error number.
    Other(i32),
}

impl Refusal {
    /// What a negative status means, `errno` positive.
    pub(crate) fn of_page(errno: i32) -> Refusal {
        match errno {
            1 => Refusal::NotPermitted,
            2 => Refusal::Absent,
            3 => Refusal::ProcessGone,
            12 => Refusal::NodeFull,
            13 => Refusal::Shared,
            14 => Refusal::Unmapped,
            16 => Refusal::Busy,
            other => Refusal::Other(other),
        }
    }
    /// What an error of a whole call means; the pages of a call all have one target.
    pub(crate) fn of_call(errno: i32) -> Refusal {
        match errno {
            13 | 19 | 22 => Refusal::NodeForbidden,
            other => Refusal::of_page(other),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::Shared => "shared with other processes",
            Refusal::Busy => "busy in the kernel",
            Refusal::NodeFull => "node full",
            Refusal::NodeForbidden => "node forbidden by cpuset, or not there",
            Refusal::Absent => "not present",
            Refusal::Unmapped => "not mapped or a page of zeros",
            Refusal::ProcessGone => "process ended",
            Refusal::NotPermitted => "not permitted",
            Refusal::OutOfTime => "out of time",
            Refusal::Unconfirmed => "not confirmed by the kernel",
            Refusal::Other(errno) => return write!(f, "{}", io::Error::from_raw_os_error(*errno)),
        })
    }
}

/// What became of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveStatus {
    /// The kernel says it is on the node asked for now, and was not before as far as known.
    Moved,
    /// The page stays, for this reason.
    Refused(Refusal),
}

/// A process that cannot be worked on at all.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// The process does not exist.
    #[error("process {0} does not exist (any more)")]
    Gone(u32),
    /// The process belongs to somebody else or is protected.
    #[error(
        "process {0} cannot be looked into: it belongs to another user, is setuid, or a security module forbids it; \
         run as its user or as root (moving pages takes the rights of ptrace)"
    )]
    NotPermitted(u32),
    /// The kernel has no NUMA support or a filter forbids the call.
    #[error(
        "the kernel refuses move_pages: it was built without CONFIG_NUMA or CONFIG_MIGRATION, or a container's seccomp \
         filter forbids it"
    )]
    Unsupported,
    /// A file of `/proc` cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// Anything else.
    #[error("move_pages on process {pid}: {source}")]
    Call {
        /// The process.
        pid: u32,
        /// What the system said.
        source: io::Error,
    },
}

impl MigrateError {
    /// What an error of a system call on this process means.
    pub(crate) fn of(pid: u32, source: io::Error) -> MigrateError {
        match source.raw_os_error() {
            Some(3) => MigrateError::Gone(pid),
            // A filter says EPERM too; but then the process's own pages are refused as well, which `where_are` tells apart.
            Some(1 | 13) => MigrateError::NotPermitted(pid),
            Some(38) => MigrateError::Unsupported,
            _ => MigrateError::Call { pid, source },
        }
    }
    /// What a failure to read a file of `/proc/PID` means.
    pub(crate) fn read(pid: u32, path: String, source: io::Error) -> MigrateError {
        match (source.kind(), source.raw_os_error()) {
            (io::ErrorKind::NotFound, _) | (_, Some(3)) => MigrateError::Gone(pid),
            (io::ErrorKind::PermissionDenied, _) => MigrateError::NotPermitted(pid),
            _ => MigrateError::Read { path, source },
        }
    }
}

impl From<MoveStatus> for homenode_placement::live::MoveStatus {
    fn from(move_status: MoveStatus) -> homenode_placement::live::MoveStatus {
        use homenode_placement::live::{MoveRefusal, MoveStatus as Status};
        let MoveStatus::Refused(why) = move_status else { return Status::Moved };
        Status::Refused(match why {
            Refusal::Shared => MoveRefusal::Shared,
            Refusal::Busy => MoveRefusal::Busy,
            Refusal::NodeFull => MoveRefusal::NodeFull,
            Refusal::NodeForbidden => MoveRefusal::NodeForbidden,
            Refusal::Absent | Refusal::Unmapped => MoveRefusal::Absent,
            Refusal::ProcessGone => MoveRefusal::Gone,
            Refusal::NotPermitted => MoveRefusal::NotPermitted,
            Refusal::OutOfTime => MoveRefusal::OutOfTime,
            Refusal::Unconfirmed | Refusal::Other(_) => MoveRefusal::Other,
        })
    }
}
