//! The functions that `include/homenode.h` declares.
use crate::{give_up, site};
use homenode_svm::threads::Returned;
use homenode_svm::{begin_phase, end_phase, say};
use homenode_svm::{heap, locks, place, threads};
use std::ffi::{CStr, c_char, c_uint, c_void};

/// Memory at the same address on all nodes, zeroed, of whole pages; NULL if none is left, and a line on stderr says so.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub(crate) extern "C" fn homenode_shared_alloc(bytes: usize) -> *mut c_void {
    // The address that the call returns to, which says who asks, becomes the second argument; all else stays as it was at the call.
    #[cfg(target_arch = "x86_64")]
    std::arch::naked_asm!("mov rsi, [rsp]", "jmp {}", sym homenode_shared_alloc_for);
    #[cfg(target_arch = "aarch64")]
    std::arch::naked_asm!("mov x1, x30", "b {}", sym homenode_shared_alloc_for);
}

/// As [`homenode_shared_alloc`], for who is called in its place: the hooks of programs that record themselves, which say where the
/// program's own call returns to.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn homenode_shared_alloc_for(bytes: usize, returns_to: usize) -> *mut c_void {
    match heap::take(bytes as u64, site::in_program(returns_to)) {
        Ok(piece) => {
            let memory = std::ptr::with_exposed_provenance_mut::<c_void>(piece.address as usize);
            if piece.used {
                // SAFETY: the piece lies in the heap, which is mapped, and belongs to the caller alone; accesses that are trapped are
                // resolved.
                unsafe { memory.cast::<u8>().write_bytes(0, piece.bytes as usize) };
            }
            memory
        }
        Err(why) => {
            say(&format!("homenode_shared_alloc: {why}"));
            std::ptr::null_mut()
        }
    }
}

/// Gives memory of `homenode_shared_alloc` back, with its size.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn homenode_shared_free(memory: *mut c_void, bytes: usize) {
    if !memory.is_null() {
        heap::give_back(memory.addr() as u64, bytes as u64).unwrap_or_else(|why| give_up(&why));
    }
}

/// Creates a thread that calls `start` with `argument`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn homenode_create(start: Option<extern "C" fn(*mut c_void)>, argument: *mut c_void) {
    let start = start.map_or(0, |start| start as usize as u64);
    // What stdio still holds would be written by each node: the first call makes them.
    flush();
    match threads::create(start, argument.expose_provenance() as u64) {
        Ok(Returned::Creator) => {}
        Ok(Returned::Node) => {
            flush();
            // SAFETY: _exit ends the process: handlers and destructors of the program are its first node's to run.
            unsafe { libc::_exit(0) }
        }
        Err(why) => give_up(&why),
    }
}

/// Waits until all created threads are over.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn homenode_join() {
    threads::join().unwrap_or_else(|why| give_up(&why));
}

/// Takes the lock of this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn homenode_lock(name: *mut c_void) {
    locks::acquire(name.addr() as u64).unwrap_or_else(|why| give_up(&why));
}

/// Gives the lock of this name back.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn homenode_unlock(name: *mut c_void) {
    locks::release(name.addr() as u64).unwrap_or_else(|why| give_up(&why));
}

/// Waits at the barrier of this name until `threads` threads have come.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn homenode_barrier(name: *mut c_void, threads: c_uint) {
    locks::wait(name.addr() as u64, threads).unwrap_or_else(|why| give_up(&why));
}

/// A phase of this name begins in the calling thread.
///
/// # Safety
/// `name` is NULL or a text that ends with 0.
// SAFETY: nothing but reading the name needs what the caller promises.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn homenode_phase_begin(name: *const c_char) {
    if !name.is_null() {
        // SAFETY: the caller gives a text, which is not kept.
        begin_phase(unsafe { CStr::from_ptr(name) }.to_bytes());
    }
}

/// The innermost phase of the calling thread ends. Its name is for readers.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn homenode_phase_end(_name: *const c_char) {
    end_phase();
}

/// Nodes of the cluster; 0 without shared virtual memory.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn homenode_nodes() -> c_uint {
    place().map_or(0, |p| c_uint::from(p.nodes))
}

/// Node of the calling thread.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn homenode_node() -> c_uint {
    place().map_or(0, |p| c_uint::from(p.node))
}

/// Number of the calling thread in the cluster.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn homenode_thread() -> c_uint {
    place().map_or(0, |p| p.thread)
}

/// Threads of the cluster; 0 without shared virtual memory.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn homenode_svm_threads() -> c_uint {
    place().map_or(0, |p| p.threads)
}

fn flush() {
    // SAFETY: NULL means all streams.
    unsafe { libc::fflush(std::ptr::null_mut()) };
}
