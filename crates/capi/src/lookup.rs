//! Addresses of functions of the program and of libraries.
use std::ffi::{CStr, c_char, c_void};

// SAFETY: the C library's function has this type.
unsafe extern "C" {
    /// The address of a function with a version.
    fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
}

/// The address of a function wherever it is, the program's own first; null if there is none. The name ends with 0.
pub(crate) fn in_program(name: &'static str) -> *mut c_void {
    debug_assert!(name.ends_with('\0'));
    // SAFETY: a pseudo handle and a text that ends with 0.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr().cast()) }
}

/// The address of a function further behind in the order of libraries, for calls that are passed on. The name ends with 0; nothing is
/// allocated.
pub(crate) fn behind(name: &'static str) -> *mut c_void {
    debug_assert!(name.ends_with('\0'));
    // SAFETY: a pseudo handle and a text that ends with 0.
    unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr().cast()) }
}

/// As [`behind`], for condition variables: these changed in glibc 2.3.2, and a name without a version may be that of the older ones.
pub(crate) fn behind_cond(name: &'static str) -> *mut c_void {
    const CHANGED: &CStr = c"GLIBC_2.3.2";
    debug_assert!(name.ends_with('\0'));
    // SAFETY: a pseudo handle and texts that end with 0.
    let found = unsafe { dlvsym(libc::RTLD_NEXT, name.as_ptr().cast(), CHANGED.as_ptr()) };
    if found.is_null() { behind(name) } else { found }
}
