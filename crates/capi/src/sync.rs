//! Functions of `include/homenode.h` by which threads wait for each other, besides locks and barriers: conditions, flags, words that are
//! changed at once, reductions.
use crate::give_up;
use crate::recorded::{Sync, acquired, at_barrier, releases};
use homenode_svm::heap;
use homenode_svm::reductions::{Reduction, reduce};
use homenode_svm::words::{self, Word};
use homenode_svm::{Trouble, conditions};
use std::ffi::{c_int, c_void};

fn done<T>(result: Result<T, Trouble>) -> T {
    result.unwrap_or_else(|why| give_up(&why))
}

/// Gives the lock up, waits for a signal, and takes the lock again.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn homenode_cond_wait(name: *mut c_void, lock: *mut c_void) {
    releases(lock.addr() as u64, Sync::Lock);
    done(conditions::wait(name.addr() as u64, lock.addr() as u64));
    acquired(name.addr() as u64, Sync::Condition);
    acquired(lock.addr() as u64, Sync::Lock);
}

/// Wakes one thread that waits for the condition.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn homenode_cond_signal(name: *mut c_void) {
    releases(name.addr() as u64, Sync::Signal);
    done(conditions::signal(name.addr() as u64));
}

/// Wakes all threads that wait for the condition.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn homenode_cond_broadcast(name: *mut c_void) {
    releases(name.addr() as u64, Sync::Broadcast);
    done(conditions::broadcast(name.addr() as u64));
}

/// Sets a flag.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn homenode_flag_set(name: *mut c_void) {
    releases(name.addr() as u64, Sync::Flag);
    done(conditions::set(name.addr() as u64, true));
}

/// Takes a flag back.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn homenode_flag_clear(name: *mut c_void) {
    done(conditions::set(name.addr() as u64, false));
}

/// Waits until a flag is set.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn homenode_flag_wait(name: *mut c_void) {
    done(conditions::until_set(name.addr() as u64));
    acquired(name.addr() as u64, Sync::Flag);
}

/// Whether a flag is set.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn homenode_flag_is_set(name: *mut c_void) -> c_int {
    let is_set = done(conditions::is_set(name.addr() as u64));
    if is_set {
        acquired(name.addr() as u64, Sync::Flag);
    }
    c_int::from(is_set)
}

/// Declares the functions on words of one size.
macro_rules! words {
    ($($type:ty: $load:ident $store:ident $exchange:ident $add:ident $compare:ident;)+) => {$(
        /// The word's value.
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $load(word: *const $type) -> $type {
            let value = done(words::load(stringify!($load), of(word))) as $type;
            acquired(word.addr() as u64, Sync::Word);
            value
        }
        /// Sets the word.
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $store(word: *mut $type, value: $type) {
            changed(word.addr(), || done(words::change(stringify!($store), of(word), |_| value.into())));
        }
        /// Sets the word; the value before.
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $exchange(word: *mut $type, value: $type) -> $type {
            changed(word.addr(), || done(words::change(stringify!($exchange), of(word), |_| value.into()))) as $type
        }
        /// Adds to the word; the value before.
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $add(word: *mut $type, add: $type) -> $type {
            let change = |before: u64| before.wrapping_add(add.into());
            changed(word.addr(), || done(words::change(stringify!($add), of(word), change))) as $type
        }
        /// Sets the word to `new` if it is `old`; the value before.
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $compare(word: *mut $type, old: $type, new: $type) -> $type {
            let change = |before| if before == u64::from(old) { new.into() } else { before };
            changed(word.addr(), || done(words::change(stringify!($compare), of(word), change))) as $type
        }
    )+};
}

words! {
    u64: homenode_load64 homenode_store64 homenode_exchange64 homenode_fetch_add64 homenode_compare_swap64;
    u32: homenode_load32 homenode_store32 homenode_exchange32 homenode_fetch_add32 homenode_compare_swap32;
}

/// Changes a word: whoever does sees what was seen by who changed it before.
fn changed(word: usize, change: impl FnOnce() -> u64) -> u64 {
    releases(word as u64, Sync::Word);
    let before = change();
    acquired(word as u64, Sync::Word);
    before
}

fn of<T>(word: *const T) -> Word {
    Word { address: word.addr() as u64, bytes: size_of::<T>() as u32 }
}

/// Declares the reductions.
macro_rules! reductions {
    ($($name:ident: $type:ty, $reduction:ident, $to:expr, $from:expr;)+) => {$(
        /// What comes of the values of all threads.
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $name(value: $type) -> $type {
            let reduce = || reduce(stringify!($name), Reduction::$reduction, $to(value));
            $from(done(at_barrier(heap::ADDRESS, reduce)))
        }
    )+};
}

reductions! {
    homenode_reduce_sum_i64: i64, SumOfInts, i64::cast_unsigned, u64::cast_signed;
    homenode_reduce_min_i64: i64, LeastInt, i64::cast_unsigned, u64::cast_signed;
    homenode_reduce_max_i64: i64, GreatestInt, i64::cast_unsigned, u64::cast_signed;
    homenode_reduce_sum_f64: f64, SumOfReals, f64::to_bits, f64::from_bits;
    homenode_reduce_min_f64: f64, LeastReal, f64::to_bits, f64::from_bits;
    homenode_reduce_max_f64: f64, GreatestReal, f64::to_bits, f64::from_bits;
}
