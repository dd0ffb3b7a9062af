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
    /// By thread: locks that it holds, and the number of the section that it is in.
    held: Vec<(u32, u64)>,
    sections: u64,
}

/// What a reference has to do with locks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Locked {
    /// Whether it is to a lock word.
    pub(crate) word: bool,
    /// The turn that it is part of, each with a number of its own: a section under locks, or one atomic operation. 0 is none.
    pub(crate) turn: u64,
}

/// A lying thread number must not make a table as long as it says.
const THREADS_MAX: usize = 1 << 16;

impl Locks {
    /// Notes an acquisition.
    pub(crate) fn acquired(&mut self, thread: u32, addr: u64) {
        self.acquired.insert(thread, addr);
    }
    /// Notes a reference.
    #[inline]
    pub(crate) fn reference(&mut self, thread: u32, addr: u64, op: Op) -> Locked {
        let mut takes = false;
        if !self.acquired.is_empty()
            && let Some(acquired) = self.acquired.remove(&thread)
            && acquired == addr
            && op == Op::Atomic
        {
            self.words.insert(addr);
            takes = true;
        }
        let word = !self.words.is_empty() && op != Op::Read && self.words.contains(&addr);
        if word {
            return Locked { word, turn: self.lock(thread, takes) };
        }
        let held = self.held.get(thread as usize).filter(|h| h.0 > 0);
        let turn = match held {
            Some(held) => held.1,
            None if op == Op::Atomic => self.next(),
            None => 0,
        };
        Locked { word, turn }
    }
    /// A lock is taken or given back; the turn that this is part of.
    fn lock(&mut self, thread: u32, takes: bool) -> u64 {
        let thread = thread as usize;
        if thread >= THREADS_MAX {
            return self.next();
        }
        if thread >= self.held.len() {
            self.held.resize(thread + 1, (0, 0));
        }
        if takes {
            let section = self.next();
            let held = &mut self.held[thread];
            *held = (held.0 + 1, section);
            return section;
        }
        let held = &mut self.held[thread];
        held.0 = held.0.saturating_sub(1);
        held.1
    }
    fn next(&mut self) -> u64 {
        self.sections += 1;
        self.sections
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_one_turn_and_so_is_an_atomic() {
        let mut locks = Locks::default();
        let mut turn = |thread, addr, op, take: bool| {
            if take {
                locks.acquired(thread, addr);
            }
            locks.reference(thread, addr, op).turn
        };
        let inside = [turn(0, 64, Op::Atomic, true), turn(0, 8, Op::Write, false), turn(0, 64, Op::Write, false)];
        assert_eq!(inside, [inside[0]; 3]);
        assert_eq!(turn(0, 8, Op::Write, false), 0);
        let atomics = [turn(0, 8, Op::Atomic, false), turn(0, 8, Op::Atomic, false)];
        assert!(inside[0] > 0 && atomics[0] > inside[0] && atomics[1] > atomics[0]);
        assert_eq!(turn(1, 8, Op::Read, false), 0);
        assert!(turn(1, 64, Op::Atomic, true) > atomics[1]);
    }

    #[test]
    fn a_word_is_a_lock_from_its_first_acquisition_on() {
        let mut locks = Locks::default();
        assert!(!locks.reference(0, 64, Op::Atomic).word);
        locks.acquired(0, 64);
        assert!(!locks.reference(1, 64, Op::Atomic).word, "another thread's");
        assert!(locks.reference(0, 64, Op::Atomic).word);
        assert!(locks.reference(1, 64, Op::Write).word, "its release");
        assert!(!locks.reference(1, 65, Op::Write).word);
        // An atomic load acquires and reads; a read-modify-write after it is none of a lock.
        locks.acquired(0, 128);
        assert!(!locks.reference(0, 128, Op::Read).word);
        assert!(!locks.reference(0, 128, Op::Atomic).word);
    }
}
