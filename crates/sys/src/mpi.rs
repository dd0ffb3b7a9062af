//! The ranks of an MPI, by a library that the MPI's own compiler made of `crates/svmrun/src/mpi/ranks.c`: MPIs differ in their
//! constants and types, and only their compilers know them.
use crate::words::Words;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Declares the functions of the library, with their types, and how they are found.
macro_rules! functions {
    ($($field:ident = $name:literal: fn($($argument:ty),*);)+) => {
        /// Functions of the library. Each returns 0 if all went well.
        #[derive(Clone, Copy, Debug)]
        struct Functions {
            // SAFETY: who calls one says why its arguments are what the library expects.
            $($field: unsafe extern "C" fn($($argument),*) -> c_int,)+
        }

        impl Functions {
            fn of(library: NonNull<c_void>) -> io::Result<Functions> {
                Ok(Functions {$(
                    // SAFETY: the function of this name has this type, and the library is never unloaded.
                    $field: unsafe {
                        std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> c_int>(function(library, $name)?)
                    },
                )+})
            }
        }
    };
}

functions! {
    begin = c"homenode_mpi_begin": fn(*mut c_int, *mut c_int);
    gather = c"homenode_mpi_gather": fn(*const c_void, *mut c_void, c_int);
    broadcast = c"homenode_mpi_broadcast": fn(*mut c_void, c_int);
    is_one_sided = c"homenode_mpi_is_one_sided": fn(c_int, *mut c_int);
    expose = c"homenode_mpi_expose": fn(*mut c_void, u64);
    hide = c"homenode_mpi_hide": fn();
    get = c"homenode_mpi_get": fn(c_int, u64, *mut c_void, c_int);
    put = c"homenode_mpi_put": fn(c_int, u64, *const c_void, c_int);
    flush = c"homenode_mpi_flush": fn(c_int);
    go_on = c"homenode_mpi_go_on": fn();
    end = c"homenode_mpi_end": fn();
}

/// Whether the process has joined its ranks: MPI is begun once in a process's life.
static HAS_BEGUN: AtomicBool = AtomicBool::new(false);

/// This process among the ranks of an MPI. One that ends without [`Ranks::end`] takes the others with it: the mpirun ends them.
#[derive(Debug)]
pub struct Ranks {
    functions: Functions,
    rank: usize,
    size: usize,
}

impl Ranks {
    /// Loads the library and joins the other ranks; waits until all have come. The library is the caller's to vouch for: a file that nobody but
    /// this user can change, made of the source that is named above.
    ///
    /// # Errors
    /// What the loader says, or that MPI refuses; MPI itself may print why and end the process.
    pub fn join(library: &Path) -> io::Result<Ranks> {
        let path = CString::new(library.as_os_str().as_bytes())?;
        if HAS_BEGUN.swap(true, Ordering::SeqCst) {
            return Err(io::Error::other("this process has joined its ranks already"));
        }
        // SAFETY: the path is a string. What runs when the library is loaded is the MPI's, which the user's own compiler chose. Parts that
        // the MPI loads later find the MPI's own functions, for these are global.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        let library = NonNull::new(library).ok_or_else(loader_error)?;
        let functions = Functions::of(library)?;
        let (mut rank, mut size) = (0, 0);
        // SAFETY: both are valid for the call, and nobody else calls MPI: this function runs once.
        let done = unsafe { (functions.begin)(&raw mut rank, &raw mut size) };
        check("MPI_Init_thread", done)?;
        let number = |n: c_int| usize::try_from(n).map_err(|_| io::Error::from(io::ErrorKind::InvalidData));
        Ok(Ranks { functions, rank: number(rank)?, size: number(size)? })
    }
    /// The number of this rank.
    pub fn rank(&self) -> usize {
        self.rank
    }
    /// Ranks.
    pub fn size(&self) -> usize {
        self.size
    }
    /// What all ranks give, by rank; all call this.
    ///
    /// # Errors
    /// MPI refuses.
    pub fn gather<const N: usize>(&mut self, mine: &[u8; N]) -> io::Result<Vec<[u8; N]>> {
        let (mut all, bytes) = (vec![[0; N]; self.size], length(N)?);
        // SAFETY: `mine` has so many bytes and `all` as many for each rank. `self` is borrowed for this call alone, so no two threads call MPI.
        let done = unsafe { (self.functions.gather)(mine.as_ptr().cast(), all.as_mut_ptr().cast(), bytes) };
        check("MPI_Allgather", done).map(|()| all)
    }
    /// Puts the bytes of rank 0 into those of all; all call this, with as many.
    ///
    /// # Errors
    /// MPI refuses.
    pub fn broadcast(&mut self, data: &mut [u8]) -> io::Result<()> {
        let bytes = length(data.len())?;
        // SAFETY: there are so many bytes; no two threads call MPI, as above.
        check("MPI_Bcast", unsafe { (self.functions.broadcast)(data.as_mut_ptr().cast(), bytes) })
    }
    /// Whether all ranks can read and write memory of each other while its owner does not call MPI, which does not for so long at a time; all call
    /// this, and have the same answer.
    ///
    /// # Errors
    /// MPI refuses.
    pub fn are_one_sided(&mut self, most: Duration) -> io::Result<bool> {
        let (mut found, milliseconds) = (0, c_int::try_from(most.as_millis()).unwrap_or(c_int::MAX));
        // SAFETY: `found` is valid for the call; no two threads call MPI, as above.
        check("MPI_Win_create", unsafe { (self.functions.is_one_sided)(milliseconds, &raw mut found) })?;
        Ok(found != 0)
    }
    /// Lets all ranks read and write memory of this one; all call this, with as many words.
    ///
    /// # Errors
    /// MPI refuses.
    pub fn expose(self, memory: Words) -> io::Result<Exposed> {
        let (start, bytes) = (memory.as_ptr().cast_mut().cast(), size_of_val::<[AtomicU64]>(&memory) as u64);
        // SAFETY: the memory is mapped for writing, and stays so until it is taken back: the value owns it, and drops it only after that or
        // never. That words change at any time is what who looks at them expects. No two threads call MPI, as above.
        check("MPI_Win_create", unsafe { (self.functions.expose)(start, bytes) })?;
        Ok(Exposed { ranks: self, memory: ManuallyDrop::new(memory) })
    }
    /// Leaves the other ranks; waits until all do.
    ///
    /// # Errors
    /// MPI refuses.
    pub fn end(self) -> io::Result<()> {
        // SAFETY: nobody calls MPI afterwards, for the value is gone.
        check("MPI_Finalize", unsafe { (self.functions.end)() })
    }
}

/// Memory of this rank that others read and write, and the way to theirs.
#[derive(Debug)]
pub struct Exposed {
    ranks: Ranks,
    /// Mapped until it is taken back, as other ranks may write to it.
    memory: ManuallyDrop<Words>,
}

impl Exposed {
    /// Reads words of a rank's memory.
    ///
    /// # Errors
    /// They do not exist; MPI refuses.
    pub fn get(&mut self, rank: usize, word: usize, into: &[AtomicU64]) -> io::Result<()> {
        let (who, at) = self.place(rank, word, into.len())?;
        let bytes = length(size_of_val(into))?;
        // SAFETY: `into` is writable memory of so many bytes, for words that are atomic may change at any time, and it lives to the end of the flush.
        // No two threads call MPI, as this borrows the only value for that.
        let done = unsafe { (self.ranks.functions.get)(who, at, into.as_ptr().cast_mut().cast(), bytes) };
        check("MPI_Get", done)?;
        self.flush(rank)
    }
    /// Writes `bytes` of the words `from`, the first of which is `word` there, to a rank's memory, and is done when it ends.
    ///
    /// # Errors
    /// They do not exist; MPI refuses.
    pub fn put(
        &mut self,
        rank: usize,
        word: usize,
        from: &[AtomicU64],
        bytes: impl Iterator<Item = Range<usize>>,
    ) -> io::Result<()> {
        let (who, at) = self.place(rank, word, from.len())?;
        let size = size_of_val(from);
        let mut begun = Ok(());
        for Range { start, end } in bytes {
            if start > end || end > size {
                begun = Err(io::ErrorKind::InvalidInput.into());
                break;
            }
            let count = length(end - start)?;
            // SAFETY: the bytes lie in `from`, which lives to the end of the flush. No two threads call MPI, as above.
            let done = unsafe {
                (self.ranks.functions.put)(who, at + start as u64, from.as_ptr().byte_add(start).cast(), count)
            };
            begun = check("MPI_Put", done);
            if begun.is_err() {
                break;
            }
        }
        self.flush(rank).and(begun)
    }
    /// Goes on with what others want of this rank.
    ///
    /// # Errors
    /// MPI refuses.
    pub fn go_on(&mut self) -> io::Result<()> {
        // SAFETY: no two threads call MPI, as above.
        check("MPI_Iprobe", unsafe { (self.ranks.functions.go_on)() })
    }
    /// Takes the memory back; waits until all do.
    ///
    /// # Errors
    /// MPI refuses; then the memory stays mapped.
    pub fn hide(self) -> io::Result<Ranks> {
        // SAFETY: no two threads call MPI, as above.
        check("MPI_Win_free", unsafe { (self.ranks.functions.hide)() })?;
        // Nobody reaches it any more.
        drop(ManuallyDrop::into_inner(self.memory));
        Ok(self.ranks)
    }

    fn flush(&mut self, rank: usize) -> io::Result<()> {
        let (who, _) = self.place(rank, 0, 0)?;
        // SAFETY: no two threads call MPI, as above.
        check("MPI_Win_flush", unsafe { (self.ranks.functions.flush)(who) })
    }
    /// Rank, and offset in bytes, of words that exist: all ranks have as many.
    fn place(&self, rank: usize, word: usize, count: usize) -> io::Result<(c_int, u64)> {
        if rank >= self.ranks.size || word.checked_add(count).is_none_or(|end| end > self.memory.len()) {
            let why = format!("rank {rank} has no {count} words from {word} on");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        Ok((rank as c_int, 8 * word as u64))
    }
}

fn length(bytes: usize) -> io::Result<c_int> {
    c_int::try_from(bytes).map_err(|_| io::ErrorKind::InvalidInput.into())
}

fn check(what: &str, done: c_int) -> io::Result<()> {
    if done == 0 { Ok(()) } else { Err(io::Error::other(format!("{what} failed"))) }
}

/// The address of a function of a library.
fn function(library: NonNull<c_void>, name: &CStr) -> io::Result<*mut c_void> {
    // SAFETY: the library is loaded, and the name is a string.
    let found = unsafe { libc::dlsym(library.as_ptr(), name.as_ptr()) };
    if found.is_null() { Err(loader_error()) } else { Ok(found) }
}

/// What the loader says of its last error, in one line.
fn loader_error() -> io::Error {
    // SAFETY: dlerror gives null or a string that lives until the thread's next call of the loader.
    let text = unsafe {
        let text: *const c_char = libc::dlerror();
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    };
    io::Error::other(text.unwrap_or_else(|| "the loader does not say why".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_such_library_is_an_error_and_a_process_joins_once() {
        let why = Ranks::join(Path::new("/no/such/library.so")).expect_err("there is none").to_string();
        assert!(why.contains("/no/such/library.so"), "{why}");
        assert!(Ranks::join(Path::new("a\0b")).is_err());
        let why = Ranks::join(Path::new("/no/such/library.so")).expect_err("once").to_string();
        assert!(why.contains("already"), "{why}");
    }
}
