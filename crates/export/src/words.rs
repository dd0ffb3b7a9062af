//! Words of rows that are not names of the program.
use homenode_machine::AccessClass;

/// The operation of a row that is none.
pub(crate) const WRITE_BACK: &str = "write-back";

/// How instructions between references are known.
pub(crate) const COUNTED: &str = "counted";
pub(crate) const ESTIMATED: &str = "estimated";

/// What an access is charged as.
pub(crate) const fn charged(class: AccessClass) -> &'static str {
    match class {
        AccessClass::Read => "read",
        AccessClass::Write => "write",
        AccessClass::WriteBack => WRITE_BACK,
        AccessClass::Free => "nothing",
        AccessClass::ReadOverlapped => "read overlapped",
        AccessClass::WriteOverlapped => "write overlapped",
        AccessClass::ReadStreamed => "read streamed",
        AccessClass::WriteStreamed => "write streamed",
    }
}
