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

/// Most memory that this process has had resident at once, in bytes; 0 if the system does not say.
pub(crate) fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kib| kib << 10)
}
