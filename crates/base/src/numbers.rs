//! Sets of sequence numbers, such as one for each synchronisation object. They lie close together, so that a bit each is enough; where
//! they do not they are kept as they are.
use std::collections::{BTreeMap, BTreeSet};

/// Bits spent for each number of an object at most.
const BITS: u64 = 16;

/// Sets, each with a number of its own.
#[derive(Debug)]
pub struct Numbers {
    sets: Vec<Set>,
    bits: Vec<u64>,
    far: BTreeMap<u32, BTreeSet<u64>>,
}

#[derive(Clone, Copy, Debug)]
struct Set {
    count: u64,
    least: u64,
    largest: u64,
    /// Index of the set's first word.
    start: usize,
    /// Words without any before it.
    low: usize,
}

/// Counts the numbers of each set before they are entered.
#[derive(Clone, Debug)]
pub struct Room {
    sets: Vec<Set>,
}

impl Room {
    /// Nothing counted, of so many sets.
    pub fn new(sets: usize) -> Room {
        let none = Set { count: 0, least: u64::MAX, largest: 0, start: 0, low: 0 };
        Room { sets: vec![none; sets] }
    }
    /// One more number.
    pub fn count(&mut self, set: u32, number: u64) {
        let set = &mut self.sets[set as usize];
        set.count += 1;
        (set.least, set.largest) = (set.least.min(number), set.largest.max(number));
    }
}

impl Set {
    fn words(&self) -> usize {
        let span = self.largest.saturating_sub(self.least);
        if self.count == 0 || span / BITS > self.count { 0 } else { (span / 64) as usize + 1 }
    }
}

impl Numbers {
    /// Empty sets with the room that was counted.
    pub fn new(counted: Room) -> Numbers {
        let Room { mut sets } = counted;
        let mut words = 0;
        for set in &mut sets {
            set.start = words;
            words += set.words();
            set.low = set.words();
        }
        Numbers { sets, bits: vec![0; words], far: BTreeMap::new() }
    }

    /// Word and bit of a number; `None` if the object's are kept as they are.
    fn place(&self, object: u32, number: u64) -> Option<(usize, u64)> {
        let set = &self.sets[object as usize];
        if set.words() == 0 {
            return None;
        }
        let at = number - set.least;
        Some(((at / 64) as usize, 1 << (at % 64)))
    }

    /// Adds a number that room was made for. Whether it was not there yet.
    pub fn insert(&mut self, object: u32, number: u64) -> bool {
        let Some((word, bit)) = self.place(object, number) else {
            return self.far.entry(object).or_default().insert(number);
        };
        let set = &mut self.sets[object as usize];
        set.low = set.low.min(word);
        let word = &mut self.bits[set.start + word];
        let fresh = *word & bit == 0;
        *word |= bit;
        fresh
    }

    /// Takes a number out, if it is there.
    pub fn remove(&mut self, object: u32, number: u64) {
        match self.place(object, number) {
            Some((word, bit)) => self.bits[self.sets[object as usize].start + word] &= !bit,
            None => drop(self.far.get_mut(&object).map(|set| set.remove(&number))),
        }
    }

    /// Whether there is a number between two others.
    pub fn any_between(&self, object: u32, above: u64, below: u64) -> bool {
        let Some(set) = self.sets.get(object as usize).filter(|s| s.count > 0 && above < below) else { return false };
        let (from, to) = (set.least.max(above + 1), set.largest.min(below - 1));
        if from > to {
            return false;
        }
        if set.words() == 0 {
            return self.far.get(&object).is_some_and(|set| set.range(from..=to).next().is_some());
        }
        let ((first, last), bits) = ((from - set.least, to - set.least), &self.bits[set.start..]);
        let word = |w: u64| {
            let low = if w == first / 64 { u64::MAX << (first % 64) } else { u64::MAX };
            let high = if w == last / 64 { u64::MAX >> (63 - last % 64) } else { u64::MAX };
            bits[w as usize] & low & high != 0
        };
        (first / 64..=last / 64).any(word)
    }

    /// The least number.
    pub fn first(&mut self, object: u32) -> Option<u64> {
        let set = &mut self.sets[object as usize];
        let words = set.words();
        if words == 0 {
            return self.far.get(&object).and_then(|set| set.first().copied());
        }
        while set.low < words && self.bits[set.start + set.low] == 0 {
            set.low += 1;
        }
        let word = self.bits[set.start..set.start + words].get(set.low)?;
        Some(set.least + set.low as u64 * 64 + u64::from(word.trailing_zeros()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    #[test]
    fn sets_of_bits_are_sets() {
        for seed in 0..500 {
            let mut rng = Rng::new(seed);
            let far = [3, 70, 900, 1 << 30, u64::MAX][rng.below(5) as usize];
            let shift = rng.next_u64() >> rng.below(64);
            let numbers: Vec<u64> = (0..1 + rng.below(50)).map(|_| shift.saturating_add(rng.below(far))).collect();
            let mut room = Room::new(2);
            numbers.iter().for_each(|n| (0..2).for_each(|set| room.count(set, *n)));
            let (mut packed, mut plain) = (Numbers::new(room), BTreeSet::new());
            for _ in 0..200 {
                let n = numbers[rng.below(numbers.len() as u64) as usize];
                if rng.below(2) == 0 {
                    assert_eq!(packed.insert(1, n), plain.insert(n), "seed {seed}");
                } else {
                    packed.remove(1, n);
                    plain.remove(&n);
                }
                assert_eq!(packed.first(1), plain.first().copied(), "seed {seed}");
                assert_eq!(packed.first(0), None);
                let other = numbers[rng.below(numbers.len() as u64) as usize].saturating_add(rng.below(3));
                let between = plain.iter().any(|x| *x > n && *x < other);
                assert_eq!(packed.any_between(1, n, other), between, "seed {seed}: {n} to {other}");
            }
        }
    }
}
