//! Which words are locks. The recorder notes at an acquisition that the object was acquired, then a read-modify-write of
//! its first word; atomics of the program that also acquire something are noted the other way round, or are no
//! read-modify-writes.
use hashbrown::{HashMap, HashSet};
use homenode_trace::Op;

/// Lock words known so far.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    words: HashSet<u64>,
    /// By thread, what it has acquired since its last reference.
    acquired: HashMap<u32, u64>,
}

impl Locks {
    /// Notes an acquisition.
    pub(crate) fn acquired(&mut self, thread: u32, addr: u64) {
        self.acquired.insert(thread, addr);
    }
    /// Whether this reference is to a lock word.
    #[inline]
    pub(crate) fn reference(&mut self, thread: u32, addr: u64, op: Op) -> bool {
        if !self.acquired.is_empty()
            && let Some(acquired) = self.acquired.remove(&thread)
            && acquired == addr
            && op == Op::Atomic
        {
            self.words.insert(addr);
        }
        !self.words.is_empty() && op != Op::Read && self.words.contains(&addr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_lock_from_its_first_acquisition_on() {
        let mut locks = Locks::default();
        assert!(!locks.reference(0, 64, Op::Atomic));
        locks.acquired(0, 64);
        assert!(!locks.reference(1, 64, Op::Atomic), "another thread's");
        assert!(locks.reference(0, 64, Op::Atomic));
        assert!(locks.reference(1, 64, Op::Write), "its release");
        assert!(!locks.reference(1, 65, Op::Write));
        // An atomic load acquires and reads; a read-modify-write after it is none of a lock.
        locks.acquired(0, 128);
        assert!(!locks.reference(0, 128, Op::Read));
        assert!(!locks.reference(0, 128, Op::Atomic));
    }
}
