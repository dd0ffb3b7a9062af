//! References to bytes, one at a time, straight from the recorder's ring slots.
use super::blocks::Blocks;
use super::columns::Extras;
use super::cycle::Cycle;
use super::index::KeyIndex;
use super::predict::{self, Entry};
use super::{BATCH_REFS_MAX, Batch, FRAME_BATCHES_MAX, FRAME_REFS_MAX};
use crate::bytes::{put_varint, zigzag};
use crate::columns::Column;
use crate::framing::{Codec, Kind, Label, Sealer};
use crate::record::Op;
use crate::sample::Sample;

/// Stamps in one frame, so that splitting long batches cannot exceed [`FRAME_BATCHES_MAX`].
const STAMPS_MAX: usize = FRAME_BATCHES_MAX - FRAME_REFS_MAX / BATCH_REFS_MAX;
/// Predicted references in a row after which a cycle is looked for.
const RUN_MIN: usize = 4;
/// References in a cycle that make up for finding it.
const WORTH: usize = 48;
/// How often a run may be too short for a cycle before looking for one is put off.
const SHORT_MAX: u32 = 4;
/// Most references before a cycle is looked for again where there was none, or a short one.
const PAUSE_MAX: usize = 4096;

/// Builds frames. One encoder serves any number of threads in turn: [`FrameEncoder::begin`] forgets the frame before, and all
/// buffers are reused.
#[derive(Debug, Default)]
pub struct FrameEncoder {
    thread: u32,
    first_ref: u64,
    pub(super) hot: Hot,
    /// References up to and with the last token.
    token_refs: usize,
    pub(super) entries: Vec<Entry>,
    index: KeyIndex,
    pub(super) blocks: Blocks,
    cycle: Cycle,
    /// References of the frame before which no cycle is looked for.
    look_at: usize,
    /// By how many references that is put off when a cycle was not worth it.
    pause: usize,
    /// How often in a row it was looked whether a run is long enough, and was not.
    short: u32,
    pub(super) tokens: Vec<u8>,
    keys: Vec<u8>,
    addrs: Vec<u8>,
    batches: Vec<Batch>,
    batch_start: usize,
    /// Each column empty, or with a value for each reference up to the last that has one.
    extras: Extras,
    values: Vec<u64>,
    raw: Vec<u8>,
    sealer: Sealer,
}

/// What changes with every reference; [`FrameEncoder::extend`] keeps it in registers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hot {
    pub(super) refs: usize,
    /// Key of the reference before.
    pub(super) current: u16,
    /// Key predicted to come next.
    pub(super) next: u16,
}

/// One reference as the encoder takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawRef {
    /// Virtual address of the first byte.
    pub addr: u64,
    /// Bytes.
    pub size: u32,
    /// Operation.
    pub op: Op,
    /// Program counter.
    pub pc: u64,
}

impl FrameEncoder {
    /// Starts a frame whose first reference is the `first_ref`-th of `thread`; an unfinished frame is forgotten.
    pub fn begin(&mut self, thread: u32, first_ref: u64) {
        (self.thread, self.first_ref) = (thread, first_ref);
        (self.hot, self.token_refs, self.batch_start) = (Hot::default(), 0, 0);
        (self.cycle.active, self.look_at, self.pause, self.short) = (false, 0, 0, 0);
        self.entries.clear();
        self.index.clear();
        self.blocks.clear();
        self.tokens.clear();
        self.keys.clear();
        self.addrs.clear();
        self.batches.clear();
        self.extras.clear();
    }

    /// References in the frame so far.
    pub fn len(&self) -> usize {
        self.hot.refs
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.hot.refs == 0
    }
    /// Whether no reference fits any more.
    pub(crate) fn is_full(&self) -> bool {
        self.hot.refs >= FRAME_REFS_MAX
    }
    /// References that still fit; 0 also when no batch fits any more.
    pub fn room(&self) -> usize {
        if self.batches.len() >= STAMPS_MAX { 0 } else { FRAME_REFS_MAX - self.hot.refs }
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
        let mut refs = self.hot.refs - self.batch_start;
        self.batch_start = self.hot.refs;
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
        self.extend([RawRef { addr, size, op, pc }]) == 1
    }

    /// Appends a sampled reference. False (and nothing done) if the frame is full. A frame that gets one sample has one
    /// for every reference: those pushed without, and a weight of 0, count once.
    #[inline]
    pub fn push_sample(&mut self, addr: u64, size: u32, op: Op, pc: u64, sample: &Sample) -> bool {
        let before = self.hot.refs;
        let pushed = self.push(addr, size, op, pc);
        if pushed {
            self.extras.samples.resize(before, Sample::ONE);
            self.extras.samples.push(Sample { weight: sample.weight.max(1), ..*sample });
        }
        pushed
    }

    /// Says what an optional column holds for the last reference; those of which nothing is said have 0. False (and
    /// nothing done) if there is no reference yet, or the value is larger than the column's largest. A column of samples
    /// makes the frame one of samples.
    pub fn put(&mut self, column: &Column, value: u64) -> bool {
        let fits = self.hot.refs > 0 && value <= column.max;
        if fits {
            self.extras.put(column, value, self.hot.refs);
        }
        fits
    }

    /// Appends references until there are no more or the frame is full; returns how many. The fast way in: the state of the
    /// prediction stays in registers from one reference to the next.
    #[inline]
    pub fn extend(&mut self, refs: impl IntoIterator<Item = RawRef>) -> usize {
        self.end_cycle();
        let start = self.hot.refs;
        let mut hot = self.hot;
        for RawRef { addr, size, op, pc } in refs {
            if hot.refs >= FRAME_REFS_MAX {
                break;
            }
            let meta = predict::meta(size, op);
            if let Some(e) = self.entries.get_mut(usize::from(hot.next))
                && e.pc == pc
                && e.meta == meta
                && e.by_stride() == addr
            {
                e.confirm_addr(addr);
                let following = e.next;
                self.entries[usize::from(hot.current)].next_missed = false;
                (hot.current, hot.next) = (hot.next, following);
                hot.refs += 1;
            } else {
                self.hot = hot;
                self.miss(addr, meta, pc);
                hot = self.hot;
            }
        }
        self.hot = hot;
        hot.refs - start
    }

    /// Appends the references that `slots` of a ring begin with, as long as each slot holds a whole one and the frame is not
    /// full. Returns how many, and how many of these are spins. The frame is the same as with [`FrameEncoder::extend`], but
    /// where predictions go round a cycle of keys slots are not decoded.
    pub fn extend_slots(&mut self, slots: &[[u64; 2]]) -> (usize, u64) {
        let slots = &slots[..slots.len().min(FRAME_REFS_MAX - self.hot.refs)];
        let (mut done, mut spins) = (0, 0);
        while let rest @ [_, ..] = &slots[done..] {
            let run = self.hot.refs - self.token_refs;
            let (taken, spinning, over) = if self.cycle.active {
                self.in_cycle(rest)
            } else if run >= RUN_MIN && self.hot.refs >= self.look_at && self.enter_cycle() {
                continue;
            } else {
                self.short += u32::from(self.hot.refs >= self.look_at);
                if self.short > SHORT_MAX {
                    self.put_off();
                }
                // Up to where a cycle is looked for at the earliest.
                let wait = self.look_at.saturating_sub(self.hot.refs).max(RUN_MIN - run.min(RUN_MIN - 1));
                self.by_one(&rest[..rest.len().min(wait)])
            };
            done += taken;
            spins += spinning;
            if over {
                break;
            }
        }
        (done, spins)
    }

    /// Appends the references that `slots` begin with one by one; how many, how many spins, and whether a slot that holds none
    /// stands behind them.
    fn by_one(&mut self, slots: &[[u64; 2]]) -> (usize, u64, bool) {
        let mut spins = 0;
        let refs = slots.iter().map_while(RawRef::of_slot);
        let taken = self.extend(refs.inspect(|r| spins += u64::from(r.op == Op::Spin)));
        (taken, spins, taken < slots.len())
    }

    fn enter_cycle(&mut self) -> bool {
        let entered = self.cycle.enter(&self.entries, self.hot.current);
        self.short = 0;
        if !entered {
            self.put_off();
        }
        entered
    }

    /// Leaves the cycle, if the encoder is in one.
    pub(super) fn end_cycle(&mut self) {
        if self.cycle.active {
            self.leave_cycle();
        }
    }

    fn leave_cycle(&mut self) {
        let walked;
        (walked, self.hot.current, self.hot.next) = self.cycle.leave(&mut self.entries);
        if walked < WORTH {
            self.put_off();
        } else {
            // The reference that the cycle does not go on with is taken alone.
            (self.pause, self.look_at) = (0, self.hot.refs + 1);
        }
    }

    fn put_off(&mut self) {
        self.short = 0;
        self.pause = (2 * self.pause + RUN_MIN).min(PAUSE_MAX);
        self.look_at = self.hot.refs + self.pause;
    }

    /// As [`FrameEncoder::by_one`] for an encoder that is in a cycle, and may not be afterwards. Goes on at most to the next
    /// address that was not expected.
    fn in_cycle(&mut self, slots: &[[u64; 2]]) -> (usize, u64, bool) {
        let taken = self.cycle.walk(slots);
        self.hot.refs += taken;
        let spins = |slots: &[[u64; 2]]| slots.iter().filter(|&s| super::slot::is_spin(s)).count() as u64;
        let walked = if self.cycle.spins { spins(&slots[..taken]) } else { 0 };
        let Some(slot) = slots.get(taken) else { return (taken, walked, false) };
        let Some(r) = RawRef::of_slot(slot) else { return (taken, walked, true) };
        if self.cycle.is_lost() || !self.pass(slot, &r) {
            self.leave_cycle();
            return (taken, walked, false);
        }
        (taken + 1, walked + spins(std::slice::from_ref(slot)), false)
    }

    /// Appends a reference of the key that the cycle expects; false (and nothing done) if it is of another.
    fn pass(&mut self, slot: &[u64; 2], r: &RawRef) -> bool {
        let (key, previous) = self.cycle.expected(&mut self.entries);
        let e = &mut self.entries[usize::from(key)];
        if e.pc != r.pc || e.meta != predict::meta(r.size, r.op) {
            return false;
        }
        if e.by_stride() == r.addr {
            // The slot has more bits than those of a reference.
            e.confirm_addr(r.addr);
            self.cycle.pass(slot, e);
            self.hot.refs += 1;
            return true;
        }
        self.expected_elsewhere(usize::from(key), r.addr, previous);
        self.cycle.pass(slot, &self.entries[usize::from(key)]);
        true
    }

    /// Appends a reference of the key that is expected, whose address is not; `previous` is the address of the reference before.
    pub(super) fn expected_elsewhere(&mut self, key: usize, addr: u64, previous: u64) {
        let how = addr_token(&mut self.entries[key], addr, previous, &mut self.addrs);
        let (at, nibble) = self.begin_token();
        self.tokens[at] = predict::SITE_NEXT | how << 2 | nibble << 4;
        self.hot.refs += 1;
        self.token_refs = self.hot.refs;
    }

    /// Makes room for a token, with what goes on of its run behind it; where it is, and the run's nibble.
    #[inline(always)]
    fn begin_token(&mut self) -> (usize, u8) {
        let at = self.tokens.len();
        self.tokens.push(0);
        let run = (self.hot.refs - self.token_refs) as u64;
        let nibble = run.min(predict::RUN_LONG);
        if nibble == predict::RUN_LONG {
            put_varint(&mut self.tokens, run - predict::RUN_LONG);
        }
        (at, nibble as u8)
    }

    #[inline(never)]
    pub(super) fn miss(&mut self, addr: u64, meta: u64, pc: u64) {
        let (at, nibble) = self.begin_token();
        let previous = self.entries.get(usize::from(self.hot.current)).map_or(0, |e| e.last);
        let (site, key) = self.site_token(meta, pc, previous);
        let e = &mut self.entries[usize::from(key)];
        let how = addr_token(e, addr, previous, &mut self.addrs);
        self.tokens[at] = site | how << 2 | nibble << 4;
        self.hot = Hot { refs: self.hot.refs + 1, current: key, next: e.next };
        self.token_refs = self.hot.refs;
    }

    fn site_token(&mut self, meta: u64, pc: u64, previous: u64) -> (u8, u16) {
        let is = |e: Option<&Entry>| e.is_some_and(|e| e.pc == pc && e.meta == meta);
        let Hot { current, next, .. } = self.hot;
        if is(self.entries.get(usize::from(next))) {
            self.entries[usize::from(current)].next_missed = false;
            return (predict::SITE_NEXT, next);
        }
        let alternative = self.entries.get(usize::from(current)).map_or(0, |e| e.alternative);
        let (token, key) = if is(self.entries.get(usize::from(alternative))) {
            (predict::SITE_ALTERNATIVE, alternative)
        } else {
            self.look_up(meta, pc, previous)
        };
        let e = &mut self.entries[usize::from(current)];
        e.learn_next(key);
        if e.is_inner {
            self.blocks.break_links();
        }
        (token, key)
    }

    fn look_up(&mut self, meta: u64, pc: u64, previous: u64) -> (u8, u16) {
        // At most FRAME_REFS_MAX references have been pushed, so the new key's index fits 16 bits.
        let new = self.entries.len() as u16;
        match self.index.find_or_insert(pc, meta, new) {
            Ok(key) => {
                put_varint(&mut self.keys, u64::from(key));
                (predict::SITE_EXPLICIT, key)
            }
            Err(()) => {
                self.entries.push(Entry::new(pc, meta, new, previous));
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
        let version = self.extras.write(self.hot.refs, &mut self.values, &mut self.raw);
        let sampled = !self.extras.samples.is_empty();
        let (thread, first, count) = (self.thread, self.first_ref, self.hot.refs as u32);
        let label = Label { kind: Kind::Refs, version, thread, first, count, sampled };
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

#[inline(always)]
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
