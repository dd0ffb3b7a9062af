//! Records: a type, a size and a value, 12 bytes in all, little-endian.

/// Bytes of a record.
pub(super) const BYTES: usize = 12;
/// Bytes of a record of a 32-bit program.
const BYTES_32: usize = 8;
/// Newest version of the format that is known.
pub(super) const VERSION_MAX: u64 = 7;
/// The version from which on a wait in the kernel has a stamp at its end.
pub(super) const VERSION_STAMPS: u64 = 6;

/// Types of records.
pub(super) mod kind {
    pub(in super::super) const READ: u16 = 0;
    pub(in super::super) const WRITE: u16 = 1;
    pub(in super::super) const PREFETCH: u16 = 2;
    pub(in super::super) const PREFETCH_LAST: u16 = 9;
    pub(in super::super) const INSTRUCTION: u16 = 10;
    pub(in super::super) const RETURN: u16 = 16;
    pub(in super::super) const BUNDLE: u16 = 17;
    pub(in super::super) const FLUSH: u16 = 18;
    pub(in super::super) const FLUSH_LAST: u16 = 21;
    pub(in super::super) const THREAD: u16 = 22;
    pub(in super::super) const THREAD_EXIT: u16 = 23;
    pub(in super::super) const PROCESS: u16 = 24;
    pub(in super::super) const HEADER: u16 = 25;
    pub(in super::super) const FOOTER: u16 = 26;
    pub(in super::super) const HARDWARE_PREFETCH: u16 = 27;
    pub(in super::super) const MARKER: u16 = 28;
    pub(in super::super) const NOT_FETCHED: u16 = 29;
    pub(in super::super) const MAYBE_FETCHED: u16 = 30;
    pub(in super::super) const SYSENTER: u16 = 31;
    pub(in super::super) const PREFETCH_BY_LEVEL: u16 = 32;
    pub(in super::super) const PREFETCH_BY_LEVEL_LAST: u16 = 46;
    pub(in super::super) const ENCODING: u16 = 47;
    pub(in super::super) const TAKEN: u16 = 48;
    pub(in super::super) const UNTAKEN: u16 = 49;
}

/// Types of markers, which stand in the size of their record; those that mean something here.
pub(super) mod marker {
    pub(in super::super) const TIMESTAMP: u16 = 2;
    pub(in super::super) const CPU: u16 = 3;
    pub(in super::super) const FUNCTION: u16 = 4;
    pub(in super::super) const RETURN_ADDRESS: u16 = 5;
    pub(in super::super) const ARGUMENT: u16 = 6;
    pub(in super::super) const RESULT: u16 = 7;
    pub(in super::super) const FILE_TYPE: u16 = 9;
    pub(in super::super) const VERSION: u16 = 12;
    pub(in super::super) const WINDOW: u16 = 14;
    pub(in super::super) const CHUNK_END: u16 = 21;
    pub(in super::super) const KERNEL_BEGIN: u16 = 27;
    pub(in super::super) const KERNEL_END: u16 = 28;
    pub(in super::super) const FAILED: u16 = 30;
    pub(in super::super) const SWITCH_BEGIN: u16 = 35;
    pub(in super::super) const SWITCH_END: u16 = 36;
    /// The last that the format gives a meaning.
    pub(in super::super) const LAST: u16 = 47;
}

/// Bits of the file type.
pub(super) mod file_type {
    pub(in super::super) const FILTERED: u64 = 0x1;
    pub(in super::super) const INSTRUCTIONS_ONLY: u64 = 0x4;
    pub(in super::super) const AARCH64: u64 = 0x8;
    pub(in super::super) const ARM32: u64 = 0x10;
    pub(in super::super) const X86_32: u64 = 0x20;
    pub(in super::super) const X86_64: u64 = 0x40;
    pub(in super::super) const DATA_FILTERED: u64 = 0x100;
    pub(in super::super) const TEMPLATES: u64 = 0x4000;
    pub(in super::super) const BY_CORE: u64 = 0x1_0000;
}

/// A record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) kind: u16,
    pub(super) size: u16,
    pub(super) value: u64,
}

impl Entry {
    /// The record in 12 bytes.
    #[inline]
    pub(super) fn of(bytes: &[u8; BYTES]) -> Entry {
        let [k0, k1, s0, s1, value @ ..] = *bytes;
        Entry {
            kind: u16::from_le_bytes([k0, k1]),
            size: u16::from_le_bytes([s0, s1]),
            value: u64::from_le_bytes(value),
        }
    }
    /// The marker that it is.
    pub(super) fn marker(self) -> Option<u16> {
        (self.kind == kind::MARKER).then_some(self.size)
    }
}

/// Whether a file that begins so holds records, if only those of a 32-bit program.
pub(super) fn begins_trace(start: &[u8]) -> bool {
    start.len() >= 2 * BYTES_32 && start.starts_with(&[kind::HEADER as u8, 0, 0, 0]) && (1..=255).contains(&start[4])
}

/// Whether a file that begins so holds records of a 32-bit program: its second record comes 4 bytes earlier.
pub(super) fn is_32_bit(start: &[u8]) -> bool {
    let kind_at = |at: usize| start.get(at..at + 2).map_or(0, |k| u16::from_le_bytes([k[0], k[1]]));
    begins_trace(start) && matches!(kind_at(BYTES_32), kind::THREAD | kind::MARKER)
}

/// Whether a file that begins so is what the tracer wrote, before it was post-processed: words whose upper byte is their type, the
/// first of them a header.
pub(super) fn begins_raw(start: &[u8]) -> bool {
    // Type 6 in the upper three bits, in the lower five which kind of it: 0 the older header, 4 today's with the version below it.
    match start.get(..8) {
        Some(&[_, _, _, _, 0, 0, version, 0xc4]) => (2..=32).contains(&version),
        Some(&[version, 0, 0, 0, 0, 0, _, 0xc0]) => (2..=32).contains(&version),
        _ => false,
    }
}
