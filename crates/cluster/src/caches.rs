//! Caches inside a node: each processor's two, of which the second holds all that the first does, and what the others of its node see on the
//! bus (MESI).
use homenode_machine::Network;
use std::collections::VecDeque;

/// State of a line in the second cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Shared,
    Exclusive,
    Modified,
}

/// No line.
const NONE: u64 = u64::MAX;

/// A line of the first cache.
#[derive(Clone, Copy, Debug)]
struct First {
    line: u64,
    /// Whether it may be written without asking.
    writable: bool,
    /// Shared page that it lies in, or [`NONE_PAGE`].
    page: u32,
}

/// A page that is none of the protocol's.
pub(crate) const NONE_PAGE: u32 = u32::MAX;

/// A line of the second cache; of each set, the one used last stands first.
#[derive(Clone, Copy, Debug)]
struct Second {
    line: u64,
    state: State,
}

#[derive(Clone, Debug)]
struct Processor {
    first: Vec<First>,
    second: Vec<Second>,
}

/// Where an access was satisfied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// In the second cache.
    Second,
    /// In another cache of the node that shares it: a transaction without data.
    Upgrade,
    /// In memory, or in another cache, which costs the same.
    Memory,
}

/// What an access brought about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Brought {
    /// Lines that processors may not use, or not write, without asking any more.
    pub(crate) withdrawn: Vec<(u32, u64)>,
    /// Modified lines that went to memory.
    pub(crate) written_back: u32,
}

/// All caches, by processor of the cluster.
#[derive(Clone, Debug)]
pub(crate) struct Caches {
    processors: Vec<Processor>,
    /// Processors of a node.
    per_node: usize,
    first_mask: u64,
    sets_mask: u64,
    ways: usize,
}

impl Caches {
    pub(crate) fn new(net: &Network, processors: usize, per_node: usize) -> Caches {
        let firsts = (net.l1_bytes / net.line_bytes) as usize;
        let seconds = (net.l2_bytes / net.line_bytes) as usize;
        let one = Processor {
            first: vec![First { line: NONE, writable: false, page: NONE_PAGE }; firsts],
            second: vec![Second { line: NONE, state: State::Shared }; seconds],
        };
        let ways = net.l2_ways as usize;
        Caches {
            processors: vec![one; processors],
            per_node,
            first_mask: firsts as u64 - 1,
            sets_mask: (seconds / ways) as u64 - 1,
            ways,
        }
    }

    /// Whether the first cache has the line, and may write it if that is asked for.
    #[inline]
    pub(crate) fn hits(&self, processor: u32, line: u64, writes: bool) -> bool {
        let first = &self.processors[processor as usize].first[(line & self.first_mask) as usize];
        first.line == line && (!writes || first.writable)
    }
    /// Shared page of a line that hits.
    #[inline]
    pub(crate) fn page(&self, processor: u32, line: u64) -> u32 {
        self.processors[processor as usize].first[(line & self.first_mask) as usize].page
    }

    fn set(&mut self, processor: u32, line: u64) -> &mut [Second] {
        let at = (line & self.sets_mask) as usize * self.ways;
        &mut self.processors[processor as usize].second[at..at + self.ways]
    }

    /// An access that does not hit in the first cache: where it is satisfied. The line is in both caches then. `may_write`: whether the program
    /// may write its page.
    pub(crate) fn access(
        &mut self,
        (processor, line, page): (u32, u64, u32),
        (writes, may_write): (bool, bool),
        brought: &mut Brought,
    ) -> Found {
        let set = self.set(processor, line);
        let at = set.iter().position(|s| s.line == line);
        let found = match at {
            Some(at) if !writes || set[at].state != State::Shared => {
                if writes {
                    set[at].state = State::Modified;
                }
                set[..=at].rotate_right(1);
                Found::Second
            }
            Some(at) => {
                set[at].state = State::Modified;
                set[..=at].rotate_right(1);
                self.snoop(processor, line, true, brought);
                Found::Upgrade
            }
            None => {
                let others = self.snoop(processor, line, writes, brought);
                let state = match (writes, others) {
                    (true, _) => State::Modified,
                    (false, true) => State::Shared,
                    (false, false) => State::Exclusive,
                };
                self.fill(processor, Second { line, state }, brought);
                Found::Memory
            }
        };
        let is_modified = self.set(processor, line)[0].state == State::Modified;
        let slot = (line & self.first_mask) as usize;
        let first = &mut self.processors[processor as usize].first[slot];
        *first = First { line, writable: may_write && is_modified, page };
        found
    }

    /// What the other processors of the node do when they see a transaction; whether one of them has the line afterwards.
    fn snoop(&mut self, processor: u32, line: u64, writes: bool, brought: &mut Brought) -> bool {
        let node = processor as usize / self.per_node;
        let mut kept = false;
        for other in node * self.per_node..(node + 1) * self.per_node {
            let other = other as u32;
            if other == processor {
                continue;
            }
            let Some(way) = self.set(other, line).iter_mut().find(|s| s.line == line) else { continue };
            if way.state == State::Modified {
                brought.written_back += 1;
            }
            if writes {
                way.line = NONE;
                self.withdraw(other, line, true, brought);
            } else {
                way.state = State::Shared;
                kept = true;
                self.withdraw(other, line, false, brought);
            }
        }
        kept
    }

    /// Takes a line, or the right to write it, from a first cache.
    fn withdraw(&mut self, processor: u32, line: u64, whole: bool, brought: &mut Brought) {
        let slot = (line & self.first_mask) as usize;
        let first = &mut self.processors[processor as usize].first[slot];
        if first.line != line || !(whole || first.writable) {
            return;
        }
        first.writable = false;
        if whole {
            first.line = NONE;
        }
        brought.withdrawn.push((processor, line));
    }

    /// Puts a line into a second cache, in place of the one that was used least recently.
    fn fill(&mut self, processor: u32, new: Second, brought: &mut Brought) {
        let set = self.set(processor, new.line);
        let at = set.iter().position(|s| s.line == NONE).unwrap_or(set.len() - 1);
        let old = std::mem::replace(&mut set[at], new);
        set[..=at].rotate_right(1);
        if old.line == NONE {
            return;
        }
        if old.state == State::Modified {
            brought.written_back += 1;
        }
        // The processor itself goes on only after this.
        let mut own = Brought::default();
        self.withdraw(processor, old.line, true, &mut own);
    }

    /// Takes lines from all caches of a node, or only the right to write them: `whole` or not. What was modified is in memory then.
    pub(crate) fn take(&mut self, node: usize, lines: std::ops::Range<u64>, whole: bool, brought: &mut Brought) {
        for processor in node * self.per_node..(node + 1) * self.per_node {
            for line in lines.clone() {
                self.withdraw(processor as u32, line, whole, brought);
                if whole && let Some(way) = self.set(processor as u32, line).iter_mut().find(|s| s.line == line) {
                    way.line = NONE;
                }
            }
        }
    }
}

/// Lines of a write buffer (Bilas and Singh, section 1.3.1).
const WRITES: usize = 26;

/// The write buffer of a processor: when each line in it will have left.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteBuffer(VecDeque<u64>);

impl WriteBuffer {
    /// A line that needs so many cycles once it is its turn; how long the processor stands still until there is room.
    pub(crate) fn put(&mut self, now: u64, cycles: u64) -> u64 {
        while self.0.front().is_some_and(|left| *left <= now) {
            self.0.pop_front();
        }
        let room = if self.0.len() < WRITES { now } else { self.0.pop_front().unwrap_or(now) };
        let begins = self.0.back().map_or(room, |last| *last.max(&room));
        self.0.push_back(begins + cycles);
        room - now
    }
}
