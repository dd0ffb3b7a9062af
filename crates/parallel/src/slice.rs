//! Arrays in shared memory: of numbers, which all threads read and write, and of values that do not change.
use crate::error::Error;
use crate::library::library;
use crate::memory::{Pages, Place, room};
use crate::shared::{Plain, Shared};
use crate::word::{AtomicWord, Word};
use std::fmt;
use std::ops::{Deref, Range};
use std::ptr::NonNull;

/// An array of numbers in shared memory: a handle, which can be copied and means the same on all nodes.
///
/// [`get`](SharedSlice::get) and [`set`](SharedSlice::set) read and write an element whatever other threads do meanwhile; what they
/// see of what others wrote without synchronisation is not said. What was written before a barrier, a lock given back, or whatever else
/// synchronises, is seen after it.
///
/// ```
/// use homenode_parallel::{SharedSlice, run};
///
/// let squares = SharedSlice::zeroed(1000)?;
/// run(4, squares, |worker, squares: &SharedSlice<u64>| {
///     for i in worker.part(squares.len()) {
///         squares.set(i, (i * i) as u64);
///     }
///     worker.barrier();
///     assert_eq!(squares.get(999), 998_001);
/// })?;
/// assert_eq!(squares.get(31), 961);
/// # Ok::<(), homenode_parallel::Error>(())
/// ```
pub struct SharedSlice<T> {
    start: NonNull<T>,
    len: usize,
}

// SAFETY: elements are read and written as other threads may do it at the same time; views are the caller's to keep apart.
unsafe impl<T: Plain> Send for SharedSlice<T> {}
// SAFETY: as above.
unsafe impl<T: Plain> Sync for SharedSlice<T> {}
// SAFETY: it refers to shared memory alone, whose addresses are the same on all nodes.
unsafe impl<T: Plain> Shared for SharedSlice<T> {}

impl<T> Clone for SharedSlice<T> {
    fn clone(&self) -> SharedSlice<T> {
        *self
    }
}
impl<T> Copy for SharedSlice<T> {}

impl<T> fmt::Debug for SharedSlice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedSlice({} at {:p})", self.len, self.start)
    }
}

impl<T: Plain> SharedSlice<T> {
    /// So many zeros, in pages of their own.
    ///
    /// # Errors
    /// There is not so much memory.
    pub fn zeroed(len: usize) -> Result<SharedSlice<T>, Error> {
        let pages = Pages::take(bytes::<T>(len)?)?;
        Ok(SharedSlice { start: pages.start().cast(), len })
    }
    /// A copy of an array, in pages of its own.
    ///
    /// # Errors
    /// There is not so much memory.
    pub fn from_slice(values: &[T]) -> Result<SharedSlice<T>, Error> {
        let slice = SharedSlice::zeroed(values.len())?;
        slice.write(0, values);
        Ok(slice)
    }
    /// Number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// The element at an index.
    ///
    /// # Panics
    /// There is none.
    #[inline]
    pub fn get(&self, index: usize) -> T {
        // SAFETY: the element is one of the array, and is changed by `store_to` alone; whoever has a view has promised that nobody else
        // reads what he writes.
        unsafe { T::load_from(self.at(index).as_ptr()) }
    }
    /// Sets the element at an index.
    ///
    /// # Panics
    /// There is none.
    #[inline]
    pub fn set(&self, index: usize, value: T) {
        // SAFETY: as above.
        unsafe { T::store_to(self.at(index).as_ptr(), value) }
    }
    #[inline]
    fn at(&self, index: usize) -> NonNull<T> {
        assert!(index < self.len, "index {index} of a shared slice of {} elements", self.len);
        // SAFETY: the array has more elements than that.
        unsafe { self.start.add(index) }
    }
    /// Elements of this one, as a slice of their own.
    ///
    /// # Panics
    /// There are not so many.
    pub fn part(&self, range: Range<usize>) -> SharedSlice<T> {
        self.check(&range);
        // SAFETY: the range ends where the array does, or before.
        SharedSlice { start: unsafe { self.start.add(range.start) }, len: range.len() }
    }
    /// Copies elements from an index on.
    ///
    /// # Panics
    /// There are not so many.
    pub fn read(&self, from: usize, into: &mut [T]) {
        let part = self.part(from..from.saturating_add(into.len()));
        into.iter_mut().enumerate().for_each(|(at, value)| *value = part.get(at));
    }
    /// Sets elements from an index on.
    ///
    /// # Panics
    /// There are not so many.
    pub fn write(&self, from: usize, values: &[T]) {
        let part = self.part(from..from.saturating_add(values.len()));
        values.iter().enumerate().for_each(|(at, value)| part.set(at, *value));
    }
    fn check(&self, range: &Range<usize>) {
        let is_in = range.start <= range.end && range.end <= self.len;
        assert!(is_in, "{range:?} of a shared slice of {} elements", self.len);
    }
    /// Elements as an ordinary slice: faster than [`get`](SharedSlice::get), as compilers may do several at once.
    ///
    /// # Safety
    /// While the slice lives, no thread writes these elements.
    ///
    /// # Panics
    /// There are not so many.
    pub unsafe fn view(&self, range: Range<usize>) -> &[T] {
        self.check(&range);
        // SAFETY: the elements are of the array, zeros are values, and the caller promises that nobody writes them.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(range.start), range.len()) }
    }
    /// Elements as an ordinary slice that can be written.
    ///
    /// # Safety
    /// While the slice lives, no thread reads or writes these elements but through it.
    ///
    /// # Panics
    /// There are not so many.
    #[expect(clippy::mut_from_ref, reason = "the caller promises that there is no other reference")]
    pub unsafe fn view_mut(&self, range: Range<usize>) -> &mut [T] {
        self.check(&range);
        // SAFETY: the elements are of the array, zeros are values, and the caller promises that nobody else uses them.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(range.start), range.len()) }
    }
    /// Gives the memory back, to be taken again. Otherwise it is given back when the program ends.
    ///
    /// # Safety
    /// The handle is the one that [`zeroed`](SharedSlice::zeroed) or [`from_slice`](SharedSlice::from_slice) gave, or a copy of it, and
    /// no thread uses it, another copy, a part, a view or a word of it from now on.
    pub unsafe fn give_back(self) {
        let pages = Pages::of(self.start.cast(), self.len * size_of::<T>());
        // SAFETY: the caller's promise; these are the pages that `zeroed` took.
        unsafe { pages.give_back(library()) };
    }
}

impl<V: Word> SharedSlice<V> {
    /// The element at an index as a word that is changed at once, by all threads.
    ///
    /// # Panics
    /// There is none.
    pub fn word(&self, index: usize) -> AtomicWord<V> {
        // SAFETY: an element is one of these words, and is there until the slice is given back.
        AtomicWord::at(unsafe { Place::at(self.at(index).cast()) })
    }
}

fn bytes<T>(len: usize) -> Result<usize, Error> {
    let too_many = || Error::of(format!("{len} elements are more than there are addresses for"));
    len.checked_mul(size_of::<T>()).ok_or_else(too_many)
}

/// An array in shared memory that does not change: of handles, say. It is used as an ordinary slice.
///
/// ```
/// use homenode_parallel::{Lock, Table, run};
///
/// let counts = (0..8).map(|_| Lock::new(0)).collect::<Result<Vec<Lock<u32>>, _>>()?;
/// let counts = Table::new(&counts)?;
/// run(2, counts, |_, counts| counts.iter().for_each(|count| *count.lock() += 1))?;
/// assert!(counts.iter().all(|count| *count.lock() == 2));
/// # Ok::<(), homenode_parallel::Error>(())
/// ```
pub struct Table<T> {
    start: NonNull<T>,
    len: usize,
}

// SAFETY: nothing but shared references to the values is given.
unsafe impl<T: Sync> Send for Table<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Table<T> {}
// SAFETY: it refers to shared memory alone.
unsafe impl<T: Shared> Shared for Table<T> {}

impl<T> Clone for Table<T> {
    fn clone(&self) -> Table<T> {
        *self
    }
}
impl<T> Copy for Table<T> {}

impl<T: Shared> Table<T> {
    /// A copy of an array.
    ///
    /// # Errors
    /// There is not so much memory.
    pub fn new(values: &[T]) -> Result<Table<T>, Error> {
        let start = room(size_of_val(values), align_of::<T>())?.cast();
        // SAFETY: the room is as large and aligned as the values, and nobody else's.
        unsafe { start.copy_from_nonoverlapping(NonNull::from_ref(values).cast(), values.len()) };
        Ok(Table { start, len: values.len() })
    }
}

impl<T: Shared> Deref for Table<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `new` put the values there, where nobody changes them and which is never given back.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Shared + fmt::Debug> fmt::Debug for Table<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
