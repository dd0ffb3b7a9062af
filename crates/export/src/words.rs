//! Words of rows that are not names of the program: kinds of references, sources of data, charges.
use homenode_machine::AccessClass;
use homenode_trace::{DataSource, Op};

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
    }
}

/// All words that are not names.
pub(crate) fn fixed_words() -> impl Iterator<Item = &'static str> {
    let classes = [AccessClass::Read, AccessClass::Write, AccessClass::WriteBack, AccessClass::Free];
    let ops = Op::ALL.into_iter().map(Op::name);
    ops.chain(classes.map(charged)).chain(DataSource::ALL.map(DataSource::name)).chain([COUNTED, ESTIMATED])
}
