//! Processes whose preloaded library has not reported yet.
//!
//! Between its first instruction and the constructor of the preloaded library a process loads and prepares all its
//! libraries, which may take any time. What is sampled meanwhile must not be entered under a name that the recorder makes
//! up: the library would report the same process a second time, and its objects would be in another process than the
//! samples of its beginning. So everything of such a process waits, however long, as long as the library stands in its
//! memory map and it lives; one that does not map the library in time (it is static, or set-user-ID) waits no longer.
use std::collections::HashMap;
use std::time::Duration;

/// What a process gets from its first sample to the mapping of the library, which the loader makes before any other: the
/// kernel's exec and the loader's own beginning.
const LOADING: Duration = Duration::from_secs(2);
/// Samples and notices that wait at most; beyond that nobody is waited for.
pub(super) const WAITING_MAX: usize = 1 << 20;

/// Who is waited for.
#[derive(Debug, Default)]
pub(super) struct Awaited {
    /// Only processes that were started with the library in their environment are expected to report.
    pub(super) expected: bool,
    /// Since when, by process id; `None` once it is known that the process does not report.
    since: HashMap<u32, Option<Duration>>,
}

impl Awaited {
    /// Whether processes were started with the library in their environment.
    pub(super) fn expecting(expected: bool) -> Awaited {
        Awaited { expected, since: HashMap::new() }
    }
    /// Whether a living process that has not reported may still do so. `mapped` says whether the library is in its memory
    /// map; it is asked only where that decides.
    pub(super) fn may_report(&mut self, pid: u32, now: Duration, mapped: impl FnOnce() -> bool) -> bool {
        if !self.expected {
            return false;
        }
        let since = self.since.entry(pid).or_insert(Some(now));
        let Some(begun) = *since else { return false };
        if now - begun < LOADING || mapped() {
            return true;
        }
        *since = None;
        false
    }
    /// The process ended or reported: its number may be given to another one.
    pub(super) fn forget(&mut self, pid: u32) {
        self.since.remove(&pid);
    }
}

/// Whether the preloaded library is mapped in a process; unreadable maps are those of a process that is gone.
pub(super) fn maps_library(pid: u32) -> bool {
    let maps = std::fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    maps.windows(homenode_hooks::agent::NAME.len()).any(|w| w == homenode_hooks::agent::NAME.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_waited_for_as_long_as_the_library_is_loading() {
        let begin = Duration::from_secs(7);
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut awaited = Awaited::expecting(true);
        assert!(awaited.may_report(7, begin, || unreachable!()), "the loader has hardly begun");
        assert!(awaited.may_report(7, at(100), || true), "slow libraries");
        assert!(awaited.may_report(8, at(100), || false), "another one");
        assert!(!awaited.may_report(8, at(103), || false), "a static program");
        assert!(!awaited.may_report(8, at(104), || unreachable!()), "that is settled");
        awaited.forget(8);
        assert!(awaited.may_report(8, at(105), || false), "the number was given to another process");
        assert!(!Awaited::default().may_report(7, begin, || true), "nobody is expected in a process that was joined");
    }

    #[test]
    fn this_process_maps_no_library_of_ours() {
        assert!(!maps_library(std::process::id()) && !maps_library(0));
    }
}
