//! References to bytes, one at a time, straight from the recorder's ring slots.
use super::index::KeyIndex;
use super::predict::{self, Entry};
use super::{BATCH_REFS_MAX, Batch, FRAME_BATCHES_MAX, FRAME_REFS_MAX};
use crate::bytes::{put_varint, zigzag};
use crate::framing::{Codec, Kind, Label, Sealer};
use crate::record::Op;

/// Stamps in one frame, so that splitting long batches cannot exceed [`FRAME_BATCHES_MAX`].
const STAMPS_MAX: usize = FRAME_BATCHES_MAX - FRAME_REFS_MAX / BATCH_REFS_MAX;

/// Builds frames. One encoder serves any number of threads in turn: [`FrameEncoder::begin`] forgets the frame before, and all
/// buffers are reused.
#[derive(Debug, Default)]
pub struct FrameEncoder {
    thread: u32,
    first_ref: u64,
    refs: usize,
    /// Predicted references since the last token.
    run: u64,
    current: u16,
    /// Key predicted to come next.
    next: u16,
    previous: u64,
    entries: Vec<Entry>,
    index: KeyIndex,
    tokens: Vec<u8>,
    keys: Vec<u8>,
    addrs: Vec<u8>,
    batches: Vec<Batch>,
    batch_start: usize,
    raw: Vec<u8>,
    sealer: Sealer,
}

impl FrameEncoder {
    /// Starts a frame whose first reference is the `first_ref`-th of `thread`; an unfinished frame is forgotten.
    pub fn begin(&mut self, thread: u32, first_ref: u64) {
        (self.thread, self.first_ref) = (thread, first_ref);
        (self.refs, self.run, self.current, self.next, self.previous, self.batch_start) = (0, 0, 0, 0, 0, 0);
        self.entries.clear();
        self.index.clear();
        self.tokens.clear();
        self.keys.clear();
        self.addrs.clear();
        self.batches.clear();
    }

    /// References in the frame so far.
    pub fn len(&self) -> usize {
        self.refs
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.refs == 0
    }
    /// References that still fit; 0 also when no batch fits any more.
    pub fn room(&self) -> usize {
        if self.batches.len() >= STAMPS_MAX { 0 } else { FRAME_REFS_MAX - self.refs }
    }

    /// A stamp: it ends the current batch and begins the next one. False (and nothing done) if no batch fits any more.
    /// References pushed before the first stamp have stamp 0.
    pub fn stamp(&mut self, tsc: u64) -> bool {
        if self.batches.len() >= STAMPS_MAX {
            return false;
        }
        self.close_batch();
        self.batches.push(Batch { refs: 0, begin: tsc });
        true
    }

    /// Gives the references since the last stamp to its batch; more than a batch holds go on in further batches that
    /// begin with the same stamp.
    fn close_batch(&mut self) {
        let mut refs = self.refs - self.batch_start;
        self.batch_start = self.refs;
        if refs > 0 && self.batches.is_empty() {
            self.batches.push(Batch::default());
        }
        let Some(last) = self.batches.last_mut() else { return };
        last.refs = refs.min(BATCH_REFS_MAX) as u32;
        let begin = last.begin;
        while refs > BATCH_REFS_MAX {
            refs -= BATCH_REFS_MAX;
            self.batches.push(Batch { refs: refs.min(BATCH_REFS_MAX) as u32, begin });
        }
    }

    /// Appends a reference. False (and nothing done) if the frame is full.
    #[inline]
    pub fn push(&mut self, addr: u64, size: u32, op: Op, pc: u64) -> bool {
        if self.refs >= FRAME_REFS_MAX {
            return false;
        }
        let meta = predict::meta(size, op);
        if let Some(e) = self.entries.get_mut(usize::from(self.next))
            && e.pc == pc
            && e.meta == meta
            && e.by_stride() == addr
        {
            e.confirm_addr(addr);
            let following = e.next;
            self.entries[usize::from(self.current)].next_missed = false;
            (self.current, self.next, self.previous) = (self.next, following, addr);
            self.run += 1;
        } else {
            self.miss(addr, meta, pc);
        }
        self.refs += 1;
        true
    }

    #[inline(never)]
    fn miss(&mut self, addr: u64, meta: u64, pc: u64) {
        let at = self.tokens.len();
        self.tokens.push(0);
        let nibble = self.run.min(predict::RUN_LONG);
        if nibble == predict::RUN_LONG {
            put_varint(&mut self.tokens, self.run - predict::RUN_LONG);
        }
        self.run = 0;
        let (site, key) = self.site_token(meta, pc);
        let e = &mut self.entries[usize::from(key)];
        let how = addr_token(e, addr, self.previous, &mut self.addrs);
        self.tokens[at] = site | how << 2 | (nibble as u8) << 4;
        (self.current, self.next, self.previous) = (key, e.next, addr);
    }

    fn site_token(&mut self, meta: u64, pc: u64) -> (u8, u16) {
        let is = |e: Option<&Entry>| e.is_some_and(|e| e.pc == pc && e.meta == meta);
        if is(self.entries.get(usize::from(self.next))) {
            self.entries[usize::from(self.current)].next_missed = false;
            return (predict::SITE_NEXT, self.next);
        }
        let alternative = self.entries.get(usize::from(self.current)).map_or(0, |e| e.alternative);
        let (token, key) = if is(self.entries.get(usize::from(alternative))) {
            (predict::SITE_ALTERNATIVE, alternative)
        } else {
            self.look_up(meta, pc)
        };
        self.entries[usize::from(self.current)].learn_next(key);
        (token, key)
    }

    fn look_up(&mut self, meta: u64, pc: u64) -> (u8, u16) {
        // At most FRAME_REFS_MAX references have been pushed, so the new key's index fits 16 bits.
        let new = self.entries.len() as u16;
        match self.index.find_or_insert(pc, meta, new) {
            Ok(key) => {
                put_varint(&mut self.keys, u64::from(key));
                (predict::SITE_EXPLICIT, key)
            }
            Err(()) => {
                self.entries.push(Entry::new(pc, meta, new, self.previous));
                (predict::SITE_NEW, new)
            }
        }
    }

    /// Ends the frame: appends its bytes to `out`. `end` is the stamp after the last reference. An empty frame is a frame
    /// too. The encoder must `begin` again afterwards.
    pub fn finish(&mut self, end: u64, codec: Codec, out: &mut Vec<u8>) {
        self.close_batch();
        self.raw.clear();
        self.write_keys();
        self.write_batches(end);
        for section in [&self.tokens, &self.keys, &self.addrs] {
            put_varint(&mut self.raw, section.len() as u64);
            self.raw.extend_from_slice(section);
        }
        let label = Label { kind: Kind::Refs, thread: self.thread, first: self.first_ref, count: self.refs as u32 };
        self.sealer.seal(label, codec, &self.raw, out);
    }

    fn write_keys(&mut self) {
        put_varint(&mut self.raw, self.entries.len() as u64);
        let mut before = 0u64;
        for e in &self.entries {
            put_varint(&mut self.raw, zigzag(e.pc.wrapping_sub(before)));
            before = e.pc;
        }
        for e in &self.entries {
            put_varint(&mut self.raw, e.meta);
        }
    }

    fn write_batches(&mut self, end: u64) {
        put_varint(&mut self.raw, self.batches.len() as u64);
        for same in self.batches.chunk_by(|a, b| a.refs == b.refs) {
            put_varint(&mut self.raw, u64::from(same[0].refs));
            put_varint(&mut self.raw, same.len() as u64);
        }
        let mut before = 0u64;
        for stamp in self.batches.iter().map(|b| b.begin).chain([end]) {
            put_varint(&mut self.raw, zigzag(stamp.wrapping_sub(before)));
            before = stamp;
        }
    }
}

#[inline]
fn addr_token(e: &mut Entry, addr: u64, previous: u64, addrs: &mut Vec<u8>) -> u8 {
    if e.by_stride() == addr {
        e.confirm_addr(addr);
        return predict::ADDR_STRIDE;
    }
    let how = if e.by_break() == addr {
        predict::ADDR_BREAK
    } else if e.by_relative(previous) == addr {
        predict::ADDR_RELATIVE
    } else {
        put_varint(addrs, zigzag(addr.wrapping_sub(e.last)));
        predict::ADDR_EXPLICIT
    };
    e.learn_addr(addr, previous);
    how
}
