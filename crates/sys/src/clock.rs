//! The time-stamp counter, as the capture runtime reads it, the monotonic clock, and processor time.

/// Ticks of the processor's counter now: `rdtsc` on x86-64, the virtual counter on aarch64; 0 elsewhere. Monotonic on
/// machines whose counters are synchronised, which every x86-64 processor of the last fifteen years is.
#[inline]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: rdtsc has no memory operand and exists on every x86-64 processor.
        unsafe { core::arch::x86_64::_rdtsc() }
    }
    #[cfg(target_arch = "aarch64")]
    {
        let value: u64;
        // SAFETY: CNTVCT_EL0 is readable from user space on Linux and has no side effect.
        unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) value, options(nomem, nostack)) };
        value
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    0
}

/// Nanoseconds of CLOCK_MONOTONIC now, which is the clock that performance events are asked to use.
pub fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is valid for the call, and this clock exists on every Linux, so it cannot fail.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    let (seconds, rest) = (u64::try_from(now.tv_sec).unwrap_or(0), u64::try_from(now.tv_nsec).unwrap_or(0));
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

/// Seconds that work of this thread takes.
pub struct ThreadClock {
    began: std::time::Instant,
    used_ns: Option<u64>,
}

impl ThreadClock {
    /// Counts from now on.
    pub fn start() -> ThreadClock {
        ThreadClock { began: std::time::Instant::now(), used_ns: used_ns() }
    }
    /// Seconds of processor time of this thread since then, where the system says so: what else runs on the machine does not
    /// count. Else seconds on the clock. Means something only on the thread that began it.
    pub fn seconds(&self) -> f64 {
        match (self.used_ns, used_ns()) {
            (Some(from), Some(to)) => to.saturating_sub(from) as f64 / 1e9,
            _ => self.began.elapsed().as_secs_f64(),
        }
    }
}

fn used_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// Processor time that this process has used, user and system, in seconds; 0 if the system does not say.
pub fn cpu_seconds() -> f64 {
    used_seconds(libc::RUSAGE_SELF)
}

/// Likewise of all its descendants that have ended and been waited for.
pub fn children_cpu_seconds() -> f64 {
    used_seconds(libc::RUSAGE_CHILDREN)
}

/// User and system time of these descendants, in microseconds.
pub fn children_cpu_us() -> [u64; 2] {
    used(libc::RUSAGE_CHILDREN).map(|t| {
        let (seconds, rest) = (u64::try_from(t.tv_sec).unwrap_or(0), u64::try_from(t.tv_usec).unwrap_or(0));
        seconds.saturating_mul(1_000_000).saturating_add(rest)
    })
}

fn used_seconds(whose: libc::c_int) -> f64 {
    used(whose).map(|t| t.tv_sec as f64 + t.tv_usec as f64 * 1e-6).iter().sum()
}

/// User and system time.
fn used(whose: libc::c_int) -> [libc::timeval; 2] {
    // SAFETY: rusage is a plain C struct for which all-zero is a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: getrusage only writes the struct; it cannot fail for the two values given, and zeros would stay if it did.
    unsafe { libc::getrusage(whose, &raw mut usage) };
    [usage.ru_utime, usage.ru_stime]
}

#[cfg(test)]
mod tests {
    #[test]
    fn counter_advances() {
        let before = super::ticks();
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!(super::ticks() > before);
    }
}
