//! A parallel initialisation happens at the same time: what one thread did part by part is held back and then made by
//! its makers in turn.
//!
//! This matters where a last level could hold much of what is initialised: after a serial initialisation it holds the
//! parts of the last threads whole, after a parallel one the end of every part.
use homenode_trace::{Merged, Op};

/// What is held is handed on when it is this many runs, 32 bytes each. They are about one a line, so twice this many
/// kilobytes would be sixteen times what they name: far beyond any last level, where the order does not matter.
const HELD_MAX: usize = 1 << 21;
/// A reference continues one of this many runs before it, of the same maker.
const WINDOW: usize = 4;

/// References to one line by one maker, at equal distances, that follow each other: all but the first hit.
#[derive(Clone, Copy, Debug)]
struct Run {
    addr: u64,
    size: u32,
    site: u32,
    weight: u32,
    stride: i16,
    count: u16,
    op: Op,
}

impl Run {
    fn new(r: &Merged) -> Run {
        Run { addr: r.addr, size: r.size, site: r.site, weight: r.weight, stride: 0, count: 1, op: r.op }
    }

    /// Takes one more reference, if it is the next of the run; `true` if it was.
    fn takes(&mut self, r: &Merged, line_shift: u32) -> bool {
        let line = |addr: u64| addr >> line_shift;
        let within = line(r.addr) == line(r.addr.wrapping_add(u64::from(r.size.max(1)) - 1));
        let same = (self.op, self.size, self.weight) == (r.op, r.size, r.weight) && line(self.addr) == line(r.addr);
        if !within || !same || self.count == u16::MAX {
            return false;
        }
        let offset = r.addr.wrapping_sub(self.addr) as i64;
        if self.count == 1 {
            let Ok(stride) = i16::try_from(offset) else { return false };
            self.stride = stride;
        }
        let next = i64::from(self.stride) * i64::from(self.count) == offset;
        self.count += u16::from(next);
        next
    }

    /// Takes the next piece of the same reference: what clears or copies a range does so for its part as a whole.
    fn grows(&mut self, r: &Merged) -> bool {
        let end = self.addr.wrapping_add(u64::from(self.size));
        let size = self.size.checked_add(r.size);
        let next = self.count == 1 && end == r.addr && (self.op, self.weight, self.site) == (r.op, r.weight, r.site);
        let Some(size) = size.filter(|_| next) else { return false };
        self.size = size;
        true
    }

    fn hand_on(&self, maker: u32, out: &mut impl FnMut(&Merged)) {
        for i in 0..i64::from(self.count) {
            let addr = self.addr.wrapping_add_signed(i64::from(self.stride) * i);
            let Run { size, site, weight, op, .. } = *self;
            out(&Merged { addr, size, site, thread: maker, weight, op, ..Merged::default() });
        }
    }
}

/// References of an initialisation, held back by maker, one run of each maker in turn when handed on.
#[derive(Clone, Debug)]
pub(super) struct Together {
    line_shift: u32,
    /// By maker, in order of first appearance.
    queues: Vec<(u32, Vec<Run>)>,
    held: usize,
}

impl Together {
    pub(super) fn new(line_shift: u32) -> Together {
        Together { line_shift, queues: Vec::new(), held: 0 }
    }

    /// Holds one reference of an exact recording back, or the next piece of the one before; whether these are as many as
    /// can be held.
    #[must_use]
    pub(super) fn push(&mut self, r: &Merged, continues: bool) -> bool {
        let i = self.queues.iter().position(|(maker, _)| *maker == r.thread).unwrap_or_else(|| {
            self.queues.push((r.thread, Vec::new()));
            self.queues.len() - 1
        });
        let queue = &mut self.queues[i].1;
        if continues && queue.last_mut().is_some_and(|run| run.grows(r)) {
            return false;
        }
        if !queue.iter_mut().rev().take(WINDOW).any(|run| run.takes(r, self.line_shift)) {
            queue.push(Run::new(r));
            self.held += 1;
        }
        self.held >= HELD_MAX
    }

    /// Hands on everything held, one run of each maker in turn.
    pub(super) fn flush(&mut self, out: &mut impl FnMut(&Merged)) {
        if self.held == 0 {
            return;
        }
        let longest = self.queues.iter().map(|(_, queue)| queue.len()).max().unwrap_or(0);
        for i in 0..longest {
            let turn = self.queues.iter().filter_map(|(maker, queue)| Some((*maker, queue.get(i)?)));
            turn.for_each(|(maker, run)| run.hand_on(maker, &mut *out));
        }
        self.queues.clear();
        self.held = 0;
    }
}
