//! The time that a measurement takes.
use homenode_sys::cpu::thread_ns;
use std::time::{Duration, Instant};

/// Counts the processor time of this thread, so that other programs on the machine do not count as slow memory. Gives up
/// after twenty times as long by the clock on the wall.
pub(super) struct Stopwatch {
    cpu_ns: u64,
    wall: Instant,
    each: Duration,
}

impl Stopwatch {
    pub(super) fn start(each: Duration) -> Stopwatch {
        Stopwatch { cpu_ns: thread_ns(), wall: Instant::now(), each }
    }
    /// Nanoseconds of processor time so far, at least 1.
    pub(super) fn nanoseconds(&self) -> f64 {
        thread_ns().saturating_sub(self.cpu_ns).max(1) as f64
    }
    pub(super) fn over(&self) -> bool {
        self.nanoseconds() >= self.each.as_nanos() as f64 || self.wall.elapsed() >= self.each * 20
    }
}
