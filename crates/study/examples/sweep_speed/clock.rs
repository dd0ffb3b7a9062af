//! Time and memory that this process used.
use std::time::Instant;

/// Seconds of processor time that this thread has used, where the system says so: what else runs on the machine does not
/// count. Else those since `origin`.
fn now(origin: Instant) -> f64 {
    let scheduled = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let used = scheduled.and_then(|s| s.split_whitespace().next()?.parse::<f64>().ok());
    used.map_or_else(|| origin.elapsed().as_secs_f64(), |ns| ns / 1e9)
}

/// Seconds that `f` takes in this thread, and its result.
pub(crate) fn timed<T>(f: impl FnOnce() -> T) -> (f64, T) {
    let origin = Instant::now();
    let begin = now(origin);
    let result = f();
    (now(origin) - begin, result)
}
