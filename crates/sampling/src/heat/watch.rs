//! The thread that asks DAMON: an answer comes at the end of an aggregation only, and the recorder must not wait for it.
use super::Heat;
use crate::damon::{Damon, DamonOptions};
use homenode_host::clock::{Clock, Real};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// A program that was just started has its memory after this time; before, it is its own starter.
const BEGIN: Duration = Duration::from_millis(100);
/// Time between two lists of regions, at least.
const EVERY: Duration = Duration::from_millis(500);
/// Reading a list takes some thousand small files: so many times as long is rest.
const REST: u32 = 100;
/// How often it is looked whether to stop.
const STEP: Duration = Duration::from_millis(20);
/// Rarer looks than the default, at fewer regions: page table entries of at most 300 regions every 10 ms, which is within a
/// hundredth of a processor.
const OPTIONS: DamonOptions = DamonOptions { sample_us: 10_000, aggregate_us: 200_000, regions_max: 300 };

/// A monitor beside a recording.
#[derive(Debug)]
pub struct Watcher {
    stop: Arc<AtomicBool>,
    sums: Arc<Mutex<Heat>>,
    thread: Option<JoinHandle<Option<String>>>,
}

impl Watcher {
    /// Watches process `pid` where DAMON can be used; elsewhere, nothing comes of it and nobody is bothered.
    pub fn start(pid: u32) -> Watcher {
        Watcher::below(Path::new("/"), pid, Real::shared())
    }
    /// Watcher with the kernel's files below another root, and by another clock.
    pub(crate) fn below(root: &Path, pid: u32, clock: Arc<dyn Clock>) -> Watcher {
        let (stop, sums) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Heat::default())));
        let (root, ended, into) = (root.to_owned(), stop.clone(), sums.clone());
        let watch = move || watch(&root, pid, &Pause { clock, stop: ended }, &into);
        // Without a thread there is no first look, and the recording is as good as ever.
        let thread = std::thread::Builder::new().name("damon".into()).spawn(watch).ok();
        Watcher { stop, sums, thread }
    }
    /// Ends watching and says what was found, and why nothing could be if there is something to say.
    pub fn end(mut self) -> (Heat, Option<String>) {
        let why = self.join();
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut *sums), why)
    }
    fn join(&mut self) -> Option<String> {
        self.stop.store(true, Ordering::Release);
        self.thread.take()?.join().ok().flatten()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.join();
    }
}

/// Waiting that can be ended.
struct Pause {
    clock: Arc<dyn Clock>,
    stop: Arc<AtomicBool>,
}

impl Pause {
    /// False if it is to stop before the time is over.
    fn sleep(&self, time: Duration) -> bool {
        let until = self.clock.now() + time;
        loop {
            let left = until.saturating_sub(self.clock.now());
            if self.stop.load(Ordering::Acquire) {
                return false;
            }
            if left.is_zero() {
                return true;
            }
            self.clock.sleep(left.min(STEP));
        }
    }
}

fn watch(root: &Path, pid: u32, pause: &Pause, sums: &Mutex<Heat>) -> Option<String> {
    if !pause.sleep(BEGIN) {
        return None;
    }
    let damon = match Damon::start(root, pid, &OPTIONS) {
        Ok(damon) => damon,
        // The doctor says these; they are the usual case.
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => return None,
        Err(e) => return Some(format!("how hot memory was is not known, only whose: {e}")),
    };
    let mut rest = Duration::from_micros(OPTIONS.aggregate_us);
    while pause.sleep(rest) {
        let begun = pause.clock.now();
        // The process has ended, or the kernel has switched the monitor off.
        let Ok(regions) = damon.regions() else { break };
        sums.lock().unwrap_or_else(PoisonError::into_inner).add(&regions, OPTIONS.looks());
        rest =
            EVERY.max((pause.clock.now() - begun).saturating_sub(Duration::from_micros(OPTIONS.aggregate_us)) * REST);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::damon::testing::{machine, put_region, text};
    use homenode_host::clock::Simulated;
    use std::time::Instant;

    #[test]
    fn regions_are_added_up_until_the_end_and_the_monitor_is_gone() {
        let root = machine();
        put_region(root.path(), "0", ["4096", "1052672", "20", "4"]);
        put_region(root.path(), "1", ["garbage", "1", "2", "3"]);
        put_region(root.path(), "2", ["18446744073709551615", "0", "4294967295", "-1"]);
        let watcher = Watcher::below(root.path(), 77, Simulated::new());
        let until = Instant::now() + Duration::from_secs(20);
        while watcher.sums.lock().unwrap().looks() == 0 && Instant::now() < until {
            std::thread::yield_now();
        }
        let (heat, why) = watcher.end();
        assert!(heat.looks() >= 20 && why.is_none(), "{why:?}");
        let used = heat.used();
        assert_eq!((used.len(), used[0].start, used[0].end, used[0].permille), (1, 4096, 1_052_672, 1000));
        assert_eq!(text(root.path(), "nr_kdamonds"), "0");
    }

    #[test]
    fn where_there_is_no_damon_nothing_is_said_and_a_stranger_s_is_left_alone() {
        let none = tempfile::tempdir().unwrap();
        let said = |root: &Path| {
            let watcher = Watcher::below(root, 77, Simulated::new());
            while !watcher.thread.as_ref().unwrap().is_finished() {
                std::thread::yield_now();
            }
            let (heat, why) = watcher.end();
            assert_eq!(heat.looks(), 0);
            why
        };
        assert_eq!(said(none.path()), None);
        let root = machine();
        std::fs::write(root.path().join("sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds"), "3").unwrap();
        assert!(said(root.path()).unwrap().contains("somebody else"));
        assert_eq!(text(root.path(), "nr_kdamonds"), "3");
    }
}
