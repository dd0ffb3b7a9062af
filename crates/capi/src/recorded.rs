//! What a recording learns of shared virtual memory: the hooks in a program that `homenode cc` built are told where the heap is, which all
//! nodes have, and when what an address names is released and acquired.
use crate::lookup::in_program;
use homenode_svm::{heap, place};
use std::ffi::{c_int, c_uint, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Synchronisation, in the order in which the hooks know it (`crates/hooks/c/tsan/svm.c`).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sync {
    /// A lock.
    Lock,
    /// A barrier or a reduction; all threads come to it every time.
    Barrier,
    /// A condition that was waited for.
    Condition,
    /// A condition, for one thread that waits.
    Signal,
    /// A condition, for all threads that wait.
    Broadcast,
    /// A flag.
    Flag,
    /// A word that is changed at once.
    Word,
    /// The creation of a thread.
    Creation,
    /// The end of a thread.
    Join,
}

type HeapHook = extern "C" fn(*mut c_void, usize, u64);
type SyncHook = extern "C" fn(*mut c_void, c_uint, u64, c_int);
type ArrivalHook = extern "C" fn(*mut c_void, c_uint, c_uint) -> u64;

/// Number of the job in a recording, which may have several; 0 before the heap is declared. Forked nodes have that of the first.
static JOB: AtomicU64 = AtomicU64::new(0);

/// The hooks' functions, if the program has them.
fn hooks() -> Option<(HeapHook, SyncHook, ArrivalHook)> {
    static HOOKS: OnceLock<Option<(HeapHook, SyncHook, ArrivalHook)>> = OnceLock::new();
    *HOOKS.get_or_init(|| {
        let [heap, sync, arrival] =
            ["homenode_recorded_heap\0", "homenode_recorded_sync\0", "homenode_recorded_arrival\0"].map(in_program);
        if heap.is_null() || sync.is_null() || arrival.is_null() {
            return None;
        }
        // SAFETY: the hooks' functions of these names have these types.
        Some(unsafe {
            (
                std::mem::transmute::<*mut c_void, HeapHook>(heap),
                std::mem::transmute::<*mut c_void, SyncHook>(sync),
                std::mem::transmute::<*mut c_void, ArrivalHook>(arrival),
            )
        })
    })
}

/// Threads that the program's first one has created since it waited for them last.
static CREATED: AtomicU64 = AtomicU64::new(0);

fn pointer(name: u64) -> *mut c_void {
    std::ptr::without_provenance_mut(name as usize)
}

/// Says, once, where the heap is.
pub(crate) fn declare_heap() {
    let Some((tell, ..)) = hooks() else { return };
    let job = heap::job();
    if JOB.compare_exchange(0, job, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        let range = heap::range();
        tell(pointer(range.start), (range.end - range.start) as usize, job);
    }
}

/// What `name` names is about to be released.
pub(crate) fn releases(name: u64, what: Sync) {
    sync(name, what, 0, false);
}

/// What `name` names has been acquired.
pub(crate) fn acquired(name: u64, what: Sync) {
    sync(name, what, 0, true);
}

fn sync(name: u64, what: Sync, epoch: u64, acquires: bool) {
    if let Some((_, tell, _)) = hooks() {
        tell(pointer(name), what as c_uint, epoch, acquires.into());
    }
}

/// Waits at a barrier of all threads.
pub(crate) fn at_barrier<R>(name: u64, wait: impl FnOnce() -> R) -> R {
    let (Some((.., arrival)), Some(place)) = (hooks(), place()) else { return wait() };
    let epoch = arrival(pointer(name), place.threads / u32::from(place.nodes.max(1)), place.threads);
    sync(name, Sync::Barrier, epoch, false);
    let result = wait();
    sync(name, Sync::Barrier, epoch, true);
    result
}

/// The program's first thread is about to create another one.
pub(crate) fn creates() {
    if hooks().is_some() && place().is_some_and(|p| p.thread == 0) {
        declare_heap();
        let number = CREATED.fetch_add(1, Ordering::Relaxed) + 1;
        sync(heap::ADDRESS, Sync::Creation, number, false);
    }
}

/// Calls what a created thread is for.
pub(crate) fn in_thread(run: impl FnOnce()) {
    declare_heap();
    let number = place().map_or(0, |p| p.thread.into());
    sync(heap::ADDRESS, Sync::Creation, number, true);
    run();
    sync(heap::ADDRESS, Sync::Join, number, false);
}

/// The program's first thread has seen the end of all created ones.
pub(crate) fn joined() {
    for number in 1..=CREATED.swap(0, Ordering::Relaxed) {
        sync(heap::ADDRESS, Sync::Join, number, true);
    }
}
