//! Sleeping on a word of shared memory, across processes.
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

/// Sleeps while `word` holds `expected`, at most `timeout`. May return early for any reason (a wake, a signal, another
/// value): the caller looks again.
pub fn wait(word: &AtomicU32, expected: u32, timeout: Duration) {
    let time = libc::timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    // SAFETY: `word` outlives the call, the kernel only reads it, and `time` is a valid timespec. Without FUTEX_PRIVATE the
    // word may lie in a mapping shared with another process.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, expected, &raw const time) };
}

/// Wakes every sleeper on `word`, in any process.
pub fn wake_all(word: &AtomicU32) {
    // SAFETY: the kernel uses only the address of `word`.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

/// Sleeps while the low 32 bits of `word` hold `expected`, at most `timeout`; otherwise as [`wait`].
pub fn wait_low(word: &AtomicU64, expected: u32, timeout: Duration) {
    wait(low(word), expected, timeout);
}

/// Wakes every sleeper of [`wait_low`] on `word`, in any process.
pub fn wake_all_low(word: &AtomicU64) {
    wake_all(low(word));
}

/// The low half of a word, for the kernel only: no access of this program goes through it, since atomics of different sizes
/// must not be mixed.
fn low(word: &AtomicU64) -> &AtomicU32 {
    let half = usize::from(cfg!(target_endian = "big"));
    // SAFETY: the half lies inside the word, is aligned, and lives as long; any bit pattern is valid.
    unsafe { AtomicU32::from_ptr(word.as_ptr().cast::<u32>().add(half)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;
    use std::time::Instant;

    #[test]
    fn a_sleeper_is_woken_and_a_changed_value_or_timeout_returns() {
        let word = AtomicU32::new(0);
        wait(&word, 1, Duration::from_secs(60));
        let start = Instant::now();
        wait(&word, 0, Duration::from_millis(5));
        assert!(start.elapsed() < Duration::from_secs(30));
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| {
                while word.load(Ordering::Acquire) == 0 {
                    wait(&word, 0, Duration::from_secs(60));
                }
            });
            std::thread::sleep(Duration::from_millis(10));
            word.store(1, Ordering::Release);
            wake_all(&word);
            sleeper.join().unwrap();
            assert!(start.elapsed() < Duration::from_secs(30), "woken, and not by the end of its patience");
        });
    }
    #[test]
    fn the_low_half_of_a_word_counts() {
        let (word, start) = (AtomicU64::new(7 << 32), Instant::now());
        wait_low(&word, 7, Duration::from_secs(60));
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| {
                while word.load(Ordering::Acquire) as u32 == 0 {
                    wait_low(&word, 0, Duration::from_secs(60));
                }
            });
            std::thread::sleep(Duration::from_millis(10));
            word.fetch_add(1, Ordering::Release);
            wake_all_low(&word);
            sleeper.join().unwrap();
        });
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}
