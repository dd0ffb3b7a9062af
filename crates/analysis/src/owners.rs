//! Which thread pays for which line: what a layout can be judged by where blocks are too coarse.
use crate::index::{Index, Slab};

const NO_THREAD: u32 = u32::MAX;

/// Who paid for one line.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// Majority vote (Boyer and Moore 1991) over what was paid.
    thread: u32,
    votes: u32,
    paid: u32,
    /// When this thread came to lead, in references.
    since: u64,
}

/// A line with its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OwnedLine {
    /// The thread that made at least two thirds of the payments, as far as the vote can prove it.
    pub(crate) owner: Option<u32>,
    /// Misses and transfers.
    pub(crate) paid: u32,
    /// Rises in the order in which the owner came to use its lines.
    pub(crate) since: u64,
}

/// The accumulator: 24 bytes and an index entry for each line that was paid for.
#[derive(Debug)]
pub(crate) struct Owners {
    shift: u32,
    index: Index,
    lines: Slab<Line>,
}

impl Owners {
    /// For lines of this size, a power of two.
    pub(crate) fn new(line_bytes: u64) -> Owners {
        Owners { shift: line_bytes.trailing_zeros(), index: Index::new(), lines: Slab::new() }
    }
    /// A thread waits for the line of this address, at its reference with this number among all.
    #[inline]
    pub(crate) fn pays(&mut self, addr: u64, thread: u32, number: u64) {
        let (i, new) = self.index.intern(addr >> self.shift);
        if new {
            self.lines.push(Line { thread: NO_THREAD, votes: 0, paid: 0, since: 0 });
        }
        let line = &mut self.lines[i];
        line.paid = line.paid.saturating_add(1);
        if line.thread == thread {
            line.votes = line.votes.saturating_add(1);
        } else if line.votes == 0 {
            (line.thread, line.votes, line.since) = (thread, 1, number);
        } else {
            line.votes -= 1;
        }
    }
    /// Adds lines, none of which is known here.
    pub(crate) fn absorb(&mut self, other: &Owners) {
        for (number, i) in other.index.sorted() {
            let (_, new) = self.index.intern(number);
            assert!(new, "a line is of one colour");
            self.lines.push(other.lines[i]);
        }
    }
    /// A line by number, if it was paid for.
    pub(crate) fn line(&self, number: u64) -> Option<OwnedLine> {
        let line = &self.lines[self.index.get(number)?];
        let owned = line.votes >= line.paid.div_ceil(3);
        Some(OwnedLine { owner: owned.then_some(line.thread), paid: line.paid, since: line.since })
    }
    /// Numbers of the lines in `bytes` bytes from `addr` on.
    pub(crate) fn numbers(&self, addr: u64, bytes: u64) -> std::ops::Range<u64> {
        addr >> self.shift..(addr.saturating_add(bytes) >> self.shift)
    }
    /// Bytes of memory held, about.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.index.bytes() + self.lines.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_pays_most_owns_the_line_and_lines_are_in_order_of_use() {
        let mut owners = Owners::new(64);
        for round in 0..6u32 {
            for (line, at) in [9u64, 3, 5].into_iter().zip(1..) {
                owners.pays(line * 64 + u64::from(round), 2, at + 4 * u64::from(round));
            }
            owners.pays(7 * 64, round % 2, 4 + 4 * u64::from(round));
        }
        owners.pays(3 * 64, 1, 25);
        let line = |n| owners.line(n).unwrap();
        assert_eq!([9, 3, 5].map(|n| line(n).owner), [Some(2); 3]);
        assert!(line(9).since < line(3).since && line(3).since < line(5).since);
        assert_eq!((line(7).owner, line(7).paid), (None, 6));
        assert_eq!(owners.line(8), None);
        assert_eq!(owners.numbers(128, 128), 2..4);
    }
}
