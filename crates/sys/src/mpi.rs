//! The ranks of an MPI, by a library that the MPI's own compiler made of `crates/svmrun/src/mpi/ranks.c`: MPIs differ in their
//! constants and types, and only their compilers know them.
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

type Begin = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
type Gather = unsafe extern "C" fn(*const c_void, *mut c_void, c_int) -> c_int;
type Broadcast = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;
type End = unsafe extern "C" fn() -> c_int;

/// Whether the process has joined its ranks: MPI is begun once in a process's life.
static HAS_BEGUN: AtomicBool = AtomicBool::new(false);

/// This process among the ranks of an MPI. One that ends without [`Ranks::end`] takes the others with it: the mpirun ends them.
#[derive(Debug)]
pub struct Ranks {
    gather: Gather,
    broadcast: Broadcast,
    end: End,
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
        // SAFETY: the functions of the library have these types, and it is never unloaded.
        let (begin, gather, broadcast, end) = unsafe {
            (
                std::mem::transmute::<*mut c_void, Begin>(function(library, c"homenode_mpi_begin")?),
                std::mem::transmute::<*mut c_void, Gather>(function(library, c"homenode_mpi_gather")?),
                std::mem::transmute::<*mut c_void, Broadcast>(function(library, c"homenode_mpi_broadcast")?),
                std::mem::transmute::<*mut c_void, End>(function(library, c"homenode_mpi_end")?),
            )
        };
        let (mut rank, mut size) = (0, 0);
        // SAFETY: both are valid for the call, and nobody else calls MPI: this function runs once.
        let done = unsafe { begin(&raw mut rank, &raw mut size) };
        check("MPI_Init_thread", done)?;
        let number = |n: c_int| usize::try_from(n).map_err(|_| io::Error::from(io::ErrorKind::InvalidData));
        Ok(Ranks { gather, broadcast, end, rank: number(rank)?, size: number(size)? })
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
        let done = unsafe { (self.gather)(mine.as_ptr().cast(), all.as_mut_ptr().cast(), bytes) };
        check("MPI_Allgather", done).map(|()| all)
    }
    /// Puts the bytes of rank 0 into those of all; all call this, with as many.
    ///
    /// # Errors
    /// MPI refuses.
    pub fn broadcast(&mut self, data: &mut [u8]) -> io::Result<()> {
        let bytes = length(data.len())?;
        // SAFETY: there are so many bytes; no two threads call MPI, as above.
        check("MPI_Bcast", unsafe { (self.broadcast)(data.as_mut_ptr().cast(), bytes) })
    }
    /// Leaves the other ranks; waits until all do.
    ///
    /// # Errors
    /// MPI refuses.
    pub fn end(self) -> io::Result<()> {
        // SAFETY: nobody calls MPI afterwards, for the value is gone.
        check("MPI_Finalize", unsafe { (self.end)() })
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
