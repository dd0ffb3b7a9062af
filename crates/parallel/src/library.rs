//! The C functions of `include/homenode.h`, which are there under `homenode svm run` and nowhere else. They are looked up at run time:
//! a program that is linked against nothing runs with threads of its own.
use crate::error::Error;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

/// What has an address by which a lock, a barrier, a condition or a flag is named.
pub(crate) type Name = *const c_void;

/// What threads on nodes are created for.
pub(crate) trait Work: Sync {
    /// Does the work of the calling thread.
    fn work(&self);
}

/// Declares the functions, and a method each that calls it.
macro_rules! functions {
    ($($(#[$meta:meta])* $name:ident = $symbol:literal ($($argument:ident: $type:ty),*) $(-> $result:ty)?;)+) => {
        /// The functions, all of one library.
        #[derive(Debug)]
        pub(crate) struct Library {
            // SAFETY: these are types of C functions; whoever calls one says why he may.
            create: unsafe extern "C" fn(extern "C" fn(*mut c_void), *mut c_void),
            $($name: unsafe extern "C" fn($($type),*) $(-> $result)?,)+
        }

        impl Library {
            /// Looks all functions up; the name of the first one that is missing otherwise.
            fn find() -> Result<Library, &'static CStr> {
                // SAFETY: each function has the type with which `include/homenode.h` declares the symbol; a symbol that is missing
                // was an error before it is taken for a function.
                Ok(unsafe {
                    Library {
                        create: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(extern "C" fn(*mut c_void), *mut c_void)>(
                            symbol(c"homenode_create")?,
                        ),
                        $($name: std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) $(-> $result)?>(symbol($symbol)?),)+
                    }
                })
            }
            $(
                $(#[$meta])*
                pub(crate) fn $name(&self $(, $argument: $type)*) $(-> $result)? {
                    // SAFETY: names are not looked behind; texts are whole, as their type says; a word is checked by the library, which
                    // ends the program if it is none of shared memory; memory is given back by `memory::Pages` alone.
                    unsafe { (self.$name)($($argument),*) }
                }
            )+
        }
    };
}

functions! {
    /// Threads of all nodes.
    svm_threads = c"homenode_svm_threads"() -> c_uint;
    /// Nodes.
    nodes = c"homenode_nodes"() -> c_uint;
    /// Node of the calling thread.
    node = c"homenode_node"() -> c_uint;
    /// Number of the calling thread.
    thread = c"homenode_thread"() -> c_uint;
    /// Waits until all created threads are over.
    join = c"homenode_join"();
    /// Zeroed memory of whole pages; null if there is none.
    shared_alloc = c"homenode_shared_alloc"(bytes: usize) -> *mut c_void;
    /// Gives memory back.
    shared_free = c"homenode_shared_free"(memory: *mut c_void, bytes: usize);
    /// Takes a lock.
    lock = c"homenode_lock"(name: Name);
    /// Gives a lock back.
    unlock = c"homenode_unlock"(name: Name);
    /// Waits for all threads.
    barrier = c"homenode_barrier"(name: Name, threads: c_uint);
    /// Waits for a signal.
    cond_wait = c"homenode_cond_wait"(name: Name, lock: Name);
    /// Wakes one thread.
    cond_signal = c"homenode_cond_signal"(name: Name);
    /// Wakes all threads.
    cond_broadcast = c"homenode_cond_broadcast"(name: Name);
    /// Sets a flag.
    flag_set = c"homenode_flag_set"(name: Name);
    /// Takes a flag back.
    flag_clear = c"homenode_flag_clear"(name: Name);
    /// Waits for a flag.
    flag_wait = c"homenode_flag_wait"(name: Name);
    /// Whether a flag is set.
    flag_is_set = c"homenode_flag_is_set"(name: Name) -> c_int;
    /// Reads a word.
    load64 = c"homenode_load64"(word: *const u64) -> u64;
    /// Sets a word.
    store64 = c"homenode_store64"(word: *mut u64, value: u64);
    /// Sets a word; the value before.
    exchange64 = c"homenode_exchange64"(word: *mut u64, value: u64) -> u64;
    /// Adds to a word; the value before.
    fetch_add64 = c"homenode_fetch_add64"(word: *mut u64, add: u64) -> u64;
    /// Sets a word if it has a value; the value before.
    compare_swap64 = c"homenode_compare_swap64"(word: *mut u64, old: u64, new: u64) -> u64;
    /// Reads a word.
    load32 = c"homenode_load32"(word: *const u32) -> u32;
    /// Sets a word.
    store32 = c"homenode_store32"(word: *mut u32, value: u32);
    /// Sets a word; the value before.
    exchange32 = c"homenode_exchange32"(word: *mut u32, value: u32) -> u32;
    /// Adds to a word; the value before.
    fetch_add32 = c"homenode_fetch_add32"(word: *mut u32, add: u32) -> u32;
    /// Sets a word if it has a value; the value before.
    compare_swap32 = c"homenode_compare_swap32"(word: *mut u32, old: u32, new: u32) -> u32;
    /// Sum of all threads' values.
    reduce_sum_i64 = c"homenode_reduce_sum_i64"(value: i64) -> i64;
    /// Least of all threads' values.
    reduce_min_i64 = c"homenode_reduce_min_i64"(value: i64) -> i64;
    /// Greatest of all threads' values.
    reduce_max_i64 = c"homenode_reduce_max_i64"(value: i64) -> i64;
    /// Sum of all threads' values.
    reduce_sum_f64 = c"homenode_reduce_sum_f64"(value: f64) -> f64;
    /// Least of all threads' values.
    reduce_min_f64 = c"homenode_reduce_min_f64"(value: f64) -> f64;
    /// Greatest of all threads' values.
    reduce_max_f64 = c"homenode_reduce_max_f64"(value: f64) -> f64;
    /// A phase of the calling thread begins.
    phase_begin = c"homenode_phase_begin"(name: *const c_char);
    /// A phase of the calling thread ends.
    phase_end = c"homenode_phase_end"(name: *const c_char);
}

impl Library {
    /// Creates a thread that does the work, which lies in shared memory, on the node whose turn it is.
    pub(crate) fn create<W: Work>(&self, work: &'static W) {
        extern "C" fn start<W: Work>(argument: *mut c_void) {
            // SAFETY: `create` alone gives the argument: the address of work in shared memory, which is the same on all nodes and is never
            // given back; it was written before the thread was created, and is seen by it.
            let work = unsafe { &*argument.cast::<W>() };
            work.work();
        }
        // SAFETY: `start` does not unwind, as C functions in Rust abort then, and gets the argument that it is for.
        unsafe { (self.create)(start::<W>, std::ptr::from_ref(work).cast_mut().cast()) }
    }
}

/// What the process has under a name.
fn symbol(name: &'static CStr) -> Result<*mut c_void, &'static CStr> {
    // SAFETY: the name ends with 0; looking it up changes nothing.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if found.is_null() { Err(name) } else { Ok(found) }
}

fn found() -> &'static Result<Option<Library>, &'static CStr> {
    static FOUND: OnceLock<Result<Option<Library>, &CStr>> = OnceLock::new();
    FOUND.get_or_init(|| {
        // Other functions are in programs that record themselves, too.
        if symbol(c"homenode_svm_threads").is_err() {
            return Ok(None);
        }
        Library::find().map(|library| (library.svm_threads() > 0).then_some(library))
    })
}

/// The functions; `None` if the program runs by itself. For what needs a handle: there is none if functions are missing.
pub(crate) fn library() -> Option<&'static Library> {
    found().as_ref().ok().and_then(Option::as_ref)
}

/// The functions; `None` if the program runs by itself.
///
/// # Errors
/// Some are there and others not.
pub(crate) fn checked() -> Result<Option<&'static Library>, Error> {
    let missing = |name: &&CStr| {
        Error::of(format!(
            "this process has functions for shared virtual memory, but not {}: use the `homenode svm run` of a version that fits",
            name.to_string_lossy()
        ))
    };
    found().as_ref().map(Option::as_ref).map_err(missing)
}
