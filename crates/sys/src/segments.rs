//! Writable data of the program itself, and where it and its libraries lie: what another process of the same program needs to go on
//! with this one's global variables.
use crate::fork;
use std::ffi::{CStr, c_int, c_void};
use std::io;
use std::ops::Range;

/// The program or one of its libraries, as the loader placed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Path as the loader has it; empty for the program.
    pub name: String,
    /// What is added to addresses of the file.
    pub base: u64,
    /// Addresses from the beginning of its first segment to the end of its last.
    pub addresses: Range<u64>,
    /// Build id of the file; empty if it has none.
    pub build: Vec<u8>,
}

/// The program and its libraries, and the program's own writable data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segments {
    modules: Vec<Module>,
    writable: Vec<Range<u64>>,
}

impl Segments {
    /// The modules and the writable data of this process.
    pub fn loaded() -> Segments {
        let mut found = Segments { modules: Vec::new(), writable: Vec::new() };
        // SAFETY: the function is called with the pointer given here, in this thread, before dl_iterate_phdr returns.
        unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut found).cast()) };
        found
    }
    /// The program, and then its libraries in the order in which they were loaded.
    pub fn modules(&self) -> &[Module] {
        &self.modules
    }
    /// Addresses of the program's writable segments, without what the loader protects once it has relocated it and without variables
    /// of libraries that the linker placed in the program; in order of addresses.
    pub fn writable(&self) -> &[Range<u64>] {
        &self.writable
    }
    /// Bytes of a writable range, given by its place in [`Segments::writable`].
    ///
    /// # Errors
    /// [`io::ErrorKind::ResourceBusy`] if this process has more than one thread, which might change them meanwhile.
    pub fn content(&self, at: usize) -> io::Result<Vec<u8>> {
        fork::alone()?;
        let range = &self.writable[at];
        let mut bytes = vec![0u8; (range.end - range.start) as usize];
        // SAFETY: the range lies in a writable segment of the program, which is mapped as long as the process lives; no other
        // thread changes it, and nothing of it is borrowed: the program's variables are reached by the program alone.
        unsafe { std::ptr::copy_nonoverlapping(pointer(range.start), bytes.as_mut_ptr(), bytes.len()) };
        Ok(bytes)
    }
    /// Puts other bytes at an address of a writable range. For a process whose `main` has not begun.
    ///
    /// # Errors
    /// [`io::ErrorKind::ResourceBusy`] as for [`Segments::content`]; [`io::ErrorKind::InvalidInput`] for bytes that lie outside.
    pub fn replace(&self, start: u64, bytes: &[u8]) -> io::Result<()> {
        fork::alone()?;
        let is_in =
            |range: &Range<u64>| range.start <= start && start <= range.end && bytes.len() as u64 <= range.end - start;
        if !self.writable.iter().any(is_in) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: as in `content`; what the program finds in its variables is data of the same program that another process wrote.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), pointer(start), bytes.len()) };
        Ok(())
    }
}

fn pointer(address: u64) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

/// Notes one module. Called by the loader.
// SAFETY: `Segments::loaded` alone gives it to dl_iterate_phdr, with a pointer to what it fills.
unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
    // SAFETY: dl_iterate_phdr passes a structure that is valid during the call, and the pointer of `Segments::loaded`.
    let (info, found) = unsafe { (&*info, &mut *found.cast::<Segments>()) };
    // SAFETY: the loader's name of a module is a text that ends with 0, and its program headers are in memory.
    let (name, headers) = unsafe {
        let name = if info.dlpi_name.is_null() { c"" } else { CStr::from_ptr(info.dlpi_name) };
        (name, std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()))
    };
    let loaded = Loaded { base: info.dlpi_addr, headers };
    if found.modules.is_empty() {
        found.writable = loaded.writable();
    }
    found.modules.push(Module {
        name: name.to_string_lossy().into_owned(),
        base: loaded.base,
        addresses: loaded.addresses(),
        build: loaded.build(),
    });
    0
}

/// A module while the loader shows it.
struct Loaded<'h> {
    base: u64,
    headers: &'h [libc::Elf64_Phdr],
}

impl Loaded<'_> {
    fn of_kind(&self, kind: u32) -> impl Iterator<Item = (&libc::Elf64_Phdr, Range<u64>)> {
        self.headers.iter().filter(move |h| h.p_type == kind).map(|h| {
            let start = self.base.wrapping_add(h.p_vaddr);
            (h, start..start.saturating_add(h.p_memsz))
        })
    }
    fn addresses(&self) -> Range<u64> {
        let (mut start, mut end) = (u64::MAX, 0);
        for (_, range) in self.of_kind(libc::PT_LOAD) {
            (start, end) = (start.min(range.start), end.max(range.end));
        }
        start.min(end)..end
    }
    /// Words of loaded memory; `None` outside of what may be read.
    fn words(&self, address: u64, count: u64) -> Option<&[u64]> {
        let end = address.checked_add(count.checked_mul(8)?)?;
        let is_in = |(header, range): (&libc::Elf64_Phdr, Range<u64>)| {
            header.p_flags & libc::PF_R != 0 && range.start <= address && end <= range.end
        };
        let is_loaded = address.is_multiple_of(8) && self.of_kind(libc::PT_LOAD).any(is_in);
        // SAFETY: the words lie in one readable segment, aligned; the loader's tables do not change once they are relocated.
        is_loaded.then(|| unsafe { std::slice::from_raw_parts(pointer(address).cast(), count as usize) })
    }

    fn build(&self) -> Vec<u8> {
        const BUILD_ID: u32 = 3;
        for (_, range) in self.of_kind(libc::PT_NOTE) {
            // Notes of other alignments are none of GNU's build ids.
            let Some(words) = self.words(range.start, (range.end - range.start) / 8) else { continue };
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
            let mut rest = &bytes[..];
            while let Some((head, body)) = rest.split_at_checked(12) {
                let number = |at: usize| u32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
                let [name, desc] = [number(0), number(4)].map(|n| (n as usize).next_multiple_of(4));
                let Some(content) = body.get(name..name + number(4) as usize) else { break };
                if number(8) == BUILD_ID && body.starts_with(b"GNU\0") {
                    return content.to_vec();
                }
                rest = body.get(name + desc..).unwrap_or_default();
            }
        }
        Vec::new()
    }

    /// See [`Segments::writable`].
    fn writable(&self) -> Vec<Range<u64>> {
        const PAGE: u64 = 4096;
        let is_writable = |h: &libc::Elf64_Phdr| h.p_flags & libc::PF_W != 0;
        let mut ranges: Vec<Range<u64>> =
            self.of_kind(libc::PT_LOAD).filter(|(h, _)| is_writable(h)).map(|(_, range)| range).collect();
        let protected = self.of_kind(libc::PT_GNU_RELRO).map(|(_, r)| r.start / PAGE * PAGE..r.end);
        for gap in protected.chain(self.copies()) {
            ranges = ranges.into_iter().flat_map(|range| without(range, &gap)).collect();
        }
        ranges.sort_by_key(|range| range.start);
        ranges
    }

    /// Variables of libraries that lie in the program: copy relocations.
    fn copies(&self) -> Vec<Range<u64>> {
        const RELA_WORDS: u64 = 3;
        const SYMBOL_WORDS: u64 = 3;
        const COPY: u64 = if cfg!(target_arch = "aarch64") { 1024 } else { 5 };
        let [relocations, bytes, symbols] = [7, 8, 6].map(|tag| self.dynamic(tag).unwrap_or(0));
        let (relocations, symbols) = (self.placed(relocations), self.placed(symbols));
        let count = bytes / (8 * RELA_WORDS);
        let table = self.words(relocations, count * RELA_WORDS).unwrap_or_default();
        let mut found = Vec::new();
        for entry in table.chunks_exact(RELA_WORDS as usize).filter(|entry| entry[1] & u64::from(u32::MAX) == COPY) {
            // A symbol is name, info and section in one word, value and size in the next two.
            let symbol = symbols.wrapping_add((entry[1] >> 32) * SYMBOL_WORDS * 8);
            if let Some([_, _, size]) = self.words(symbol, SYMBOL_WORDS) {
                let start = self.base.wrapping_add(entry[0]);
                found.push(start..start.saturating_add(*size));
            }
        }
        found
    }
    /// An address of the dynamic section, to which some loaders have added the base and others not.
    fn placed(&self, address: u64) -> u64 {
        if address < self.base { self.base + address } else { address }
    }
    fn dynamic(&self, tag: u64) -> Option<u64> {
        let (_, range) = self.of_kind(libc::PT_DYNAMIC).next()?;
        let words = self.words(range.start, (range.end - range.start) / 16 * 2)?;
        words.chunks_exact(2).find(|pair| pair[0] == tag).map(|pair| pair[1])
    }
}

/// What is left of a range without a gap.
fn without(range: Range<u64>, gap: &Range<u64>) -> impl Iterator<Item = Range<u64>> + use<> {
    let before = range.start..range.end.min(gap.start.max(range.start));
    let after = range.start.max(gap.end.min(range.end))..range.end;
    let (before, after) = if gap.start >= gap.end { (range, 0..0) } else { (before, after) };
    [before, after].into_iter().filter(|r| r.start < r.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    static GLOBAL: AtomicU64 = AtomicU64::new(41);

    #[test]
    fn gaps_leave_what_is_beside_them() {
        let left = |gap: Range<u64>| without(10..20, &gap).map(|r| (r.start, r.end)).collect::<Vec<_>>();
        assert_eq!(left(0..5), [(10, 20)]);
        assert_eq!(left(25..30), [(10, 20)]);
        assert_eq!(left(12..15), [(10, 12), (15, 20)]);
        assert_eq!(left(5..15), [(15, 20)]);
        assert_eq!(left(15..25), [(10, 15)]);
        assert_eq!(left(5..25), []);
        assert_eq!(left(15..15), [(10, 20)]);
    }

    #[test]
    fn the_program_is_found_with_its_variables_and_libraries() {
        let (found, global) = (Segments::loaded(), (&raw const GLOBAL).addr() as u64);
        assert_eq!(found, Segments::loaded());
        let holds = |ranges: &[Range<u64>], address| ranges.iter().filter(|r| r.contains(&address)).count();
        assert_eq!(holds(found.writable(), global), 1);
        assert!(found.writable().windows(2).all(|w| w[0].end <= w[1].start));
        let program = &found.modules()[0];
        assert!(program.name.is_empty() && program.addresses.contains(&global));
        assert!(program.addresses.contains(&((Segments::loaded as fn() -> Segments) as usize as u64)));
        assert!(found.modules().iter().any(|m| m.name.contains("libc")), "{found:?}");
        // Tables of the loader are protected after it has done its work.
        let protected = &raw const *c"x";
        assert_eq!(holds(found.writable(), protected.cast::<u8>().addr() as u64), 0);
        GLOBAL.fetch_add(1, Ordering::SeqCst);
    }

    #[test]
    fn a_process_with_threads_gives_nothing() {
        let (tell, wait) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || wait.recv());
        let found = Segments::loaded();
        assert_eq!(found.content(0).expect_err("threads").kind(), io::ErrorKind::ResourceBusy);
        assert_eq!(
            found.replace(found.writable()[0].start, &[]).expect_err("threads").kind(),
            io::ErrorKind::ResourceBusy
        );
        drop(tell);
        assert!(other.join().expect("it ended").is_err());
    }
}
