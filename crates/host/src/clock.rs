//! Time as drivers see it: this machine's, or one that a test moves.
//!
//! Whoever waits, has deadlines or a budget of processor time takes a [`Clock`]. On [`Simulated`] an hour is over at once, and
//! the same happens at the same time in every run.
use homenode_sys::clock;
use homenode_sys::numa::thread_cpu_ns;
use homenode_sys::process::PidFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What tells the time and lets it pass.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Time since a moment of this clock's own; never goes back.
    fn now(&self) -> Duration;
    /// Ticks of the time-stamp counter, which runs evenly beside it.
    fn ticks(&self) -> u64;
    /// Processor time that the calling thread has used.
    fn used(&self) -> Duration;
    /// Lets so much time pass.
    fn sleep(&self, time: Duration);
    /// Lets so much time pass, or less if this process ends meanwhile; whether it has ended.
    fn wait(&self, process: &PidFd, time: Duration) -> bool;
}

/// This machine's time: CLOCK_MONOTONIC, which samples carry, too.
#[derive(Clone, Copy, Debug, Default)]
pub struct Real;

impl Real {
    /// For those who keep it.
    pub fn shared() -> Arc<dyn Clock> {
        Arc::new(Real)
    }
}

impl Clock for Real {
    fn now(&self) -> Duration {
        Duration::from_nanos(clock::monotonic_ns())
    }
    fn ticks(&self) -> u64 {
        clock::ticks()
    }
    fn used(&self) -> Duration {
        Duration::from_nanos(thread_cpu_ns())
    }
    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }
    fn wait(&self, process: &PidFd, time: Duration) -> bool {
        process.wait(time)
    }
}

/// A time that passes only where somebody waits or works, for tests: nothing sleeps.
#[derive(Debug, Default)]
pub struct Simulated {
    now_ns: AtomicU64,
    used_ns: AtomicU64,
}

/// Ticks of the simulated counter in a nanosecond.
const TICKS_PER_NS: u64 = 2;

impl Simulated {
    /// Midnight.
    pub fn new() -> Arc<Simulated> {
        Arc::default()
    }
    /// Works for so long: time passes, and processor time is used.
    pub fn work(&self, time: Duration) {
        self.used_ns.fetch_add(nanoseconds(time), Ordering::Relaxed);
        self.sleep(time);
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Clock for Simulated {
    fn now(&self) -> Duration {
        Duration::from_nanos(self.now_ns.load(Ordering::Relaxed))
    }
    fn ticks(&self) -> u64 {
        self.now_ns.load(Ordering::Relaxed) * TICKS_PER_NS
    }
    fn used(&self) -> Duration {
        Duration::from_nanos(self.used_ns.load(Ordering::Relaxed))
    }
    fn sleep(&self, time: Duration) {
        self.now_ns.fetch_add(nanoseconds(time), Ordering::Relaxed);
    }
    fn wait(&self, process: &PidFd, time: Duration) -> bool {
        let ended = process.wait(Duration::ZERO);
        if !ended {
            self.sleep(time);
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::time::Instant;

    #[test]
    fn simulated_hours_are_over_at_once() {
        let (began, clock) = (Instant::now(), Simulated::new());
        clock.sleep(Duration::from_secs(3600));
        clock.work(Duration::from_secs(60));
        assert_eq!((clock.now(), clock.used()), (Duration::from_secs(3660), Duration::from_secs(60)));
        assert_eq!(clock.ticks(), TICKS_PER_NS * 3_660_000_000_000);
        assert!(began.elapsed() < Duration::from_secs(3600));
    }

    #[test]
    fn waiting_ends_with_the_process_on_either_clock() {
        for clock in [Real::shared(), Simulated::new()] {
            let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("cat");
            let process = PidFd::open(child.id()).expect("it lives");
            let before = clock.now();
            assert!(!clock.wait(&process, Duration::from_millis(20)));
            assert!(clock.now() >= before + Duration::from_millis(20));
            drop(child.stdin.take());
            child.wait().expect("it ends with its input");
            assert!(clock.wait(&process, Duration::from_secs(3600)), "{clock:?}");
            assert!(clock.now() < before + Duration::from_secs(3600));
        }
    }

    #[test]
    fn the_real_clock_is_that_of_samples() {
        let before = clock::monotonic_ns();
        let now = Real.now();
        Real.sleep(Duration::from_micros(10));
        assert!(now >= Duration::from_nanos(before) && Real.now() >= now + Duration::from_micros(10));
        assert!(Real.used() > Duration::ZERO);
    }
}
