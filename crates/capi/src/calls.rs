//! Input and output of the C library for buffers in shared memory. The kernel does not wait for a page that the program may not touch
//! yet: the call would fail with EFAULT. So such buffers are touched before the call, and again if it failed nevertheless.
use crate::lookup::behind;
use homenode_svm::heap;
use libc::{FILE, iovec, off_t, size_t, ssize_t};
use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::ops::Range;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

/// Fewest bytes of a page.
const PAGE: usize = 4096;

/// What a call does to memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Reads,
    Writes,
}

/// The part of a buffer that lies in shared memory.
fn shared(start: usize, bytes: usize) -> Range<usize> {
    let heap = heap::range();
    let (from, to) = (start.max(heap.start as usize), start.saturating_add(bytes).min(heap.end as usize));
    from..to.max(from)
}

/// Does with each page of the buffer what the call will do.
fn touch(start: *const c_void, bytes: usize, what: Use) {
    let range = shared(start.addr(), bytes);
    let mut at = range.start;
    while at < range.end {
        // SAFETY: the address lies in the heap, which is mapped, and in a buffer that the caller lets the kernel use; a trapped access is
        // resolved.
        let byte = unsafe { AtomicU8::from_ptr(std::ptr::with_exposed_provenance_mut(at)) };
        // A compiler that knew the operand would see that nothing changes, and leave the access out.
        let byte = match what {
            Use::Reads => byte.load(Ordering::Relaxed),
            Use::Writes => byte.fetch_or(black_box(0), Ordering::Relaxed),
        };
        black_box(byte);
        at = (at / PAGE + 1) * PAGE;
    }
}

fn is_fault() -> bool {
    std::io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT)
}

/// Makes a call with its buffer touched, as long as it fails for that alone.
fn with(buffer: *const c_void, bytes: usize, what: Use, call: impl Fn() -> ssize_t) -> ssize_t {
    let is_shared = !shared(buffer.addr(), bytes).is_empty();
    loop {
        if is_shared {
            touch(buffer, bytes, what);
        }
        let done = call();
        if done >= 0 || !is_shared || !is_fault() {
            return done;
        }
    }
}

/// The parts of a vector that lie in shared memory.
fn with_parts(parts: *const iovec, count: c_int, what: Use, call: impl Fn() -> ssize_t) -> ssize_t {
    let parts: &[iovec] = match usize::try_from(count) {
        // SAFETY: the caller gives an array of that many parts, which the kernel is about to read.
        Ok(count) if count > 0 && !parts.is_null() => unsafe { std::slice::from_raw_parts(parts, count) },
        _ => &[],
    };
    let is_shared = parts.iter().any(|p| !shared(p.iov_base.addr(), p.iov_len).is_empty());
    loop {
        if is_shared {
            parts.iter().for_each(|p| touch(p.iov_base, p.iov_len, what));
        }
        let done = call();
        if done >= 0 || !is_shared || !is_fault() {
            return done;
        }
    }
}

/// A function that stands behind ours, looked up once.
macro_rules! next {
    ($name:ident: $type:ty) => {{
        static NEXT: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
        let mut at = NEXT.load(Ordering::Acquire);
        if at.is_null() {
            at = behind(concat!(stringify!($name), "\0"));
            NEXT.store(at, Ordering::Release);
        }
        // SAFETY: the C library's function of this name has this type; without one the option is empty.
        unsafe { std::mem::transmute::<*mut c_void, Option<$type>>(at) }
    }};
}

/// Declares functions in front of those of the C library: those that the kernel hands a buffer of bytes, or a vector of them.
macro_rules! before {
    ($($what:ident $with:ident $name:ident($buffer:ident: $pointer:ty, $bytes:ident: $size:ty $(; $before:ident: $b:ty)* $(, $after:ident: $a:ty)*);)+) => {$(
        /// Passes the call on, with its buffer made accessible.
        ///
        /// # Safety
        /// As the C library's.
        // SAFETY: nothing but this call of the C library's function needs what its caller promises.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($before: $b,)* $buffer: $pointer, $bytes: $size $(, $after: $a)*) -> ssize_t {
            type Next = unsafe extern "C" fn($($b,)* $pointer, $size $(, $a)*) -> ssize_t;
            let Some(next) = next!($name: Next) else { return -1 };
            // SAFETY: the caller's arguments are passed on as they are.
            $with($buffer.cast(), $bytes, Use::$what, || unsafe { next($($before,)* $buffer, $bytes $(, $after)*) })
        }
    )+};
}

before! {
    Writes with read(buffer: *mut c_void, bytes: size_t; file: c_int);
    Writes with pread(buffer: *mut c_void, bytes: size_t; file: c_int, offset: off_t);
    Writes with pread64(buffer: *mut c_void, bytes: size_t; file: c_int, offset: off_t);
    Writes with recv(buffer: *mut c_void, bytes: size_t; socket: c_int, flags: c_int);
    Reads with write(buffer: *const c_void, bytes: size_t; file: c_int);
    Reads with pwrite(buffer: *const c_void, bytes: size_t; file: c_int, offset: off_t);
    Reads with pwrite64(buffer: *const c_void, bytes: size_t; file: c_int, offset: off_t);
    Reads with send(buffer: *const c_void, bytes: size_t; socket: c_int, flags: c_int);
    Writes with_parts readv(parts: *const iovec, count: c_int; file: c_int);
    Reads with_parts writev(parts: *const iovec, count: c_int; file: c_int);
}

/// Reads items from a stream, with their memory made accessible.
///
/// # Safety
/// As the C library's.
// SAFETY: nothing but this call of the C library's function needs what its caller promises.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fread(buffer: *mut c_void, size: size_t, items: size_t, stream: *mut FILE) -> size_t {
    type Next = unsafe extern "C" fn(*mut c_void, size_t, size_t, *mut FILE) -> size_t;
    let Some(next) = next!(fread: Next) else { return 0 };
    touch(buffer, size.saturating_mul(items), Use::Writes);
    // SAFETY: the caller's arguments are passed on as they are.
    unsafe { next(buffer, size, items, stream) }
}

/// Writes items to a stream, with their memory made accessible.
///
/// # Safety
/// As the C library's.
// SAFETY: nothing but this call of the C library's function needs what its caller promises.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fwrite(
    buffer: *const c_void,
    size: size_t,
    items: size_t,
    stream: *mut FILE,
) -> size_t {
    type Next = unsafe extern "C" fn(*const c_void, size_t, size_t, *mut FILE) -> size_t;
    let Some(next) = next!(fwrite: Next) else { return 0 };
    touch(buffer, size.saturating_mul(items), Use::Reads);
    // SAFETY: the caller's arguments are passed on as they are.
    unsafe { next(buffer, size, items, stream) }
}
