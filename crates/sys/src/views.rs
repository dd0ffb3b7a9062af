//! A heap mapped twice: the application's view, at a fixed address, whose accesses are trapped page by page until they are
//! allowed; and the protocol's view of the same pages, where everything can always be read and written.
//!
//! Two mechanisms trap: userfaultfd, with which the application's view is one mapping whatever is allowed where, and
//! mprotect(2), which works everywhere but splits the mapping wherever neighbouring pages differ, up to the kernel's limit
//! on mappings (`vm.max_map_count`, 65,530 if nobody changed it). A trapped access gives SIGBUS with the one and SIGSEGV
//! with the other; [`crate::trap`] handles both. The kernel's own accesses are not trapped: a system call that is handed
//! memory which is not allowed fails with EFAULT, and whoever called it touches the memory and calls again.
use crate::userfault::{Userfault, unmap};
use crate::words::Words;
use crate::{check, fork};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How accesses are trapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traps {
    /// With userfaultfd (Linux 6.4 and later, memory files): SIGBUS.
    Userfaultfd,
    /// With mprotect(2): SIGSEGV.
    Mprotect,
}

/// What the application may do with a page without being trapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Allowed {
    /// No access.
    Nothing = 0,
    /// Loads.
    Reading = 1,
    /// Loads and stores.
    Writing = 2,
}

/// Both views of a heap, unmapped when this value is dropped.
#[derive(Debug)]
pub struct Views {
    /// Key in [`MAPPED`].
    id: u64,
    address: usize,
    page_bytes: usize,
    protocol: Words,
    kernel: Kernel,
    /// The process that mapped it, see [`fork::generation`].
    generation: u32,
}

#[derive(Debug)]
enum Kernel {
    Userfault {
        userfault: Userfault,
        /// What was last allowed, a byte a page. A guess that tells which request is likely to do: the kernel may take
        /// pages out that have been allowed (swap), and two threads may allow the same page.
        last: Words,
    },
    Mprotect,
}

/// An application's view that exists in this process.
#[derive(Debug)]
struct Mapped {
    id: u64,
    range: Range<usize>,
    generation: u32,
}

/// Every application's view of this process. Those of an earlier generation came through fork(2), and give way to new ones.
static MAPPED: Mutex<Vec<Mapped>> = Mutex::new(Vec::new());

fn mapped() -> MutexGuard<'static, Vec<Mapped>> {
    MAPPED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Views {
    /// Maps the first `bytes` of `file` at `address` for the application, where nothing is allowed at first, and once more
    /// for the protocol. Both numbers are multiples of `page_bytes`, which is a multiple of the system's page size. Memory
    /// is taken page by page when they are first accessed.
    ///
    /// An application's view that this process inherited through fork(2) is replaced where the new one overlaps it: the
    /// child gives its own file. The inherited value then refuses to allow anything.
    ///
    /// `wanted` demands a kind of traps; without it, it is userfaultfd where that works.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] for numbers that are no such multiples, [`io::ErrorKind::InvalidData`] if the file
    /// is shorter, [`io::ErrorKind::AddrInUse`] if something is mapped in the range, [`io::ErrorKind::Unsupported`] if the
    /// traps that are wanted do not work here, else what mmap(2) says.
    pub fn map(file: &File, address: usize, bytes: u64, page_bytes: usize, wanted: Option<Traps>) -> io::Result<Views> {
        let range = checked_range(address, bytes, page_bytes)?;
        fork::count_generations()?;
        // First, since it checks that the file is long enough.
        let protocol = Words::of_file(file, 0, range.len() / 8)?;
        let application = Application::map(file, range.clone())?;
        let kernel = match wanted {
            Some(Traps::Mprotect) => Kernel::Mprotect,
            Some(Traps::Userfaultfd) => Kernel::userfault(&range, page_bytes)?,
            None => Kernel::userfault(&range, page_bytes).unwrap_or(Kernel::Mprotect),
        };
        if matches!(kernel, Kernel::Userfault { .. }) {
            protect(&range, libc::PROT_READ | libc::PROT_WRITE)?;
        }
        let (id, generation) = application.keep();
        Ok(Views { id, address, page_bytes, protocol, kernel, generation })
    }

    /// How accesses are trapped.
    pub fn traps(&self) -> Traps {
        match self.kernel {
            Kernel::Userfault { .. } => Traps::Userfaultfd,
            Kernel::Mprotect => Traps::Mprotect,
        }
    }
    /// Where the application's view begins.
    pub fn address(&self) -> usize {
        self.address
    }
    /// Bytes of each view.
    pub fn bytes(&self) -> u64 {
        self.protocol.len() as u64 * 8
    }
    /// The protocol's view.
    pub fn words(&self) -> &[AtomicU64] {
        &self.protocol
    }
    /// Bytes of a page.
    pub fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    /// Allows the application this, and no more, on these pages, whatever was allowed on each of them before. Content
    /// stays. May be called in signal handlers: it takes no lock and no memory of this program. Several threads may call it
    /// for different pages at a time; for one page at a time the last to be done counts.
    ///
    /// An access that is allowed may still be trapped, when the kernel has taken the page out (swap): the same is then to be
    /// allowed again, also twice. With userfaultfd, pages that may be read take memory, also where the file had none.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] for pages outside the heap, [`io::ErrorKind::PermissionDenied`] in a process that
    /// inherited this value through fork(2), else what the kernel says; [`Views::why`] says what it means.
    pub fn allow(&self, first_page: u32, pages: u32, what: Allowed) -> io::Result<()> {
        self.check(first_page, pages)?;
        let (first, pages) = (first_page as usize, pages as usize);
        if pages == 0 {
            return Ok(());
        }
        match (&self.kernel, what) {
            (Kernel::Mprotect, what) => {
                let protection = match what {
                    Allowed::Nothing => libc::PROT_NONE,
                    Allowed::Reading => libc::PROT_READ,
                    Allowed::Writing => libc::PROT_READ | libc::PROT_WRITE,
                };
                protect(&self.range(first..first + pages), protection)
            }
            (Kernel::Userfault { last, .. }, Allowed::Nothing) => {
                unmap(&self.range(first..first + pages))?;
                note(&of_pages(last)[first..first + pages], what);
                Ok(())
            }
            (Kernel::Userfault { userfault, last }, what) => {
                self.allow_runs(userfault, of_pages(last), first..first + pages, what)
            }
        }
    }

    /// Allows nothing on any of these pages, as [`Views::allow`] does, but with userfaultfd at less cost for
    /// pages that are scattered. Neighbours in the list that are neighbours in the heap are one range. May be called in
    /// signal handlers.
    ///
    /// # Errors
    /// As [`Views::allow`]; some pages may have been done.
    pub fn forbid(&self, pages: &[u32]) -> io::Result<()> {
        for page in pages {
            self.check(*page, 1)?;
        }
        let mut runs = pages.chunk_by(|a, b| a.checked_add(1) == Some(*b)).map(|run| {
            let first = run[0] as usize;
            first..first + run.len()
        });
        match &self.kernel {
            Kernel::Mprotect => runs.try_for_each(|run| protect(&self.range(run), libc::PROT_NONE)),
            Kernel::Userfault { userfault, last } => {
                userfault.unmap_all(runs.map(|run| self.range(run)))?;
                for page in pages {
                    note(&of_pages(last)[*page as usize..][..1], Allowed::Nothing);
                }
                Ok(())
            }
        }
    }

    /// Gives up, in a child that inherited this value through fork(2), what it reaches of the parent's memory beside the application's
    /// view, which another value is to replace: the protocol's view is memory of the child alone from then on.
    ///
    /// # Errors
    /// [`io::ErrorKind::PermissionDenied`] in the process that mapped it, else what the system says.
    pub fn detach(&self) -> io::Result<()> {
        if self.generation == fork::generation() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        if let Kernel::Userfault { userfault, .. } = &self.kernel {
            userfault.give_up()?;
        }
        self.protocol.detach()
    }

    /// Whether this process may allow something on these pages.
    fn check(&self, first_page: u32, pages: u32) -> io::Result<()> {
        let heap_pages = self.protocol.len() * 8 / self.page_bytes;
        if (first_page as usize).checked_add(pages as usize).is_none_or(|end| end > heap_pages) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        if self.generation != fork::generation() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(())
    }

    /// As [`Views::allow`] for reading or writing: one request for each run of pages on which the same was allowed last.
    fn allow_runs(
        &self,
        userfault: &Userfault,
        last: &[AtomicU8],
        pages: Range<usize>,
        what: Allowed,
    ) -> io::Result<()> {
        let read_only = what == Allowed::Reading;
        let mut from = pages.start;
        while from < pages.end {
            let had = last[from].load(Ordering::Relaxed);
            let same = last[from..pages.end].iter().take_while(|l| l.load(Ordering::Relaxed) == had).count();
            let run = from..from + same;
            if had == Allowed::Nothing as u8 || had == what as u8 {
                // Where the same was allowed already, the kernel has taken the page out, or the guess is wrong.
                userfault.map(self.range(run.clone()), read_only, |missing| self.fill(&missing))?;
            } else {
                userfault.protect(&self.range(run.clone()), read_only)?;
            }
            note(&last[run.clone()], what);
            from = run.end;
        }
        Ok(())
    }

    /// Makes the pages exist in the file that lie at these addresses of the application's view.
    fn fill(&self, application: &Range<usize>) -> io::Result<()> {
        let start = self.protocol.as_ptr() as usize + (application.start - self.address);
        // SAFETY: the range lies inside the protocol's view, whose pages are read by the kernel as if by a load.
        let filled = unsafe { libc::madvise(start as *mut libc::c_void, application.len(), libc::MADV_POPULATE_READ) };
        check(filled).map(drop)
    }

    fn range(&self, pages: Range<usize>) -> Range<usize> {
        self.address + pages.start * self.page_bytes..self.address + pages.end * self.page_bytes
    }

    /// What an error of [`Views::allow`] means, where the system's own words do not tell. Takes no memory.
    pub fn why(&self, error: &io::Error) -> Option<&'static str> {
        match (self.traps(), error.raw_os_error(), error.kind()) {
            (Traps::Mprotect, Some(libc::ENOMEM), _) => Some(
                "mprotect splits a mapping wherever neighbouring pages differ in what is allowed, and the kernel's limit \
                 on the mappings of a process is reached; raise it (sysctl vm.max_map_count) or trap with userfaultfd",
            ),
            (Traps::Userfaultfd, Some(libc::ENOMEM), _) => Some("no memory is left for pages or for page tables"),
            (_, _, io::ErrorKind::InvalidInput) => Some("no such pages in this heap"),
            (_, _, io::ErrorKind::PermissionDenied) => Some("this heap was mapped by the parent of this process"),
            _ => None,
        }
    }

    /// Whether [`Views::map`] could map whole pages of the system there at the moment, except that an inherited view counts
    /// as in the way.
    pub fn address_free(address: usize, bytes: u64) -> bool {
        let Ok(range) = checked_range(address, bytes, system_page_bytes()) else { return false };
        match map_fixed(&range, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, -1) {
            Ok(()) => {
                // SAFETY: `map_fixed` has just made this mapping, and nobody else knows of it.
                unsafe { libc::munmap(range.start as *mut libc::c_void, range.len()) };
                true
            }
            Err(_) => false,
        }
    }
}

impl Kernel {
    fn userfault(range: &Range<usize>, page_bytes: usize) -> io::Result<Kernel> {
        let last = Words::zeroed((range.len() / page_bytes).div_ceil(8))?;
        Ok(Kernel::Userfault { userfault: Userfault::trap(range.clone(), system_page_bytes())?, last })
    }
}

fn of_pages(last: &Words) -> &[AtomicU8] {
    // SAFETY: bytes need no alignment, every bit pattern is valid, and these words are accessed as bytes only.
    unsafe { std::slice::from_raw_parts(last.as_ptr().cast::<AtomicU8>(), last.len() * 8) }
}

fn note(last: &[AtomicU8], what: Allowed) {
    for page in last {
        // Memory that has never been stored to takes none: do not store what it holds.
        if page.load(Ordering::Relaxed) != what as u8 {
            page.store(what as u8, Ordering::Relaxed);
        }
    }
}

impl Drop for Views {
    fn drop(&mut self) {
        let mut mapped = mapped();
        // It is not there if another has replaced it after fork(2).
        if let Some(i) = mapped.iter().position(|m| m.id == self.id) {
            let range = mapped.swap_remove(i).range;
            // SAFETY: the mapping is this value's, as the list says; nothing of Rust refers to it.
            unsafe { libc::munmap(range.start as *mut libc::c_void, range.len()) };
        }
    }
}

/// The application's view while it is being made: unmapped unless kept.
struct Application {
    range: Range<usize>,
    list: MutexGuard<'static, Vec<Mapped>>,
    kept: bool,
}

impl Application {
    /// Maps it without any access allowed, in place of what was inherited.
    fn map(file: &File, range: Range<usize>) -> io::Result<Application> {
        use std::os::fd::AsRawFd;
        let (mut list, generation) = (mapped(), fork::generation());
        list.retain(|old| {
            let overlaps = old.range.start < range.end && range.start < old.range.end;
            let goes = overlaps && old.generation != generation;
            if goes {
                // SAFETY: an inherited view, as the list says, which nothing of Rust refers to and whose value knows that
                // it belongs to another process.
                unsafe { libc::munmap(old.range.start as *mut libc::c_void, old.range.len()) };
            }
            !goes
        });
        map_fixed(&range, libc::MAP_SHARED | libc::MAP_NORESERVE, file.as_raw_fd())?;
        Ok(Application { range, list, kept: false })
    }

    /// Key in the list, and generation, of the view that now stays.
    fn keep(mut self) -> (u64, u32) {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let (id, generation) = (NEXT.fetch_add(1, Ordering::Relaxed), fork::generation());
        self.list.push(Mapped { id, range: self.range.clone(), generation });
        self.kept = true;
        (id, generation)
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        if !self.kept {
            // SAFETY: `map` made this mapping, and nobody else knows of it.
            unsafe { libc::munmap(self.range.start as *mut libc::c_void, self.range.len()) };
        }
    }
}

/// Maps the beginning of a file, or nothing (-1), without any access allowed, where nothing is mapped.
fn map_fixed(range: &Range<usize>, flags: libc::c_int, file: libc::c_int) -> io::Result<()> {
    let taken = || {
        let why = format!("something is mapped already between {:#x} and {:#x}", range.start, range.end);
        io::Error::new(io::ErrorKind::AddrInUse, why)
    };
    let (at, flags) = (range.start as *mut libc::c_void, flags | libc::MAP_FIXED_NOREPLACE);
    // SAFETY: nothing that exists is replaced; a kernel that does not know the flag takes the address as a wish.
    let found = unsafe { libc::mmap(at, range.len(), libc::PROT_NONE, flags, file, 0) };
    if found == libc::MAP_FAILED {
        let error = io::Error::last_os_error();
        return Err(if error.raw_os_error() == Some(libc::EEXIST) { taken() } else { error });
    }
    if found != at {
        // SAFETY: the kernel has just made this mapping, and nobody else knows of it.
        unsafe { libc::munmap(found, range.len()) };
        return Err(taken());
    }
    Ok(())
}

fn protect(range: &Range<usize>, protection: libc::c_int) -> io::Result<()> {
    // SAFETY: callers pass ranges of the application's view only, to which nothing of Rust refers.
    check(unsafe { libc::mprotect(range.start as *mut libc::c_void, range.len(), protection) }).map(drop)
}

fn system_page_bytes() -> usize {
    // SAFETY: sysconf takes a plain number.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).ok().filter(|&b| b > 0).unwrap_or(4096)
}

/// The range of addresses, if it is one: of whole pages, not empty, not beyond the end of the address space.
fn checked_range(address: usize, bytes: u64, page_bytes: usize) -> io::Result<Range<usize>> {
    let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
    let system = system_page_bytes();
    if page_bytes == 0 || !page_bytes.is_multiple_of(system) {
        return Err(invalid(format!("pages of {page_bytes} bytes, where the system's have {system}")));
    }
    let length = usize::try_from(bytes).ok().filter(|&b| b > 0 && b.is_multiple_of(page_bytes));
    match length {
        Some(length) if address > 0 && address.is_multiple_of(page_bytes) => {
            let end = address.checked_add(length).filter(|&end| end <= isize::MAX as usize);
            let beyond = || invalid(format!("{bytes} bytes at {address:#x} do not fit into the address space"));
            Ok(address..end.ok_or_else(beyond)?)
        }
        _ => {
            Err(invalid(format!("{bytes} bytes at {address:#x} are not one or more whole pages of {page_bytes} bytes")))
        }
    }
}
