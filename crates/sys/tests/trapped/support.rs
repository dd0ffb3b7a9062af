//! Children that run a case; a heap whose traps are recorded and resolved.
use homenode_sys::fork::{Forked, die_with_parent, fork_alone};
use homenode_sys::process::{Change, PidFd, Polled, Whom, poll_child, signal};
use homenode_sys::trap::on_trap;
use homenode_sys::views::{Allowed, Traps, Views};
use homenode_sys::words::memory_file;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Name and body of a test.
pub(crate) type Case = (&'static str, fn());
pub(crate) const BOTH: [Traps; 2] = [Traps::Userfaultfd, Traps::Mprotect];
pub(crate) const GOOD: Change = Change::Exited(0);
/// Where heaps lie: far from what the kernel chooses by itself.
pub(crate) const AT: usize = 0x2000_0000_0000;
pub(crate) const PAGE: usize = 4096;

/// How a child ended that ran `body`; a panic is status 101.
pub(crate) fn in_child(body: impl FnOnce()) -> Change {
    match fork_alone().expect("fork") {
        Forked::Child => {
            die_with_parent().expect("the parent waits");
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
            std::process::exit(if result.is_ok() { 0 } else { 101 });
        }
        Forked::Parent(pid) => end_of(pid),
    }
}

pub(crate) fn end_of(pid: u32) -> Change {
    let in_time = PidFd::open(pid).expect("the child").wait(Duration::from_secs(60));
    if !in_time {
        signal(pid, libc::SIGKILL);
        PidFd::open(pid).expect("the child").wait(Duration::from_secs(60));
    }
    match poll_child(Whom::Process(pid)) {
        Polled::Changed(_, change) => change,
        other => panic!("{other:?}"),
    }
}

static HEAP: AtomicPtr<Views> = AtomicPtr::new(std::ptr::null_mut());
static READS: AtomicUsize = AtomicUsize::new(0);
static WRITES: AtomicUsize = AtomicUsize::new(0);
static LAST: AtomicUsize = AtomicUsize::new(0);

/// A heap whose trapped reads and writes are counted and then allowed.
pub(crate) fn heap(pages: u64, page_bytes: usize, traps: Traps) -> &'static Views {
    let bytes = pages * page_bytes as u64;
    let file = memory_file("heap", bytes).unwrap();
    watch(Views::map(&file, AT, bytes, page_bytes, Some(traps)).unwrap())
}

pub(crate) fn watch(views: Views) -> &'static Views {
    let views = Box::leak(Box::new(views));
    HEAP.store(views, Ordering::Release);
    on_trap(resolve, None).unwrap();
    views
}

fn resolve(address: usize, is_write: bool) -> bool {
    // SAFETY: only leaked views are stored.
    let views = unsafe { &*HEAP.load(Ordering::Acquire) };
    let Some(offset) = address.checked_sub(views.address()).filter(|&o| (o as u64) < views.bytes()) else {
        return false;
    };
    LAST.store(address, Ordering::Relaxed);
    let (count, what) = if is_write { (&WRITES, Allowed::Writing) } else { (&READS, Allowed::Reading) };
    count.fetch_add(1, Ordering::Relaxed);
    views.allow((offset / views.page_bytes()) as u32, 1, what).is_ok()
}

/// Reads and writes trapped since the last call.
pub(crate) fn trapped() -> (usize, usize) {
    (READS.swap(0, Ordering::Relaxed), WRITES.swap(0, Ordering::Relaxed))
}
pub(crate) fn last_address() -> usize {
    LAST.load(Ordering::Relaxed)
}

/// A load in the application's view, as a program does it.
pub(crate) fn load(address: usize) -> u64 {
    // SAFETY: tests pass addresses of mapped heaps; what is not allowed is trapped and resolved.
    unsafe { (address as *const u64).read_volatile() }
}
/// A store in the application's view, as a program does it.
pub(crate) fn store(address: usize, value: u64) {
    // SAFETY: as in `load`; nothing of Rust refers to that memory.
    unsafe { (address as *mut u64).write_volatile(value) };
}

/// The word of the protocol's view that lies that many bytes behind its beginning.
pub(crate) fn word(views: &Views, offset: usize) -> &AtomicU64 {
    &views.words()[offset / 8]
}

/// Numbers that look random and are the same each time.
pub(crate) struct Numbers(pub(crate) u64);
impl Numbers {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}
