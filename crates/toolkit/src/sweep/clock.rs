//! Time that work takes.
use std::time::Instant;

/// Seconds of processor time of this thread, where the system says so: what else runs on the machine does not count. Else
/// seconds on the clock.
pub(crate) struct Clock {
    began: Instant,
    used_ns: Option<u64>,
}

impl Clock {
    pub(crate) fn start() -> Clock {
        Clock { began: Instant::now(), used_ns: used_ns() }
    }
    pub(crate) fn seconds(&self) -> f64 {
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
