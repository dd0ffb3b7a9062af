//! Sets of sequence numbers, one for each synchronisation object. They lie close together, so that a bit each is enough; of an object whose
//! numbers do not they are kept as they are.
use crate::dataset::DatasetReader;
use crate::packed::SyncEvent;
use hashbrown::HashMap;
use std::collections::BTreeSet;

/// Bits spent for each number of an object at most.
const BITS: u64 = 16;

#[derive(Debug)]
pub(super) struct Numbers {
    sets: Vec<Set>,
    bits: Vec<u64>,
    far: HashMap<u32, BTreeSet<u64>>,
}

#[derive(Clone, Copy, Debug)]
struct Set {
    count: u64,
    least: u64,
    largest: u64,
    /// Its first word.
    start: usize,
    /// Words without any before it.
    low: usize,
}

impl Set {
    fn words(&self) -> usize {
        let span = self.largest.saturating_sub(self.least);
        if self.count == 0 || span / BITS > self.count { 0 } else { (span / 64) as usize + 1 }
    }
}

/// The acquires and releases of each thread, one after the other.
pub(super) fn each_sync(data: &DatasetReader, mut f: impl FnMut(SyncEvent)) {
    for thread in 0..data.threads() {
        let mut walk = data.thread_events(thread);
        while let Some(item) = walk.item() {
            item.sync().into_iter().for_each(&mut f);
        }
    }
}

impl Numbers {
    /// Empty sets with room for the numbers of these acquires and releases.
    pub(super) fn room(data: &DatasetReader, of: impl Fn(&SyncEvent) -> bool) -> Numbers {
        let none = Set { count: 0, least: u64::MAX, largest: 0, start: 0, low: 0 };
        let mut sets = vec![none; data.events().objects().len()];
        each_sync(data, |s| {
            if of(&s) {
                let set = &mut sets[s.object as usize];
                set.count += 1;
                (set.least, set.largest) = (set.least.min(s.seq), set.largest.max(s.seq));
            }
        });
        Numbers::planned(sets)
    }

    fn planned(mut sets: Vec<Set>) -> Numbers {
        let mut words = 0;
        for set in &mut sets {
            set.start = words;
            words += set.words();
            set.low = set.words();
        }
        Numbers { sets, bits: vec![0; words], far: HashMap::new() }
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
    pub(super) fn insert(&mut self, object: u32, number: u64) -> bool {
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

    pub(super) fn remove(&mut self, object: u32, number: u64) {
        match self.place(object, number) {
            Some((word, bit)) => self.bits[self.sets[object as usize].start + word] &= !bit,
            None => drop(self.far.get_mut(&object).map(|set| set.remove(&number))),
        }
    }

    /// The least number.
    pub(super) fn first(&mut self, object: u32) -> Option<u64> {
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
    use homenode_base::Rng;

    #[test]
    fn sets_of_bits_are_sets() {
        for seed in 0..500 {
            let mut rng = Rng::new(seed);
            let far = [3, 70, 900, 1 << 30, u64::MAX][rng.below(5) as usize];
            let shift = rng.next_u64() >> rng.below(64);
            let numbers: Vec<u64> = (0..1 + rng.below(50)).map(|_| shift.saturating_add(rng.below(far))).collect();
            let (least, largest) = (*numbers.iter().min().expect("some"), *numbers.iter().max().expect("some"));
            let set = Set { count: numbers.len() as u64, least, largest, start: 0, low: 0 };
            let (mut packed, mut plain) = (Numbers::planned(vec![set; 2]), BTreeSet::new());
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
            }
        }
    }
}
