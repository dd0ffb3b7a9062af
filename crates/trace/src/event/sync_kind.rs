//! What kind of synchronisation an acquire or a release is part of.
use homenode_base::ring;
use serde::{Deserialize, Serialize};

/// The kind of synchronisation of an acquire, a release or both. Which of them order each other the object and the epoch say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyncKind {
    /// Not recorded: the dataset was written before kinds were.
    #[default]
    Unknown,
    /// A mutex or a spin lock.
    Mutex,
    /// A reader-writer lock, taken or given back by a reader. Readers acquire epoch 0 and release epoch 1.
    RwRead,
    /// A reader-writer lock, taken or given back by a writer. Writers acquire both and release epoch 0.
    RwWrite,
    /// A barrier: arrivals release, departures acquire; the epoch is its generation.
    Barrier {
        /// Threads that it takes; 0 if not known.
        parties: u32,
    },
    /// The end of a wait for a condition variable.
    Condition,
    /// A condition variable is signalled to one thread.
    Signal,
    /// A condition variable is signalled to all threads.
    Broadcast,
    /// A semaphore: posting releases, having waited acquires.
    Semaphore,
    /// A thread ends (release), or is joined (acquire).
    Join,
    /// Something is done once: doing it releases, finding it done acquires.
    Once,
    /// An atomic operation.
    Atomic,
    /// The allocator hands memory on from one thread to another.
    Allocator,
    /// The program says so, by annotations for race detectors.
    Annotation,
    /// The begin of a thread that no call of the program announced.
    Thread,
}

/// Kinds without fields, their numbers in rings and files, and what they are called.
const PLAIN: [(SyncKind, u64, &str); 14] = [
    (SyncKind::Unknown, 0, "not known"),
    (SyncKind::Mutex, ring::SYNC_MUTEX, "mutex"),
    (SyncKind::RwRead, ring::SYNC_RW_READ, "rwlock read"),
    (SyncKind::RwWrite, ring::SYNC_RW_WRITE, "rwlock write"),
    (SyncKind::Condition, ring::SYNC_CONDITION, "condition wait"),
    (SyncKind::Signal, ring::SYNC_SIGNAL, "condition signal"),
    (SyncKind::Broadcast, ring::SYNC_BROADCAST, "condition broadcast"),
    (SyncKind::Semaphore, ring::SYNC_SEMAPHORE, "semaphore"),
    (SyncKind::Join, ring::SYNC_JOIN, "join"),
    (SyncKind::Once, ring::SYNC_ONCE, "once"),
    (SyncKind::Atomic, ring::SYNC_ATOMIC, "atomic"),
    (SyncKind::Allocator, ring::SYNC_ALLOCATOR, "allocator"),
    (SyncKind::Annotation, ring::SYNC_ANNOTATION, "annotation"),
    (SyncKind::Thread, ring::SYNC_THREAD, "thread begin"),
];

impl SyncKind {
    /// Number in rings and files, and the threads that a barrier takes (0 for everything else).
    pub fn code(self) -> (u8, u32) {
        match self {
            SyncKind::Barrier { parties } => (ring::SYNC_BARRIER as u8, parties),
            plain => (plain.row().1 as u8, 0),
        }
    }
    /// The kind with this number; `None` if there is none.
    pub fn of_code(code: u8, parties: u32) -> Option<SyncKind> {
        if u64::from(code) == ring::SYNC_BARRIER {
            return Some(SyncKind::Barrier { parties });
        }
        PLAIN.iter().find(|row| row.1 == u64::from(code)).map(|row| row.0)
    }
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            SyncKind::Barrier { .. } => "barrier",
            plain => plain.row().2,
        }
    }
    /// Names of all kinds, in the order of their numbers.
    pub fn names() -> Vec<&'static str> {
        (0..=u8::MAX).filter_map(|code| SyncKind::of_code(code, 0)).map(SyncKind::name).collect()
    }
    fn row(self) -> &'static (SyncKind, u64, &'static str) {
        PLAIN.iter().find(|row| row.0 == self).unwrap_or(&PLAIN[0])
    }
    /// Whether it is a barrier.
    pub const fn is_barrier(self) -> bool {
        matches!(self, SyncKind::Barrier { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_number_of_its_own() {
        let kinds: Vec<SyncKind> = (0..=u8::MAX).filter_map(|code| SyncKind::of_code(code, 7)).collect();
        assert_eq!(kinds.len(), PLAIN.len() + 1);
        for kind in kinds {
            let (code, parties) = kind.code();
            assert_eq!(SyncKind::of_code(code, parties), Some(kind));
        }
    }
}
