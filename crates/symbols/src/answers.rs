//! What is known of one executable or library.
use addr2line::gimli::{EndianSlice, RunTimeEndian};
use homenode_trace::symbols::{Element, Returned};
use homenode_trace::types::Type;
use std::collections::BTreeMap;

/// Debugging information in a file's own byte order.
pub(crate) type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

/// Largest file that is read for its symbols.
pub(crate) const BYTES_MAX: u64 = 4 << 30;

/// Where an address is, as far as known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Function, demangled; empty if unknown.
    pub function: String,
    /// Source file; empty if unknown.
    pub file: String,
    /// Line, from 1; 0 if unknown.
    pub line: u32,
}

/// A global variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Global {
    /// Name, demangled.
    pub name: String,
    /// Address in the file; for thread-local ones the offset in the thread's block.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
    /// Whether each thread has its own.
    pub thread_local: bool,
    /// Index of the variable's type, if known.
    pub of: Option<u32>,
}

/// What is known of a call that obtained memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Obtained {
    /// Where the function of the address (which is inlined and returns a pointer) is called, and so on outward.
    pub callers: Vec<Place>,
    /// Whether the function around all of them returns what the call at the address returned.
    pub returned: Returned,
}

/// What one file says.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// One place per address asked for, in the same order.
    pub places: Vec<Place>,
    /// For those of them that are in library code which was not inlined: where the program calls it.
    pub calls: BTreeMap<u64, Vec<Place>>,
    /// For those addresses asked for that are on the stack of an allocation.
    pub obtained: BTreeMap<u64, Obtained>,
    /// Global data, sorted by address.
    pub globals: Vec<Global>,
    /// Types of data; the indices below refer to it.
    pub types: Vec<Type>,
    /// What blocks hold, by the address of the call that obtained them.
    pub elements: BTreeMap<u64, Element>,
    /// Variables and members that get blocks, likewise.
    pub holders: BTreeMap<u64, String>,
    /// GNU build id, hexadecimal digits.
    pub build_id: Option<String>,
    /// What is missing and how to get it; a sentence without the path.
    pub missing: Option<String>,
}
