//! What is known of all colours without a replay: roughly how often they miss, and how often their lines go from one thread to another.
use homenode_trace::Op;

/// Lines that are remembered, as a power of two: few enough for a first-level cache.
const LINES_BITS: u32 = 12;
/// Bits of a remembered line: whether it was written since it came from somewhere else, whether others have read it since, and
/// the thread that used it last or wrote it; the line's number is above.
const DIRTY: u64 = 1;
const SHARED: u64 = 2;
const OWNER_SHIFT: u32 = 2;
const LINE_SHIFT: u32 = 18;
const THREADS: u32 = 1 << (LINE_SHIFT - OWNER_SHIFT);

/// Counts by colour.
pub(super) struct Known {
    recent: Vec<u64>,
    line_shift: u32,
    /// Whether all accesses count, as on machines without caches.
    all: bool,
    /// References to lines that are not remembered, or all.
    pub(super) accesses: Vec<u64>,
    /// References that need a line another thread has written, or that write one another thread has.
    pub(super) handovers: Vec<u64>,
}

impl Known {
    /// Nothing yet; lines of `1 << line_shift` bytes, or, where the machine has no caches, of 64.
    pub(super) fn new(colours: usize, line_shift: Option<u32>) -> Known {
        Known {
            recent: vec![u64::MAX; 1 << LINES_BITS],
            line_shift: line_shift.unwrap_or(6),
            all: line_shift.is_none(),
            accesses: vec![0; colours],
            handovers: vec![0; colours],
        }
    }

    /// Notes a reference to bytes of one block. Threads and lines that differ in high bits alone are taken for one.
    #[inline(always)]
    pub(super) fn reference(&mut self, colour: usize, (addr, last): (u64, u64), thread: u32, op: Op) {
        let line = addr >> self.line_shift;
        let place = (line.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - LINES_BITS)) as usize;
        let (recent, mine) = (&mut self.recent[place], line << LINE_SHIFT | u64::from(thread % THREADS) << OWNER_SHIFT);
        let (here, writes) = (*recent, op.writes());
        self.accesses[colour] += u64::from(self.all);
        // One's own line: nothing happens, unless it is written while others have it.
        if here & !(DIRTY | SHARED) == mine && !(writes && here & SHARED != 0) {
            *recent = here | u64::from(writes);
        } else if here >> LINE_SHIFT != mine >> LINE_SHIFT {
            *recent = mine | u64::from(writes);
            // Lines of a long reference come together.
            self.accesses[colour] += (last >> self.line_shift) - line + u64::from(!self.all);
        } else if writes {
            *recent = mine | DIRTY;
            self.handovers[colour] += 1;
        } else {
            let dirty = here & DIRTY;
            self.handovers[colour] += dirty;
            *recent = if dirty != 0 { mine | SHARED } else { here | SHARED };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_from_thread_to_thread_only_where_somebody_writes() {
        let mut known = Known::new(2, Some(6));
        let mut counts = |colour, thread, op| {
            known.reference(colour, (0x1000, 0x1007), thread, op);
            (known.accesses[colour], known.handovers[colour])
        };
        assert_eq!(counts(1, 0, Op::Read), (1, 0));
        assert_eq!(counts(1, 1, Op::Read), (1, 0), "reading together costs nothing");
        assert_eq!(counts(1, 0, Op::Read), (1, 0));
        assert_eq!(counts(1, 0, Op::Write), (1, 1), "others have it");
        assert_eq!(counts(1, 0, Op::Write), (1, 1));
        assert_eq!(counts(1, 1, Op::Read), (1, 2), "it was written");
        assert_eq!(counts(1, 0, Op::Read), (1, 2));
        assert_eq!(counts(1, 1, Op::Atomic), (1, 3));
        known.reference(0, (0x2000, 0x20ff), 0, Op::Write);
        assert_eq!((known.accesses[0], known.handovers[0]), (4, 0));
    }
}
