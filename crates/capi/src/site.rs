//! Who calls, as the launcher can look it up when all is over.
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::OnceLock;

/// An address of the program's own code as an address in its file; 0 for other code.
pub(crate) fn in_program(address: usize) -> u64 {
    static BIAS: OnceLock<usize> = OnceLock::new();
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr looks the number up among the objects that are loaded, and fills the structure in if it says that it has.
    let found = unsafe { libc::dladdr(std::ptr::without_provenance(address), info.as_mut_ptr()) } != 0;
    // SAFETY: all zero is a value of this structure of pointers, whether it was filled in or not.
    let object = unsafe { info.assume_init() }.dli_fbase.addr();
    let (begin, bias) = (program_begin(), *BIAS.get_or_init(program_bias));
    if found && object == begin { (address - bias) as u64 } else { 0 }
}

/// Where the program's file begins in memory.
fn program_begin() -> usize {
    static BEGIN: OnceLock<usize> = OnceLock::new();
    *BEGIN.get_or_init(|| {
        let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
        // SAFETY: as above; the program's headers lie in its own first segment.
        unsafe {
            libc::dladdr(std::ptr::without_provenance(libc::getauxval(libc::AT_PHDR) as usize), info.as_mut_ptr())
        };
        // SAFETY: as above.
        unsafe { info.assume_init() }.dli_fbase.addr()
    })
}

/// Difference of addresses in memory and in the program's file.
fn program_bias() -> usize {
    extern "C" fn first(info: *mut libc::dl_phdr_info, _: usize, bias: *mut c_void) -> c_int {
        // SAFETY: dl_iterate_phdr passes a structure that is valid during the call, and the pointer that it was given, to a number.
        unsafe { *bias.cast::<usize>() = (*info).dlpi_addr as usize };
        // The program comes first: no others are wanted.
        1
    }
    let mut bias = 0_usize;
    // SAFETY: `first` has the type that is wanted, and writes to `bias` during the call alone.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut bias).cast()) };
    bias
}
