//! Memory that all threads share: whole pages, and places for single values in them. By itself a program has it of its own allocator.
use crate::error::Error;
use crate::library::{Library, Name, checked};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

/// What begins no later than pages do, whatever the machine's are.
const PAGE: usize = 4096;
/// Bytes of which places are taken at a time.
const CHUNK: usize = 4 * PAGE;
/// Places begin on lines of the processor's caches of their own, two at a time as these fetch them.
const APART: usize = 128;

/// Zeroed memory of its own pages.
#[derive(Clone, Copy)]
pub(crate) struct Pages {
    start: NonNull<u8>,
    bytes: usize,
}

impl Pages {
    pub(crate) fn take(bytes: usize) -> Result<Pages, Error> {
        let bytes = bytes.max(1);
        let memory = match checked()? {
            Some(library) => library.shared_alloc(bytes).cast(),
            None => own(bytes),
        };
        match NonNull::new(memory) {
            Some(start) => Ok(Pages { start, bytes }),
            None => Err(none(bytes)),
        }
    }
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }
    /// Gives the memory back.
    ///
    /// # Safety
    /// Nobody uses it any more, and it is given back once.
    pub(crate) unsafe fn give_back(self, library: Option<&Library>) {
        match (library, layout(self.bytes)) {
            (Some(library), _) => library.shared_free(self.start.as_ptr().cast(), self.bytes),
            // SAFETY: without the library it was taken with this layout, and the caller gives it back once.
            (None, Some(layout)) => unsafe { dealloc(self.start.as_ptr(), layout) },
            (None, None) => {}
        }
    }
    pub(crate) fn of(start: NonNull<u8>, bytes: usize) -> Pages {
        Pages { start, bytes: bytes.max(1) }
    }
}

fn none(bytes: usize) -> Error {
    Error::of(format!(
        "there is no shared memory of {bytes} bytes left: take less, or give `homenode svm run` a larger --heap"
    ))
}

fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes, PAGE).ok().map(|layout| layout.pad_to_align())
}

/// Memory of the program's allocator; null if there is none.
fn own(bytes: usize) -> *mut u8 {
    // SAFETY: the layout has at least one byte.
    layout(bytes).map_or(std::ptr::null_mut(), |layout| unsafe { alloc_zeroed(layout) })
}

/// Where a value lies that is never moved, dropped or given back. The address is the same on all nodes.
pub(crate) struct Place<T>(NonNull<T>);

// SAFETY: a place gives nothing but shared references to its value.
unsafe impl<T: Sync> Send for Place<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Place<T> {}

impl<T> Clone for Place<T> {
    fn clone(&self) -> Place<T> {
        *self
    }
}
impl<T> Copy for Place<T> {}

impl<T> fmt::Debug for Place<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:p}", self.0)
    }
}

impl<T> PartialEq for Place<T> {
    fn eq(&self, other: &Place<T>) -> bool {
        self.0 == other.0
    }
}
impl<T> Eq for Place<T> {}

impl<T: 'static> Place<T> {
    /// Puts a value in shared memory.
    pub(crate) fn of(value: T) -> Result<Place<T>, Error> {
        let layout = Layout::new::<T>();
        let place = room(layout.size(), layout.align())?.cast();
        // SAFETY: the room is as large and as aligned as the type wants, and nobody else's.
        unsafe { place.write(value) };
        Ok(Place(place))
    }
    /// The place of a value that is there already.
    ///
    /// # Safety
    /// It is shared memory, and stays there as long as the place is used.
    pub(crate) unsafe fn at(value: NonNull<T>) -> Place<T> {
        Place(value)
    }
    pub(crate) fn get(self) -> &'static T {
        // SAFETY: `of` put a value there, and neither the value nor the memory goes before the process does; or the caller of `at` has
        // promised that.
        unsafe { self.0.as_ref() }
    }
    /// The address, as a name.
    pub(crate) fn address(self) -> Name {
        self.0.as_ptr().cast_const().cast()
    }
}

/// What is left of the memory of which places were taken last.
struct Chunk {
    /// Node of which it is.
    node: u32,
    at: usize,
    end: usize,
    start: Option<NonNull<u8>>,
}

// SAFETY: the memory is nobody's until it is given out, which one thread at a time does.
unsafe impl Send for Chunk {}

/// Room for a value, nobody else's.
pub(crate) fn room(bytes: usize, align: usize) -> Result<NonNull<u8>, Error> {
    static CHUNK_LEFT: Mutex<Chunk> = Mutex::new(Chunk { node: 0, at: 0, end: 0, start: None });
    let bytes = bytes.max(1).checked_next_multiple_of(APART).ok_or_else(|| none(bytes))?;
    if align > PAGE {
        return Err(Error::of(format!(
            "a value that is aligned to {align} bytes cannot be shared: {PAGE} are the most"
        )));
    }
    if bytes >= CHUNK {
        return Ok(Pages::take(bytes)?.start());
    }
    // Nodes begin with what this variable holds on the first one, whose memory that is.
    let node = checked()?.map_or(0, Library::node);
    let mut left = CHUNK_LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    let at = left.at.next_multiple_of(align.max(APART));
    let (start, at) = match left.start {
        Some(start) if left.node == node && at + bytes <= left.end => (start, at),
        _ => (Pages::take(CHUNK)?.start(), 0),
    };
    *left = Chunk { node, at: at + bytes, end: CHUNK, start: Some(start) };
    // SAFETY: as much room is left in the chunk.
    Ok(unsafe { start.add(at) })
}
