//! Blocks with so many accesses that they are worked on before the region ends: what their lists hold is given to the
//! kernels, which keep a state of each, and passed on to the halves. So lists stay in a cache, and memory is bounded.
use super::list::{Entry, List};
use super::ops::{NOTHING, Rest};
use super::{Coarse, Shared};
use hashbrown::HashMap;

/// Entries that a list may have before it is worked on: what fits into a second-level cache several times over.
const LIST_ENTRIES: usize = 1 << 14;

/// A block: bits of its size, and its place in the region in blocks of that size.
type Id = (u32, usize);

/// What is kept until the region ends.
pub(super) struct Hot {
    /// Blocks that were worked on, with what is not yet given and the slot of their state.
    begun: HashMap<Id, (Rest, usize)>,
    /// Lists of the halves of those blocks.
    lists: HashMap<Id, List>,
    /// Slots in use, by level; slot 0 is nobody's.
    slots: Vec<usize>,
    /// Entries of all lists, and as many as there may be.
    held: usize,
    most: usize,
    /// Entries that one list may have.
    most_each: usize,
}

impl Hot {
    pub(super) fn new(places: usize, fold_bytes: usize) -> Hot {
        let most = (fold_bytes / size_of::<Entry>()).max(1);
        let most_each = LIST_ENTRIES.min(most.div_ceil(8));
        let (begun, lists) = Default::default();
        Hot { begun, lists, slots: vec![0; places], held: 0, most, most_each }
    }
    /// Forgets the region.
    pub(super) fn clear(&mut self) {
        self.begun.clear();
        self.lists.clear();
        self.slots.fill(0);
        self.held = 0;
    }
}

impl Coarse {
    /// Works on lists that have become long.
    pub(super) fn cool(&mut self, visitor: &mut impl Shared) {
        if !self.tops.iter().any(|list| self.is_long(list, false)) {
            return;
        }
        let mut tops = std::mem::take(&mut self.tops);
        for (index, list) in tops.iter_mut().enumerate() {
            let id = (self.levels.top(), index);
            if self.is_long(list, self.hot.begun.contains_key(&id)) {
                self.drain(list, id, false, visitor);
            }
        }
        self.tops = tops;
        if self.hot.held > self.hot.most {
            self.drain_all(visitor);
        }
    }

    /// Whether a list is to be worked on. As long as it may turn out to be of no interest, that can wait.
    fn is_long(&self, list: &List, begun: bool) -> bool {
        let matters = begun || (list.shared && (list.written || self.reads_cost));
        list.entries.len() >= if matters { self.hot.most_each } else { self.hot.most_each.max(self.hot.most / 8) }
    }

    /// Works on everything, larger blocks first.
    fn drain_all(&mut self, visitor: &mut impl Shared) {
        for bits in (0..self.levels.top()).rev() {
            let full = |(id, list): (&Id, &List)| (id.0 == bits && !list.entries.is_empty()).then_some(*id);
            let ids: Vec<Id> = self.hot.lists.iter().filter_map(full).collect();
            for id in ids {
                let mut list = self.hot.lists.remove(&id).unwrap_or_default();
                self.drain(&mut list, id, false, visitor);
            }
        }
    }

    /// Gives what a list holds and passes it on to the halves. `last`: whether nothing comes after. Memory of the list goes
    /// with it, unless the caller keeps it.
    fn drain(&mut self, list: &mut List, id: Id, last: bool, visitor: &mut impl Shared) {
        let (bits, index) = id;
        list.end(&mut self.table);
        let (rest, mut slot) = self.hot.begun.remove(&id).unwrap_or((NOTHING, 0));
        let mut kept = NOTHING;
        if let Some(level) = self.levels.place(bits) {
            if slot == 0 {
                self.hot.slots[level] += 1;
                slot = self.hot.slots[level];
            }
            self.ops.begin(1, slot, &rest);
            self.give(level, list, bits, visitor);
            if last {
                self.ops.last = true;
                visitor.block(level, &self.ops);
            } else {
                if self.ops.has_given() {
                    visitor.block(level, &self.ops);
                    self.ops.forget();
                }
                kept = self.ops.rest();
            }
        }
        self.hot.begun.insert(id, (kept, slot));
        if self.levels.below(bits) {
            self.pass_on(list, bits - 1, index, last, visitor);
        }
        list.clear();
    }

    fn pass_on(&mut self, list: &List, half: u32, index: usize, last: bool, visitor: &mut impl Shared) {
        let ids = [0, 1].map(|i| (half, 2 * index + i));
        let mut halves = ids.map(|id| self.hot.lists.remove(&id).unwrap_or_default());
        self.hot.held -= halves.iter().map(|list| list.entries.len()).sum::<usize>();
        list.split(half, &mut halves, &mut self.table);
        for (id, mut list) in ids.into_iter().zip(halves) {
            if !last && self.is_long(&list, self.hot.begun.contains_key(&id)) {
                self.drain(&mut list, id, last, visitor);
            }
            self.hot.held += list.entries.len();
            self.hot.lists.insert(id, list);
        }
    }

    /// All that is left of a block: `list` are the accesses not yet worked on.
    pub(super) fn finish(&mut self, list: &mut List, bits: u32, index: usize, visitor: &mut impl Shared) {
        if !self.hot.begun.contains_key(&(bits, index)) {
            return self.block(list, bits, 1, visitor);
        }
        self.drain(list, (bits, index), true, visitor);
        if self.levels.below(bits) {
            for index in [2 * index, 2 * index + 1] {
                let mut list = self.hot.lists.remove(&(bits - 1, index)).unwrap_or_default();
                self.hot.held -= list.entries.len();
                self.finish(&mut list, bits - 1, index, visitor);
            }
        }
    }
}
