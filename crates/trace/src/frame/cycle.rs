//! Cycles: keys that follow each other round and round, compared with ring slots without decoding these.
//!
//! A key's successor is remembered with it, so a run of predictions goes round a cycle of keys. As long as it does, each
//! slot is the one of an iteration before plus the key's stride, and whether it is so is told by arithmetic on whole slots, many
//! at a time. What the entries of the keys would have learnt meanwhile follows from the slots of the last iteration, so
//! it is put into them only when the encoder leaves the cycle. A key whose address is not the expected one (the end of a row)
//! costs its token and the cycle goes on.
use super::predict::Entry;
use super::slot;

/// Most keys of a cycle.
const KEYS_MAX: usize = 256;
/// Steps are repeated so far beyond one iteration that the slots of a batch are compared in one go.
const AHEAD: usize = 64;
/// Slots of which it is found out at once whether they are as expected.
const COMPARED: usize = 8;
/// What a miss costs, in references that the cycle must have saved before.
const MISS: i32 = 12;
/// Savings beyond which no more is put by.
const SAVED_MAX: i32 = 256;

/// The cycle in which the encoder is, if it is in one.
#[derive(Debug, Default)]
pub(super) struct Cycle {
    /// Whether the encoder is in it.
    pub(super) active: bool,
    /// Whether any of the keys is a spin.
    pub(super) spins: bool,
    keys: Vec<u16>,
    /// Slot of the last reference of each key.
    last: Vec<[u64; 2]>,
    /// What is added to the last slot of each key for the expected one, repeated.
    steps: Vec<[u64; 2]>,
    /// The reference, counted since the encoder is in the cycle, at which each key's address was last missed.
    missed: Vec<usize>,
    /// Place in the cycle of the key that is expected next.
    at: usize,
    /// References since the encoder is in the cycle.
    walked: usize,
    saved: i32,
}

impl Cycle {
    /// Tries to find the cycle that goes on from key `current`; whether there is one, which the encoder is in then.
    pub(super) fn enter(&mut self, entries: &[Entry], current: u16) -> bool {
        let known = self.keys.len();
        self.active = self.collect(entries, current).is_some();
        if !self.active {
            self.steps.clear();
            return false;
        }
        let len = self.keys.len();
        (self.at, self.walked, self.saved) = (0, 0, MISS);
        self.missed.clear();
        self.missed.resize(len, usize::MAX);
        let strides = self.keys.iter().map(|&key| entries[usize::from(key)].stride);
        // Often it is the cycle that the encoder has just left, with the same strides.
        if known != len
            || self.steps.len() != len + AHEAD
            || !strides.clone().eq(self.steps.iter().map(|s| s[0]).take(len))
        {
            self.steps.clear();
            self.steps.extend(strides.map(|stride| [stride, 0]).cycle().take(len + AHEAD));
        }
        true
    }

    fn collect(&mut self, entries: &[Entry], current: u16) -> Option<()> {
        self.keys.clear();
        self.last.clear();
        self.spins = false;
        let mut from = entries.get(usize::from(current))?;
        loop {
            if from.next_missed || self.keys.len() >= KEYS_MAX {
                return None;
            }
            let key = from.next;
            let e = entries.get(usize::from(key))?;
            self.keys.push(key);
            self.last.push(slot::of(e.last, e.meta, e.pc)?);
            self.spins |= e.is_spin();
            if key == current {
                return Some(());
            }
            from = e;
        }
    }

    /// Goes on over the first of `slots`, as far as they are as expected; returns how many are.
    #[inline]
    pub(super) fn walk(&mut self, slots: &[[u64; 2]]) -> usize {
        let n = self.matching(slots);
        self.note(&slots[..n]);
        n
    }

    /// How many of the first `slots` are as expected.
    fn matching(&self, slots: &[[u64; 2]]) -> usize {
        let len = self.keys.len();
        let (mut done, mut place) = (0, self.at);
        while done < slots.len() {
            let (n, before) = if done < len {
                let n = (len - place).min(len - done).min(slots.len() - done);
                (n, &self.last[place..place + n])
            } else {
                // What stands an iteration before is among the slots themselves.
                let n = (self.steps.len() - place).min(slots.len() - done);
                (n, &slots[done - len..done - len + n])
            };
            let same = as_expected(&slots[done..done + n], before, &self.steps[place..place + n]);
            done += same;
            if same < n {
                break;
            }
            place = self.wrap(place + n);
        }
        done
    }

    /// The place in the cycle that is `place`, which may lie iterations ahead.
    #[inline]
    fn wrap(&self, place: usize) -> usize {
        let len = self.keys.len();
        if place < len {
            place
        } else if place < 2 * len {
            place - len
        } else {
            place % len
        }
    }

    /// Takes note of slots that are as expected.
    fn note(&mut self, slots: &[[u64; 2]]) {
        let len = self.keys.len();
        let mut iteration = &slots[slots.len().saturating_sub(len)..];
        let end = self.wrap(self.at + slots.len());
        let mut place = if slots.len() < len { self.at } else { end };
        while !iteration.is_empty() {
            let (now, rest) = iteration.split_at(iteration.len().min(len - place));
            self.last[place..place + now.len()].copy_from_slice(now);
            (iteration, place) = (rest, 0);
        }
        self.at = end;
        self.walked += slots.len();
        self.saved = SAVED_MAX.min(self.saved + slots.len().min(SAVED_MAX as usize) as i32);
    }

    /// The key that is expected next; its entry in `entries` is brought up to date. With it the address of the reference before.
    pub(super) fn expected(&self, entries: &mut [Entry]) -> (u16, u64) {
        let len = self.keys.len();
        self.settle(self.at, len, entries);
        (self.keys[self.at], slot::addr(&self.last[self.wrap(self.at + len - 1)]))
    }

    /// Goes on over a reference of the expected key whose entry `e` has taken note of it.
    pub(super) fn pass(&mut self, slot: &[u64; 2], e: &Entry) {
        let (len, at) = (self.keys.len(), self.at);
        self.last[at] = slot::clean(slot);
        if self.steps[at][0] != e.stride {
            self.steps[at..].iter_mut().step_by(len).for_each(|step| step[0] = e.stride);
        }
        if e.addr_missed {
            self.missed[at] = self.walked;
        }
        self.at = self.wrap(at + 1);
        self.walked += 1;
        self.saved -= MISS;
    }

    /// Whether so many addresses were missed that the encoder had better leave.
    pub(super) fn is_lost(&self) -> bool {
        self.saved < 0
    }

    /// Leaves the cycle and brings the entries up to date. Returns how many references the encoder was in it, the key of
    /// the last one and the key that is expected next.
    pub(super) fn leave(&mut self, entries: &mut [Entry]) -> (usize, u16, u16) {
        let len = self.keys.len();
        for place in 0..len {
            let ago = self.wrap(self.at + len - place - 1) + 1;
            self.settle(place, ago, entries);
        }
        self.active = false;
        (self.walked, self.keys[self.wrap(self.at + len - 1)], self.keys[self.at])
    }

    /// Brings the entry of the key at `place` up to date, which was last referenced `ago` references ago.
    fn settle(&self, place: usize, ago: usize, entries: &mut [Entry]) {
        let e = &mut entries[usize::from(self.keys[place])];
        e.last = slot::addr(&self.last[place]);
        if let Some(when) = self.walked.checked_sub(ago) {
            e.addr_missed = self.missed[place] == when;
        }
    }
}

/// How many of the first slots `now` are those of an iteration `before` plus the steps; all three are equally long. A word whose upper 16 bits
/// change is not.
#[inline]
fn as_expected(now: &[[u64; 2]], before: &[[u64; 2]], steps: &[[u64; 2]]) -> usize {
    let mut done = 0;
    let chunks = now.as_chunks::<COMPARED>().0.iter().zip(before.as_chunks().0).zip(steps.as_chunks().0);
    for ((now, before), steps) in chunks {
        if !slot::are_as_expected(now, before, steps) {
            break;
        }
        done += COMPARED;
    }
    let slots = now[done..].iter().zip(&before[done..]).zip(&steps[done..]);
    done + slots.take_while(|((now, before), steps)| slot::difference(now, before, steps) == [0; 2]).count()
}
