//! What processors do with a page in turns: all that one does between others.
//!
//! Nearly all of a turn does the same whatever its order is, since nobody else is there: protocols take it at once where
//! that is so ([`Protocol::turn`](crate::Protocol::turn)), and run by run elsewhere. A turn may be cut anywhere.
use homenode_base::NodeId;
use homenode_placement::AccessKind;

/// Accesses of a turn of which each is known to be a read or a write.
const KNOWN: u64 = 64;

/// When accesses were made.
pub trait Clocks {
    /// Time of an access of a turn; that of place 0 is [`Turn::first`].
    fn time(&self, turn: &Turn, nth: u64) -> u64;
}

/// Clocks of accesses whose times do not matter.
pub struct NoTimes;

impl Clocks for NoTimes {
    fn time(&self, turn: &Turn, _: u64) -> u64 {
        turn.first
    }
}

/// All that a processor did with a page between others, or part of it, in a stretch of time in which no page thaws. It has at most
/// 64 accesses, or only reads come after those, or it begins with so many writes and more, and only reads come after these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The stretch of time, and in the low 16 bits the processor.
    key: u64,
    accesses: u64,
    writes: u64,
    /// Which of the first 64 accesses are writes, from the lowest bit.
    kinds: u64,
    /// Time of the first access.
    pub first: u64,
    /// Time of the first access of the other kind, if there is one.
    other: u64,
    /// Time of the last access.
    pub last: u64,
    /// Number of the page among those that are folded together.
    pub page: u32,
    /// Place of the first access, as [`Clocks`] know it.
    pub at: u32,
}

/// What accesses of a turn have in common: the processor and the stretch of time, counted from 1.
#[inline]
pub fn key(node: u16, stretch: u64) -> u64 {
    stretch << 16 | u64::from(node)
}

impl Turn {
    /// Of no access, and of nobody: no access continues it.
    pub const NONE: Turn =
        Turn { key: 0, accesses: 0, writes: 0, kinds: 0, first: 0, other: 0, last: 0, page: 0, at: 0 };

    /// One of one access.
    #[inline]
    pub fn begin(key: u64, page: u32, at: u32, write: bool, t: u64) -> Turn {
        let writes = u64::from(write);
        Turn { key, accesses: 1, writes, kinds: writes, first: t, other: t, last: t, page, at }
    }
    /// Whether there is no access in it.
    #[inline]
    pub fn is_none(&self) -> bool {
        self.accesses == 0
    }
    /// Takes what comes next on the page, if it belongs to this turn and there is room; false if it begins another one.
    #[inline(always)]
    pub fn takes(&mut self, next: &Turn) -> bool {
        if self.key != next.key {
            return false;
        }
        let pure = self.writes == 0 || self.writes == self.accesses;
        if self.accesses + next.accesses <= KNOWN {
            self.kinds |= next.kinds << (self.accesses % KNOWN);
        } else if next.writes == 0 {
            // What is not known is a read.
        } else if pure && self.writes > 0 && next.writes == next.accesses {
            self.kinds = u64::MAX;
        } else {
            return false;
        }
        if pure {
            let alike = (self.kinds ^ next.kinds) & 1 == 0;
            self.other = if alike { next.other } else { next.first };
        }
        self.accesses += next.accesses;
        self.writes += next.writes;
        self.last = next.last;
        true
    }
    /// As one of another page.
    #[inline]
    pub fn on(self, page: u32) -> Turn {
        Turn { page, ..self }
    }
    /// The processor.
    #[inline]
    pub fn node(&self) -> NodeId {
        NodeId(self.key as u16)
    }
    /// Reads and writes.
    #[inline]
    pub fn accesses(&self) -> u64 {
        self.accesses
    }
    /// Reads.
    #[inline]
    pub fn reads(&self) -> u64 {
        self.accesses - self.writes
    }
    /// Writes.
    #[inline]
    pub fn writes(&self) -> u64 {
        self.writes
    }
    /// Writes before the first read.
    #[inline]
    pub fn lead(&self) -> u64 {
        if self.kinds == u64::MAX { self.writes } else { self.kinds.trailing_ones().into() }
    }
    /// Time of the first write, if there is one.
    #[inline]
    pub fn wrote(&self) -> u64 {
        if self.kinds & 1 > 0 { self.first } else { self.other }
    }
    /// Time of the first read, if there is one.
    #[inline]
    pub fn read(&self) -> u64 {
        if self.kinds & 1 > 0 { self.other } else { self.first }
    }
    /// Writes before the `nth` read, which is there; the first one is number 1.
    #[inline]
    pub fn writes_before(&self, nth: u64) -> u64 {
        let lead = self.lead();
        if nth <= 1 || lead == self.writes {
            return lead;
        }
        let mut reads = !self.kinds;
        for _ in 1..nth.min(KNOWN) {
            reads &= reads.wrapping_sub(1);
        }
        // Only reads come after those that are known.
        if nth > KNOWN || reads == 0 { self.writes } else { u64::from(reads.trailing_zeros()) - (nth - 1) }
    }
    /// Calls `each` with the runs of equal accesses, in order: their kind, the place of the first one, and how many.
    pub fn runs(&self, mut each: impl FnMut(AccessKind, u64, u64)) {
        let mut at = 0;
        while at < self.accesses {
            let rest = self.kinds.unbounded_shr(at.min(KNOWN) as u32);
            let (kind, len) = match rest {
                _ if self.kinds == u64::MAX && at < self.writes => (AccessKind::Write, self.writes),
                0 => (AccessKind::Read, self.accesses - at),
                _ if rest & 1 > 0 => (AccessKind::Write, rest.trailing_ones().into()),
                _ => (AccessKind::Read, rest.trailing_zeros().into()),
            };
            each(kind, at, len);
            at += len;
        }
    }
    /// Time of the access at which a run begins, or of one before it in the same turn: `run` is the place of the run.
    #[inline]
    pub(crate) fn not_after(&self, run: usize) -> u64 {
        if run == 0 { self.first } else { self.other }
    }
}
