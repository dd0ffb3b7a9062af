//! Changes of a page against its twin: words are compared, and of those that differ the bytes that changed are written, as nodes may
//! share a word.
use crate::rules::{Rule, holds};
use std::sync::atomic::{AtomicU64, Ordering};

/// Longest run that is handed over at a time; a longer one is several.
pub const RUN_WORDS: usize = 512;

/// Changed words that follow one another: value and mask of the bytes that changed.
#[derive(Debug)]
pub struct Run {
    /// First of the words in the page.
    pub first: usize,
    words: [(u64, u64); RUN_WORDS],
    len: usize,
}

impl Run {
    /// No words yet.
    pub const fn new() -> Run {
        Run { first: 0, words: [(0, 0); RUN_WORDS], len: 0 }
    }
    /// Words and masks.
    pub fn words(&self) -> &[(u64, u64)] {
        &self.words[..self.len]
    }
    /// Whether all bytes of all words changed.
    pub fn is_whole(&self) -> bool {
        self.words().iter().all(|w| w.1 == u64::MAX)
    }

    /// Finds the next run at `from` or later. False at the end of the page.
    pub fn find(&mut self, copy: &[AtomicU64], twin: &[AtomicU64], from: usize) -> bool {
        let changed = |at: usize| {
            let (now, before) = (copy[at].load(Ordering::Relaxed), twin[at].load(Ordering::Relaxed));
            (now, now ^ before)
        };
        let end = copy.len();
        let Some(first) = (from..end).find(|at| changed(*at).1 != 0) else { return false };
        self.first = first;
        self.len = 0;
        for at in first..end.min(first + RUN_WORDS) {
            let (now, difference) = changed(at);
            if difference == 0 {
                break;
            }
            let mask = if holds(Rule::ChangedBytesOnly) { bytes_of(difference) } else { u64::MAX };
            self.words[self.len] = (now, mask);
            self.len += 1;
        }
        true
    }

    /// Makes it a run of so many words, at most [`RUN_WORDS`]; `word` is asked for each one's value and mask, and told what they were.
    pub fn fill(&mut self, first: usize, words: usize, mut word: impl FnMut(u64, u64) -> (u64, u64)) {
        self.first = first;
        self.len = words.min(RUN_WORDS);
        for (value, mask) in &mut self.words[..self.len] {
            (*value, *mask) = word(*value, *mask);
        }
    }

    /// First word behind the run.
    pub fn end(&self) -> usize {
        self.first + self.len
    }
}

impl Default for Run {
    fn default() -> Run {
        Run::new()
    }
}

/// First word of a run in a message.
pub(crate) struct Packed {
    pub(crate) first: usize,
    pub(crate) words: usize,
    pub(crate) is_whole: bool,
}

impl Packed {
    pub(crate) fn of(word: u64) -> Packed {
        let part = |shift: u32| (word >> shift) as usize & 0xff_ffff;
        Packed { first: part(0), words: part(24), is_whole: word >> 48 & 1 == 1 }
    }
    pub(crate) fn word(&self) -> u64 {
        self.first as u64 | (self.words as u64) << 24 | u64::from(self.is_whole) << 48
    }
    /// Words of the run in a message, this one included.
    pub(crate) fn length(&self) -> usize {
        1 + self.words * if self.is_whole { 1 } else { 2 }
    }
}

/// Mask of the bytes that have a bit set.
fn bytes_of(difference: u64) -> u64 {
    const LOW: u64 = 0x0101_0101_0101_0101;
    let mut any = difference | difference >> 4;
    any |= any >> 2;
    any |= any >> 1;
    // Each low bit says whether its byte has one; times 255 fills the byte.
    (any & LOW) * 0xff
}

/// Writes the bytes of a word that the mask names, and no others: those may be written by somebody else at this moment.
pub fn merge(word: &AtomicU64, value: u64, mask: u64) {
    if mask == u64::MAX {
        word.store(value, Ordering::Relaxed);
    } else if mask != 0 {
        let merged = |old: u64| Some(old & !mask | value & mask);
        // The closure never refuses.
        let _ = word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, merged);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_base::Rng;

    #[test]
    fn a_mask_has_whole_bytes_and_just_those_that_differ() {
        let mut rng = Rng::new(5);
        for _ in 0..10_000 {
            let difference = rng.next_u64() & rng.next_u64() & rng.next_u64() & rng.next_u64();
            let slow = difference.to_ne_bytes().map(|b| if b == 0 { 0 } else { 0xff });
            assert_eq!(bytes_of(difference), u64::from_ne_bytes(slow), "{difference:x}");
        }
    }

    #[test]
    fn runs_carry_every_change_and_nothing_else() {
        let mut rng = Rng::new(6);
        for len in [1, 7, 64, 1300] {
            for dense in [0, 1, 50, 100] {
                let words = |rng: &mut Rng| (0..len).map(|_| AtomicU64::new(rng.next_u64())).collect::<Vec<_>>();
                let (twin, home) = (words(&mut rng), words(&mut rng));
                let copy: Vec<AtomicU64> = twin.iter().map(|w| AtomicU64::new(w.load(Ordering::Relaxed))).collect();
                for word in &copy {
                    if rng.below(100) >= dense {
                        continue;
                    }
                    merge(word, rng.next_u64(), bytes_of(rng.next_u64() & rng.next_u64() & rng.next_u64()));
                }
                let before: Vec<u64> = home.iter().map(|w| w.load(Ordering::Relaxed)).collect();
                let (mut run, mut from) = (Run::new(), 0);
                while run.find(&copy, &twin, from) {
                    assert!(run.first >= from && !run.words().is_empty());
                    for (at, (value, mask)) in (run.first..).zip(run.words()) {
                        merge(&home[at], *value, *mask);
                    }
                    from = run.end();
                }
                let changed = |at: usize| copy[at].load(Ordering::Relaxed) ^ twin[at].load(Ordering::Relaxed);
                for at in 0..len {
                    let mask = bytes_of(changed(at));
                    let wanted = before[at] & !mask | copy[at].load(Ordering::Relaxed) & mask;
                    assert_eq!(home[at].load(Ordering::Relaxed), wanted);
                }
            }
        }
    }
}
