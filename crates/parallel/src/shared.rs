//! Which values may lie in shared memory: what means the same on all nodes.
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Values that may lie in shared memory: numbers, handles of shared memory, and arrays, tuples, options and structures
/// ([`shared!`](crate::shared!)) of such. References, boxes and vectors are none, because what they point to is private to a process:
///
/// ```compile_fail,E0277
/// homenode_parallel::Lock::new(Box::new(1)).unwrap();
/// ```
/// ```compile_fail,E0277
/// homenode_parallel::Lock::new("a text of this process").unwrap();
/// ```
/// ```compile_fail,E0277
/// homenode_parallel::Table::new(&[vec![1]]).unwrap();
/// ```
///
/// # Safety
/// A copy of the bytes is the value, also in another process that runs the same program: nothing in it refers to private memory.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot lie in shared memory",
    note = "on another node what it refers to is not there: use numbers, handles such as SharedSlice and Lock, or a structure of them made with shared!"
)]
pub unsafe trait Shared: Copy + Send + Sync + 'static {}

/// Numbers and arrays of them: elements of a [`SharedSlice`](crate::SharedSlice), which threads read and write one by one.
///
/// # Safety
/// Zeros are a value, there is no padding, and each part that `load_from` and `store_to` take at once may come of another value.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an element of a SharedSlice",
    note = "elements are numbers, booleans and arrays of them; lists of handles and structures are a Table"
)]
pub unsafe trait Plain: Shared {
    /// Reads a value that other threads may be writing.
    ///
    /// # Safety
    /// The address is that of a value in memory that is there, and other threads change it by `store_to` alone.
    #[doc(hidden)]
    unsafe fn load_from(from: *const Self) -> Self;
    /// Writes a value that other threads may be reading.
    ///
    /// # Safety
    /// As for `load_from`, and nobody has a reference to the value.
    #[doc(hidden)]
    unsafe fn store_to(to: *mut Self, value: Self);
}

/// Declares numbers, with the atomic type that has their size and how its value becomes one.
macro_rules! numbers {
    ($($type:ty: $atomic:ty, $to:expr, $from:expr;)+) => {$(
        // SAFETY: a number refers to nothing.
        unsafe impl Shared for $type {}
        // SAFETY: zero is one of these, they have no padding and are read and written at once.
        unsafe impl Plain for $type {
            #[inline]
            unsafe fn load_from(from: *const Self) -> Self {
                const { assert!(size_of::<$type>() == size_of::<$atomic>() && align_of::<$type>() == align_of::<$atomic>()) };
                // SAFETY: the caller's promise; the types have the same size and alignment.
                $from(unsafe { <$atomic>::from_ptr(from.cast_mut().cast()) }.load(Ordering::Relaxed))
            }
            #[inline]
            unsafe fn store_to(to: *mut Self, value: Self) {
                // SAFETY: as above.
                unsafe { <$atomic>::from_ptr(to.cast()) }.store($to(value), Ordering::Relaxed);
            }
        }
    )+};
}

numbers! {
    bool: AtomicBool, |v| v, |v| v;
    u8: AtomicU8, |v| v, |v| v;
    i8: AtomicU8, i8::cast_unsigned, u8::cast_signed;
    u16: AtomicU16, |v| v, |v| v;
    i16: AtomicU16, i16::cast_unsigned, u16::cast_signed;
    u32: AtomicU32, |v| v, |v| v;
    i32: AtomicU32, i32::cast_unsigned, u32::cast_signed;
    f32: AtomicU32, f32::to_bits, f32::from_bits;
    u64: AtomicU64, |v| v, |v| v;
    i64: AtomicU64, i64::cast_unsigned, u64::cast_signed;
    f64: AtomicU64, f64::to_bits, f64::from_bits;
    usize: AtomicU64, |v| v as u64, |v| v as usize;
    isize: AtomicU64, |v: isize| v as u64, |v| v as isize;
}

// SAFETY: an array refers to what its elements do.
unsafe impl<T: Shared, const N: usize> Shared for [T; N] {}
// SAFETY: an array is its elements, one after the other, and is read and written one by one.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {
    #[inline]
    unsafe fn load_from(from: *const Self) -> Self {
        // SAFETY: the elements of an array at that address are as the caller promises of the array.
        std::array::from_fn(|at| unsafe { T::load_from(from.cast::<T>().add(at)) })
    }
    #[inline]
    unsafe fn store_to(to: *mut Self, value: Self) {
        for (at, element) in value.into_iter().enumerate() {
            // SAFETY: as above.
            unsafe { T::store_to(to.cast::<T>().add(at), element) };
        }
    }
}

// SAFETY: nothing is in it.
unsafe impl<T: Send + Sync + 'static> Shared for PhantomData<T> {}
// SAFETY: an option refers to what its value does.
unsafe impl<T: Shared> Shared for Option<T> {}
// SAFETY: a character is a number.
unsafe impl Shared for char {}

/// Declares tuples.
macro_rules! tuples {
    ($(($($name:ident)*))+) => {$(
        // SAFETY: a tuple refers to what its parts do.
        unsafe impl<$($name: Shared),*> Shared for ($($name,)*) {}
    )+};
}

tuples! { () (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) (A B C D E F G) (A B C D E F G H) }

/// Declares a structure that may lie in shared memory, because all of its members may.
///
/// ```
/// use homenode_parallel::{Lock, SharedSlice, shared};
///
/// shared! {
///     /// What all threads get.
///     #[derive(Debug)]
///     pub struct Problem {
///         pub grid: SharedSlice<f64>,
///         found: Lock<Option<u64>>,
///     }
/// }
/// let problem = Problem { grid: SharedSlice::zeroed(100).unwrap(), found: Lock::new(None).unwrap() };
/// assert_eq!((problem.grid.len(), *problem.found.lock()), (100, None));
/// ```
///
/// A member that may not is an error:
///
/// ```compile_fail,E0277
/// homenode_parallel::shared! {
///     struct Problem { names: &'static [String] }
/// }
/// ```
#[macro_export]
macro_rules! shared {
    ($(#[$meta:meta])* $visible:vis struct $name:ident { $($(#[$of_member:meta])* $seen:vis $member:ident: $type:ty),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        $visible struct $name {
            $($(#[$of_member])* $seen $member: $type,)*
        }
        // SAFETY: a structure refers to what its members do, all of which may lie in shared memory.
        unsafe impl $crate::Shared for $name where $($type: $crate::Shared,)* {}
    };
}
