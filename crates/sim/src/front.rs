//! What a replay knows by looking at all references in order: how many there are, and what time it is.
use crate::evaluation::Totals;
use homenode_base::VirtualTime;
use homenode_base::spaces::tag;
use homenode_threads::ThreadBinding;
use homenode_trace::{Merged, Op};

/// A thread as a replay sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) binding: ThreadBinding,
    /// Makes the thread's addresses flat.
    pub(crate) space_tag: u64,
}

/// A thread and its references so far, spins included.
#[derive(Clone, Copy, Debug)]
struct Counted {
    place: Place,
    refs: u64,
}

/// Counts references.
#[derive(Clone, Debug)]
pub(crate) struct Front {
    threads: Vec<Counted>,
    /// References by operation.
    ops: [u64; 4],
    /// References so far, without spins.
    pub(crate) time: u64,
    bytes: u64,
    /// References of threads that the dataset does not have: hostile, left out.
    pub(crate) strangers: u64,
}

impl Front {
    pub(crate) fn new(bindings: &[ThreadBinding]) -> Front {
        let place = |binding: &ThreadBinding| Place { binding: *binding, space_tag: tag(binding.space) };
        Front {
            threads: bindings.iter().map(|b| Counted { place: place(b), refs: 0 }).collect(),
            ops: [0; 4],
            time: 0,
            bytes: 0,
            strangers: 0,
        }
    }
    /// A thread.
    #[inline]
    pub(crate) fn place(&self, thread: u32) -> Option<Place> {
        self.threads.get(thread as usize).map(|t| t.place)
    }
    /// References of each thread, spins included.
    pub(crate) fn refs_of(&self) -> Vec<u64> {
        self.threads.iter().map(|t| t.refs).collect()
    }
    /// Counts the next reference; who makes it, and the time of the first of those it stands for, at which a spin does not
    /// move the clock. `None` for a stranger.
    #[inline(always)]
    pub(crate) fn reference(&mut self, r: &Merged) -> Option<(Place, VirtualTime)> {
        let Some(thread) = self.threads.get_mut(r.thread as usize) else {
            self.strangers += 1;
            return None;
        };
        let (place, weight) = (thread.place, u64::from(r.weight));
        thread.refs += weight;
        self.ops[r.op as usize] += weight;
        if r.op == Op::Spin {
            return Some((place, VirtualTime(self.time)));
        }
        let t = VirtualTime(self.time + 1);
        self.time += weight;
        self.bytes = self.bytes.saturating_add(u64::from(r.size.max(1)) * weight);
        Some((place, t))
    }
    /// Adds what was counted.
    pub(crate) fn finish(&self, totals: &mut Totals) {
        let [reads, writes, atomics, spins] = self.ops;
        totals.reads += reads;
        totals.writes += writes;
        totals.atomics += atomics;
        totals.spins += spins;
        totals.refs += self.ops.iter().sum::<u64>();
        totals.bytes = totals.bytes.saturating_add(self.bytes);
    }
}
