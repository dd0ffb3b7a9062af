//! Work on one processor.
use homenode_sys::numa;

/// Runs `work` on one processor. That it may be used was read before; should it be forbidden meanwhile, the work is done
/// wherever the thread is.
pub(super) fn pinned<T>(cpu: u32, work: impl FnOnce() -> T) -> T {
    let _ = numa::set_affinity(0, &[cpu]);
    work()
}
