//! Buffers of records by region, within a budget.
use super::record::{Code, Format};
use super::spill::{Spill, as_bytes};
use crate::StudyError;
use hashbrown::HashMap;

/// Words that a buffer begins with.
const FIRST_WORDS: usize = 64;
/// A buffer doubles until it would grow by more words than this.
const GROWTH_WORDS: usize = 1 << 18;
/// Entries of the memo of regions, as a power of two.
const MEMO_BITS: u32 = 8;

/// What the spill calls a region of a stream.
pub(super) fn spill_id(streams: usize, stream: usize, slot: u32) -> u64 {
    u64::from(slot) * streams as u64 + stream as u64
}

/// Region numbers to slots in order of first appearance.
pub(super) struct Slots {
    map: HashMap<u64, u32>,
    pub(super) numbers: Vec<u64>,
    memo: Vec<(u64, u32)>,
}

impl Slots {
    pub(super) fn new() -> Slots {
        Slots { map: HashMap::new(), numbers: Vec::new(), memo: vec![(0, u32::MAX); 1 << MEMO_BITS] }
    }
    #[inline]
    pub(super) fn slot(&mut self, number: u64) -> u32 {
        // Neighbouring regions must not meet, and neither must those at distances of powers of two.
        let at = (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - MEMO_BITS)) as usize;
        let (known, slot) = self.memo[at];
        if known == number && slot != u32::MAX {
            return slot;
        }
        let next = self.numbers.len() as u32;
        let slot = *self.map.entry(number).or_insert(next);
        if slot == next {
            self.numbers.push(number);
        }
        self.memo[at] = (number, slot);
        slot
    }
}

/// All buffers.
pub(super) struct Buffers {
    /// By stream and slot.
    pub(super) of: Vec<Vec<Vec<u32>>>,
    pub(super) spill: Box<dyn Spill>,
    budget_words: usize,
    held_words: usize,
    failed: Option<StudyError>,
}

impl Buffers {
    pub(super) fn new(streams: usize, budget_bytes: usize, spill: Box<dyn Spill>) -> Buffers {
        let of = vec![Vec::new(); streams];
        Buffers { of, spill, budget_words: budget_bytes / 4, held_words: 0, failed: None }
    }
    /// The buffer of a region, with room for one record.
    #[inline(always)]
    pub(super) fn room(&mut self, stream: usize, slot: u32, words: usize) -> &mut Vec<u32> {
        let enough = self.of[stream].get(slot as usize).is_some_and(|b| b.capacity() - b.len() >= words);
        if !enough {
            self.grow(stream, slot, words);
        }
        &mut self.of[stream][slot as usize]
    }
    /// Appends a record that is one word.
    #[inline(always)]
    pub(super) fn word(&mut self, stream: usize, slot: u32, word: u32) {
        self.room(stream, slot, 1).push(word);
    }
    /// Appends records of the only stream, one word each.
    #[inline(never)]
    pub(super) fn line(&mut self, slot: u32, words: &[u32]) {
        if !words.is_empty() {
            self.room(0, slot, words.len()).extend_from_slice(words);
        }
    }
    /// Appends a record of any format.
    #[inline]
    pub(super) fn record(
        &mut self,
        stream: usize,
        slot: u32,
        format: &Format,
        what: (u32, Code, u32),
        weight: u32,
        t: u64,
    ) {
        let (unit, code, by) = what;
        format.put(self.room(stream, slot, format.words()), unit, code, by, weight, t);
    }
    #[cold]
    #[inline(never)]
    fn grow(&mut self, stream: usize, slot: u32, words: usize) {
        if self.of[stream].len() <= slot as usize {
            self.of[stream].resize_with(slot as usize + 1, Vec::new);
        }
        if self.held_words + FIRST_WORDS > self.budget_words {
            self.make_room();
        }
        let buffer = &mut self.of[stream][slot as usize];
        let before = buffer.capacity();
        buffer.reserve_exact(buffer.len().clamp(FIRST_WORDS, GROWTH_WORDS).max(words));
        self.held_words += buffer.capacity() - before;
    }
    /// Spills the fullest buffers until half of the budget is free. Those with little in them stay: they would cost a
    /// write each and give back next to nothing.
    fn make_room(&mut self) {
        let mut full: Vec<(usize, usize, usize)> = Vec::new();
        for (stream, buffers) in self.of.iter().enumerate() {
            full.extend(buffers.iter().enumerate().map(|(slot, b)| (b.capacity(), stream, slot)));
        }
        full.sort_unstable_by(|a, b| b.cmp(a));
        for (words, stream, slot) in full {
            if words == 0 || self.held_words <= self.budget_words / 2 {
                break;
            }
            let id = spill_id(self.of.len(), stream, slot as u32);
            let buffer = std::mem::take(&mut self.of[stream][slot]);
            self.held_words -= buffer.capacity();
            if let Err(why) = as_bytes(&buffer, |bytes| self.spill.append(id, bytes)) {
                self.failed.get_or_insert(StudyError::Spill(why));
            }
        }
    }
    /// What went wrong with spilling, once.
    pub(super) fn failure(&mut self) -> Result<(), StudyError> {
        self.failed.take().map_or(Ok(()), Err)
    }
}
