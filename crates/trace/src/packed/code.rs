//! One acquire or release as bytes: a head that says what is as expected, and what is not as LEB128.
//!
//! Expected is: no reference in between, no stamp, the object and the kind of the thread's event before it, and the number after its.
use crate::bytes::{put_varint, unzigzag, zigzag};
use crate::event::SyncKind;

/// An acquire, a release, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SyncEvent {
    pub(crate) at: u64,
    pub(crate) stamp: u64,
    /// Number of the object.
    pub(crate) object: u32,
    pub(crate) seq: u64,
    pub(crate) acquires: bool,
    pub(crate) releases: bool,
    pub(crate) sync: SyncKind,
}

/// The head of an event that is kept elsewhere.
pub(super) const OTHER: u8 = 0;

const ACQUIRES: u8 = 1;
const RELEASES: u8 = 2;
const SAME_AT: u8 = 4;
const NO_STAMP: u8 = 8;
const SAME_OBJECT: u8 = 16;
const NEXT_SEQ: u8 = 32;
const SAME_SYNC: u8 = 64;

/// What differences are taken to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    at: u64,
    stamp: u64,
    pub(super) object: u32,
    seq: u64,
    sync: SyncKind,
}

impl Place {
    /// Appends an event.
    pub(super) fn put(&mut self, out: &mut Vec<u8>, e: SyncEvent) {
        let flag = |holds: bool, flag: u8| if holds { flag } else { 0 };
        let head = flag(e.acquires, ACQUIRES)
            | flag(e.releases, RELEASES)
            | flag(e.at == self.at, SAME_AT)
            | flag(e.stamp == 0, NO_STAMP)
            | flag(e.object == self.object, SAME_OBJECT)
            | flag(e.seq == self.seq.wrapping_add(1), NEXT_SEQ)
            | flag(e.sync == self.sync, SAME_SYNC);
        out.push(head);
        if head & SAME_AT == 0 {
            put_varint(out, e.at.wrapping_sub(self.at));
        }
        if head & NO_STAMP == 0 {
            put_varint(out, zigzag(e.stamp.wrapping_sub(self.stamp)));
            self.stamp = e.stamp;
        }
        if head & SAME_OBJECT == 0 {
            put_varint(out, zigzag(u64::from(e.object).wrapping_sub(u64::from(self.object))));
        }
        if head & NEXT_SEQ == 0 {
            put_varint(out, zigzag(e.seq.wrapping_sub(self.seq)));
        }
        if head & SAME_SYNC == 0 {
            let (code, parties) = e.sync.code();
            out.push(code);
            put_varint(out, parties.into());
        }
        (self.at, self.object, self.seq, self.sync) = (e.at, e.object, e.seq, e.sync);
    }

    /// The event at the start of `bytes`, which moves on behind it; `None` if it is kept elsewhere.
    #[inline]
    pub(super) fn take(&mut self, bytes: &mut &[u8]) -> Option<SyncEvent> {
        let head = byte(bytes);
        if head == OTHER {
            return None;
        }
        if head & SAME_AT == 0 {
            self.at = self.at.wrapping_add(number(bytes));
        }
        let mut stamp = 0;
        if head & NO_STAMP == 0 {
            self.stamp = self.stamp.wrapping_add(unzigzag(number(bytes)));
            stamp = self.stamp;
        }
        if head & SAME_OBJECT == 0 {
            self.object = u64::from(self.object).wrapping_add(unzigzag(number(bytes))) as u32;
        }
        let by = if head & NEXT_SEQ == 0 { unzigzag(number(bytes)) } else { 1 };
        self.seq = self.seq.wrapping_add(by);
        if head & SAME_SYNC == 0 {
            let code = byte(bytes);
            self.sync = SyncKind::of_code(code, number(bytes) as u32).unwrap_or_default();
        }
        let (acquires, releases) = (head & ACQUIRES != 0, head & RELEASES != 0);
        Some(SyncEvent { at: self.at, stamp, object: self.object, seq: self.seq, acquires, releases, sync: self.sync })
    }
}

/// The bytes are this module's own, so they do not end early.
#[inline]
fn byte(bytes: &mut &[u8]) -> u8 {
    let (first, rest) = bytes.split_first().expect("written by `put`");
    *bytes = rest;
    *first
}

#[inline]
pub(super) fn number(bytes: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let b = byte(bytes);
        value |= u64::from(b & 0x7f) << shift;
        if b < 0x80 {
            return value;
        }
        shift += 7;
    }
}
