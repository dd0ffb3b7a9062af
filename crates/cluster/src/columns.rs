//! Numbers of a row by name, as tables have them.
use crate::Row;

/// A name, and the number of a row that has it.
pub type Number = (&'static str, fn(&Row) -> u64);

/// Times of threads in cycles, in the order of the study's classes.
pub const TIMES: [Number; 8] = [
    ("compute", |r| r.compute),
    ("local", |r| r.local),
    ("data", |r| r.data),
    ("lock", |r| r.lock),
    ("barrier", |r| r.barrier),
    ("other", |r| r.other),
    ("interrupted", |r| r.interrupted),
    ("idle", |r| r.idle),
];

/// Work of the protocol in cycles, within those times.
pub const WORK: [Number; 6] = [
    ("mprotect", |r| r.work.protection),
    ("twins", |r| r.work.twins),
    ("diffs", |r| r.work.diffs),
    ("notices", |r| r.work.notices),
    ("requests", |r| r.work.requests),
    ("handlers", |r| r.work.handlers),
];

/// What the protocol did.
pub const COUNTS: [Number; 13] = [
    ("fetches", |r| r.counts.fetches),
    ("retries", |r| r.counts.retries),
    ("twins", |r| r.counts.twins),
    ("diffs", |r| r.counts.diffs),
    ("runs", |r| r.counts.runs),
    ("invalidations", |r| r.counts.invalidations),
    ("locks here", |r| r.counts.locks_local),
    ("locks remote", |r| r.counts.locks_remote),
    ("protections", |r| r.counts.protections),
    ("interrupts", |r| r.interrupts.all()),
    ("messages", |r| r.counts.messages),
    ("bytes", |r| r.counts.bytes),
    ("own bytes", Row::own_bytes),
];
