//! Where the thread of a sample ran.
use super::{Column, Held};

pub(crate) static SPEC: Column = Column {
    number: 4,
    version: 1,
    name: "processor",
    summary: "processor of a sample plus one; 0 if it was not recorded",
    max: u16::MAX as u64 + 1,
    held: Held::InSample {
        get: |s| s.cpu.map_or(0, |c| u64::from(c) + 1),
        set: |s, v| s.cpu = v.checked_sub(1).map(|c| c as u16),
    },
};
