//! A parallel initialisation happens at the same time: what one thread did part by part is held back and then made by
//! its makers in turn.
//!
//! This matters where a last level could hold much of what is initialised: after a serial initialisation it holds the
//! parts of the last threads whole, after a parallel one the end of every part.
use homenode_trace::Merged;

/// Held references are handed on when they are this many, 24 bytes each. They are about one a line, so twice this many
/// kilobytes would be sixteen times what they name: far beyond any last level, where the order does not matter.
const HELD_MAX: usize = 1 << 21;
/// A reference to a line is left out if one of this many before it, of the same maker, did the same to that line.
const WINDOW: usize = 4;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Together {
    line_shift: u32,
    /// By maker, in order of first appearance.
    queues: Vec<(u32, Vec<Merged>)>,
    held: usize,
}

impl Together {
    pub(super) fn new(line_shift: u32) -> Together {
        Together { line_shift, queues: Vec::new(), held: 0 }
    }

    /// Holds one reference back.
    pub(super) fn push(&mut self, r: Merged, out: &mut impl FnMut(Merged)) {
        let i = self.queues.iter().position(|(maker, _)| *maker == r.thread).unwrap_or_else(|| {
            self.queues.push((r.thread, Vec::new()));
            self.queues.len() - 1
        });
        let queue = &mut self.queues[i].1;
        let line = |addr: u64| addr >> self.line_shift;
        let within = line(r.addr) == line(r.addr.wrapping_add(u64::from(r.size.max(1)) - 1));
        let same = |other: &Merged| other.op == r.op && line(other.addr) == line(r.addr);
        // A hit right after the same access of the same processor costs nothing and changes nothing.
        if within && queue.iter().rev().take(WINDOW).any(same) {
            return;
        }
        queue.push(r);
        self.held += 1;
        if self.held >= HELD_MAX {
            self.flush(out);
        }
    }

    /// Hands on everything held, one reference of each maker in turn.
    pub(super) fn flush(&mut self, out: &mut impl FnMut(Merged)) {
        if self.held == 0 {
            return;
        }
        let longest = self.queues.iter().map(|(_, queue)| queue.len()).max().unwrap_or(0);
        for i in 0..longest {
            self.queues.iter().filter_map(|(_, queue)| queue.get(i)).for_each(|r| out(*r));
        }
        self.queues.clear();
        self.held = 0;
    }
}
