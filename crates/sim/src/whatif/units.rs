//! What is known of some units (lines, blocks) of memory, by number. Units of one array lie close together, so a table of
//! all units from the first to the last is mostly short, and looked up for every reference.
use crate::blocks::NumberMap;

/// A table may have so many places for each unit.
const PLACES_PER_UNIT: u64 = 8;

/// Values by unit.
#[derive(Clone, Debug)]
pub(super) struct Units<T> {
    /// The first unit, and its values' places: index + 1, 0 for nothing.
    first: u64,
    table: Vec<u32>,
    /// Instead of a table, where units lie far apart.
    map: NumberMap<u32>,
    values: Vec<Option<T>>,
    /// Units that have a value.
    left: usize,
    hull: (u64, u64),
}

impl<T> Default for Units<T> {
    fn default() -> Units<T> {
        let (table, map, values) = Default::default();
        Units { first: 0, table, map, values, left: 0, hull: (u64::MAX, 0) }
    }
}

impl<T> Units<T> {
    /// Of two values of a unit the first counts.
    pub(super) fn add(&mut self, all: impl Iterator<Item = (u64, T)>) {
        let mut units: Vec<u64> = Vec::new();
        let mut news: Vec<T> = Vec::new();
        for (unit, value) in all {
            units.push(unit);
            news.push(value);
            self.hull = (self.hull.0.min(unit), self.hull.1.max(unit));
        }
        if units.is_empty() {
            return;
        }
        let span = self.hull.1 - self.hull.0;
        let dense = span / PLACES_PER_UNIT <= (self.values.len() + units.len()) as u64;
        self.lay_out(dense.then_some(span as usize + 1));
        for (unit, value) in units.into_iter().zip(news) {
            if self.place(unit).is_none() {
                self.values.push(Some(value));
                self.set(unit, self.values.len() as u32);
                self.left += 1;
            }
        }
    }

    /// A table for the whole hull, or a map.
    fn lay_out(&mut self, places: Option<usize>) {
        let old: Vec<(u64, u32)> = match self.table.is_empty() {
            true => self.map.drain().collect(),
            false => (self.first..).zip(std::mem::take(&mut self.table)).filter(|(_, place)| *place > 0).collect(),
        };
        self.first = self.hull.0;
        self.table = vec![0; places.unwrap_or(0)];
        old.into_iter().for_each(|(unit, place)| self.set(unit, place));
    }

    fn set(&mut self, unit: u64, place: u32) {
        if self.table.is_empty() {
            self.map.insert(unit, place);
        } else {
            self.table[(unit - self.first) as usize] = place;
        }
    }

    #[inline(always)]
    fn place(&self, unit: u64) -> Option<usize> {
        let place = match self.table.is_empty() {
            true => *self.map.get(&unit)?,
            false => *self.table.get(unit.wrapping_sub(self.first) as usize)?,
        };
        (place > 0).then(|| place as usize - 1)
    }

    /// The value of a unit.
    #[inline]
    pub(super) fn get(&self, unit: u64) -> Option<&T> {
        self.values[self.place(unit)?].as_ref()
    }

    /// Likewise, to change.
    #[inline]
    pub(super) fn get_mut(&mut self, unit: u64) -> Option<&mut T> {
        let place = self.place(unit)?;
        self.values[place].as_mut()
    }

    /// A unit has no value any more.
    pub(super) fn remove(&mut self, unit: u64) {
        if let Some(place) = self.place(unit) {
            self.values[place] = None;
            self.set(unit, 0);
            self.left -= 1;
        }
    }

    /// Whether any unit has a value.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// Lowest and highest unit there has been, in this order only if there has been one.
    #[inline]
    pub(super) fn hull(&self) -> (u64, u64) {
        self.hull
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_base::Rng;
    use std::collections::BTreeMap;

    #[test]
    fn is_a_map_however_far_apart_units_lie() {
        let mut rng = Rng::new(3);
        for case in 0..300 {
            let (mut units, mut map) = (Units::default(), BTreeMap::new());
            let spread = [10, 200, 5_000, u64::MAX][case % 4];
            for _ in 0..1 + rng.below(4) {
                let some: Vec<(u64, u64)> = (0..rng.below(60)).map(|_| (rng.below(spread), rng.next_u64())).collect();
                units.add(some.iter().copied());
                some.iter().for_each(|&(unit, value)| _ = map.entry(unit).or_insert(value));
                for (unit, _) in some.iter().filter(|_| rng.chance(1, 3)) {
                    units.remove(*unit);
                    map.remove(unit);
                }
                for (unit, _) in &some {
                    for near in [unit.wrapping_sub(1), *unit, unit.wrapping_add(1)] {
                        assert_eq!(units.get(near), map.get(&near), "case {case}");
                        assert_eq!(units.get_mut(near), map.get_mut(&near), "case {case}");
                    }
                }
                assert_eq!(units.is_empty(), map.is_empty(), "case {case}");
            }
        }
    }
}
