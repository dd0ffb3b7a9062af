//! How many instructions lie between a thread's references.
use super::{Column, Held};

pub(crate) static SPEC: Column = Column {
    number: 5,
    version: 1,
    name: "instructions",
    summary: "instructions since the previous reference of the thread, counted, plus one; 0 if they were not counted",
    max: u32::MAX as u64 + 1,
    held: Held::Alone,
};
