//! What is found by looking at all references in order, wherever their blocks are replayed: locks, and loops of OpenMP.
use crate::locks::{Locked, Locks};
use crate::loops::Loops;
use homenode_trace::Op;

/// The accumulator.
#[derive(Debug, Default)]
pub struct Overview {
    locks: Locks,
    pub(crate) loops: Loops,
}

impl Overview {
    /// Notes a reference of the merged order at this flat address, no busy-wait repeat; what it has to do with locks.
    #[inline]
    pub fn reference(&mut self, (thread, site): (u32, u32), flat: u64, op: Op, weight: u32) -> Locked {
        self.loops.reference(thread, site, weight);
        self.locks.reference(thread, flat, op)
    }
    /// Notes that a thread has acquired a synchronisation object at this flat address: if its next reference is a
    /// read-modify-write of it, that is a lock.
    pub fn acquired(&mut self, thread: u32, addr: u64) {
        self.locks.acquired(thread, addr);
    }
    /// Notes that a thread begins or ends a loop or region of OpenMP.
    pub fn phase(&mut self, thread: u32, construct: u32, begins: bool) {
        self.loops.phase(thread, construct, begins);
    }
}
