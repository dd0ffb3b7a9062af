//! Words that threads of all nodes read and change at once.
use crate::error::Error;
use crate::library::library;
use crate::memory::Place;
use crate::shared::{Plain, Shared};
use std::ptr::from_ref;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

/// Numbers that an [`AtomicWord`] may be: `u64` and `u32`.
pub trait Word: Plain + private::Word {}

mod private {
    /// What is done with a word.
    pub trait Word: Sized {
        type Atomic: Sync + 'static;
        fn atomic(self) -> Self::Atomic;
        fn load(at: &Self::Atomic) -> Self;
        fn store(at: &Self::Atomic, value: Self);
        fn exchange(at: &Self::Atomic, value: Self) -> Self;
        fn add(at: &Self::Atomic, add: Self) -> Self;
        fn compare_swap(at: &Self::Atomic, old: Self, new: Self) -> Self;
    }
}

/// A word in shared memory that threads of all nodes read and change at once: a handle. All calls are in one order, and who reads or
/// changes a word sees what those saw who changed it before. On nodes a call costs about as much as a lock.
///
/// ```
/// use homenode_parallel::{AtomicWord, run};
///
/// let next = AtomicWord::new(0_u64)?;
/// run(3, next, |_, next| while next.fetch_add(1) < 100 {})?;
/// assert_eq!(next.load(), 103);
/// # Ok::<(), homenode_parallel::Error>(())
/// ```
#[derive(Debug)]
pub struct AtomicWord<V: Word>(Place<V::Atomic>);

impl<V: Word> Clone for AtomicWord<V> {
    fn clone(&self) -> AtomicWord<V> {
        *self
    }
}
impl<V: Word> Copy for AtomicWord<V> {}
// SAFETY: it refers to shared memory alone.
unsafe impl<V: Word> Shared for AtomicWord<V> {}

impl<V: Word> AtomicWord<V> {
    /// A word in shared memory.
    ///
    /// # Errors
    /// There is no shared memory left.
    pub fn new(value: V) -> Result<AtomicWord<V>, Error> {
        Place::of(value.atomic()).map(AtomicWord)
    }
    pub(crate) fn at(place: Place<V::Atomic>) -> AtomicWord<V> {
        AtomicWord(place)
    }
    /// The value.
    pub fn load(&self) -> V {
        V::load(self.0.get())
    }
    /// Sets the value.
    pub fn store(&self, value: V) {
        V::store(self.0.get(), value);
    }
    /// Sets the value; what it was.
    pub fn swap(&self, value: V) -> V {
        V::exchange(self.0.get(), value)
    }
    /// Adds to the value, around at its end; what it was.
    pub fn fetch_add(&self, add: V) -> V {
        V::add(self.0.get(), add)
    }
    /// Sets the value to `new` if it is `old`.
    ///
    /// # Errors
    /// What it is instead.
    pub fn compare_exchange(&self, old: V, new: V) -> Result<V, V>
    where
        V: PartialEq,
    {
        let before = V::compare_swap(self.0.get(), old, new);
        if before == old { Ok(before) } else { Err(before) }
    }
}

/// Declares words of a size.
macro_rules! words {
    ($($type:ty, $atomic:ident: $load:ident $store:ident $exchange:ident $add:ident $compare:ident;)+) => {$(
        impl Word for $type {}
        impl private::Word for $type {
            type Atomic = $atomic;
            fn atomic(self) -> $atomic {
                $atomic::new(self)
            }
            fn load(at: &$atomic) -> $type {
                library().map_or_else(|| at.load(SeqCst), |l| l.$load(from_ref(at).cast()))
            }
            fn store(at: &$atomic, value: $type) {
                library().map_or_else(|| at.store(value, SeqCst), |l| l.$store(from_ref(at).cast_mut().cast(), value));
            }
            fn exchange(at: &$atomic, value: $type) -> $type {
                library().map_or_else(|| at.swap(value, SeqCst), |l| l.$exchange(from_ref(at).cast_mut().cast(), value))
            }
            fn add(at: &$atomic, add: $type) -> $type {
                library().map_or_else(|| at.fetch_add(add, SeqCst), |l| l.$add(from_ref(at).cast_mut().cast(), add))
            }
            fn compare_swap(at: &$atomic, old: $type, new: $type) -> $type {
                let own = || at.compare_exchange(old, new, SeqCst, SeqCst).unwrap_or_else(|other| other);
                library().map_or_else(own, |l| l.$compare(from_ref(at).cast_mut().cast(), old, new))
            }
        }
    )+};
}

words! {
    u64, AtomicU64: load64 store64 exchange64 fetch_add64 compare_swap64;
    u32, AtomicU32: load32 store32 exchange32 fetch_add32 compare_swap32;
}
