//! Events: everything in a thread's program order that is not a reference.
mod sync_kind;

pub use sync_kind::SyncKind;

use homenode_base::CpuMask;
use serde::{Deserialize, Serialize};

/// One event. It happened after `at` references of its thread (spins included) and before the next one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Dataset-wide thread id.
    pub thread: u32,
    /// References of that thread before it.
    pub at: u64,
    /// Clock of the manifest's kind, when known; 0 = absent.
    pub stamp: u64,
    /// What happened.
    pub kind: EventKind,
}

/// What an [`Event`] says. A synchronisation object is (`object`, `epoch`): the address of a lock and 0, the address of a
/// barrier and its generation, and so on; sequence numbers compare only within one object. What kind of synchronisation it
/// is [`SyncKind`] says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A process starts with this thread.
    Process {
        /// Process id on the recorded machine.
        pid: u32,
        /// Process id of the parent.
        parent: u32,
    },
    /// Number taken before a release.
    Release {
        /// Address or handle.
        object: u64,
        /// Generation.
        epoch: u64,
        /// Sequence number.
        seq: u64,
        /// Of what kind of synchronisation.
        sync: SyncKind,
    },
    /// Number taken after an acquire: it follows all lower-numbered releases of the object.
    Acquire {
        /// Address or handle.
        object: u64,
        /// Generation.
        epoch: u64,
        /// Sequence number.
        seq: u64,
        /// Of what kind of synchronisation.
        sync: SyncKind,
    },
    /// Both, with one number: acquire, then release (a read-modify-write).
    AcqRel {
        /// Address or handle.
        object: u64,
        /// Generation.
        epoch: u64,
        /// Sequence number.
        seq: u64,
        /// Of what kind of synchronisation.
        sync: SyncKind,
    },
    /// The thread created another one. A release that the child's begin acquires.
    Spawn {
        /// Dataset-wide id of the new thread.
        child: u32,
    },
    /// The thread ended.
    Exit,
    /// Memory obtained.
    Alloc {
        /// First byte.
        addr: u64,
        /// Bytes.
        bytes: u64,
        /// Way in which the memory was obtained.
        source: AllocSource,
        /// Program counters, innermost first.
        stack: Vec<u64>,
    },
    /// Memory given back.
    Free {
        /// First byte.
        addr: u64,
    },
    /// Address range mapped.
    Map {
        /// First byte.
        addr: u64,
        /// Bytes.
        bytes: u64,
        /// Protection bits as in mmap(2).
        prot: u32,
        /// Flags as in mmap(2).
        flags: u32,
        /// Device of the mapped file, 0 for none.
        device: u64,
        /// Inode of the mapped file, 0 for none.
        inode: u64,
        /// Byte of the file, or of the anonymous memory, at which it begins; absent where the runtime did not say it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offset: Option<u64>,
    },
    /// Address range unmapped.
    Unmap {
        /// First byte.
        addr: u64,
        /// Bytes.
        bytes: u64,
    },
    /// An executable or library appeared in the address space.
    Module {
        /// Load bias: run-time address minus address in the file.
        bias: u64,
        /// Bytes from the bias to the end of the last segment.
        bytes: u64,
        /// Path.
        path: String,
    },
    /// A named phase begins.
    PhaseBegin {
        /// Name.
        name: String,
    },
    /// A named phase ends.
    PhaseEnd {
        /// Name.
        name: String,
    },
    /// A thread may run on these processors only.
    Affinity {
        /// Dataset-wide id of that thread, which need not be the one that says so.
        target: u32,
        /// How it is known.
        how: AffinityHow,
        /// Processors, as the kernel of the recorded machine numbers them.
        #[serde(with = "mask_words")]
        cpus: CpuMask,
    },
    /// The thread has waited for the end of a process.
    Waited {
        /// Process id on the recorded machine.
        pid: u32,
    },
    /// The references marked as busy waiting before it were none: what they read never changed.
    NoWait {
        /// How many of them, counted back from here.
        reads: u64,
    },
}

impl EventKind {
    /// The acquire or release that this is: what its kind of synchronisation is.
    pub const fn sync(&self) -> Option<SyncKind> {
        match self {
            EventKind::Release { sync, .. } | EventKind::Acquire { sync, .. } | EventKind::AcqRel { sync, .. } => {
                Some(*sync)
            }
            _ => None,
        }
    }
    /// The version of event chunks that was the first to have this.
    pub(crate) fn version(&self) -> u16 {
        match self {
            EventKind::Affinity { .. } | EventKind::Waited { .. } | EventKind::NoWait { .. } => 2,
            EventKind::Map { offset: Some(_), .. } => 4,
            kind if kind.sync().is_some_and(|sync| sync != SyncKind::Unknown) => 3,
            _ => 1,
        }
    }
}

/// A set of processors as a list of words.
mod mask_words {
    use homenode_base::CpuMask;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(mask: &CpuMask, to: S) -> Result<S::Ok, S::Error> {
        mask.words().serialize(to)
    }
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<CpuMask, D::Error> {
        Vec::<u64>::deserialize(from).map(|words| CpuMask::from_words(&words))
    }
}

/// How the affinity of a thread is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AffinityHow {
    /// The program asked for it: holds from there on.
    Call,
    /// So it was when the thread ended, and no call of it was seen: holds for all its life.
    Seen,
    /// The process was started with it.
    Inherited,
}

/// How memory was obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AllocSource {
    /// malloc family and operator new.
    Heap,
    /// Stack of a thread.
    Stack,
    /// Anonymous mmap.
    Map,
    /// The workloads' shared allocation.
    Shared,
}
