//! Fields of all elements of an object row, and how they are used.
use super::census::{Census, WORD_SHIFT, WordUse};
use homenode_analysis::UNKNOWN_OBJECT;
use homenode_base::NodeId;
use homenode_base::spaces::{tag, unflatten};
use homenode_sim::Objects;
use std::collections::{BTreeMap, HashMap};

/// Where no type is known, blocks up to this size are taken for structures: each place in them is a unit.
const STRUCTURE_BYTES_MAX: u64 = 256;
/// A unit is owned if so many in [`OWNED_OF`] references to its words are by the owners of the words.
const OWNED: u64 = 7;
/// See [`OWNED`].
const OWNED_OF: u64 = 8;
/// A unit is read if it is written at most once in so many references.
const READ_OF: u64 = 16;

/// How a unit is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Each word by one processor.
    Owned,
    /// By several, written seldom.
    Read,
    /// By several, written by some.
    Shared,
}

/// A field of all elements of a row.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) row: u32,
    /// As it is written after the object's name; empty for all of an object.
    pub(super) name: String,
    /// Bytes of an element of the array that the object is, if it is one.
    pub(super) element_bytes: Option<u64>,
    pub(super) refs: u64,
    writes: u64,
    /// References by the owners of words.
    own: u64,
    /// Whether it may move: nobody knows where memory without an extent ends.
    pub(super) movable: bool,
    pub(super) class: Class,
}

/// A word of a unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word {
    pub(super) unit: u32,
    /// Flat address.
    pub(super) addr: u64,
    /// First and last byte of the field or place that moves in one piece.
    pub(super) from: u64,
    pub(super) last: u64,
    /// First byte of the element of the object's array, or of the word.
    pub(super) element: u64,
    pub(super) element_last: u64,
    /// First byte of the allocation, and the bytes of it.
    pub(super) start: u64,
    pub(super) owner: NodeId,
    pub(super) uses: WordUse,
}

/// Everything that is known of the words of a census.
pub(super) struct Units {
    pub(super) units: Vec<Unit>,
    /// By row and address.
    pub(super) words: Vec<Word>,
}

/// What is known of an offset of elements of a row: the unit, and where in the element the field lies.
#[derive(Clone, Copy)]
struct Place {
    unit: u32,
    at: u64,
    bytes: u64,
}

/// Fields of one row, each looked up once for all elements.
#[derive(Default)]
struct Row {
    /// Bytes of an element, once known.
    element_bytes: Option<u64>,
    places: HashMap<(u64, bool), Place>,
    names: BTreeMap<String, u32>,
}

impl Units {
    pub(super) fn of(census: &Census, objects: &dyn Objects) -> Units {
        let mut all = Units { units: Vec::new(), words: Vec::new() };
        for (&row, words) in &census.rows {
            let mut known = Row::default();
            let mut extent: Option<(u64, u64)> = None;
            for (word, uses) in words {
                let addr = word << WORD_SHIFT;
                if extent.is_none_or(|(start, bytes)| addr.wrapping_sub(start) >= bytes) {
                    extent = extent_of(objects, row, addr);
                }
                let word = all.word(&mut known, row, addr, (extent, uses), objects);
                all.words.push(word);
            }
            let first = all.words.len() - words.len();
            all.words[first..].chunk_by_mut(|a, b| a.element == b.element).for_each(give_unused);
        }
        all.count();
        all
    }

    fn word(
        &mut self,
        known: &mut Row,
        row: u32,
        addr: u64,
        (extent, uses): (Option<(u64, u64)>, &WordUse),
        objects: &dyn Objects,
    ) -> Word {
        let owner = uses.owner().0;
        let width = u64::from(uses.bytes.clamp(4, 64));
        let Some((start, bytes)) = extent else {
            let unit = self.unit(known, row, String::new(), None, false);
            let (from, last) = (addr, addr + width - 1);
            let (element, element_last) = (from, last);
            return Word { unit, addr, from, last, element, element_last, start: addr, owner, uses: *uses };
        };
        let offset = addr - start;
        let field = known.element_bytes.filter(|each| bytes > *each).map(|each| (offset % each, true));
        let key = field.unwrap_or((offset, false));
        let element = |each: u64| if bytes > each { offset / each * each } else { 0 };
        if let Some(place) = known.places.get(&key).copied().filter(|_| known.element_bytes.is_some()) {
            let each = known.element_bytes.unwrap_or(bytes);
            let begin = start + element(each);
            let (from, last) = whole_words(addr, begin.wrapping_add(place.at), place.bytes);
            let (element, element_last) = (begin, begin + (each.min(bytes) - 1));
            return Word { unit: place.unit, addr, from, last, element, element_last, start, owner, uses: *uses };
        }
        let (space, plain) = unflatten(addr);
        if let Some(f) = objects.field(row, space, plain).filter(|f| f.element_bytes > 0 && f.bytes > 0) {
            let salted = |a: u64| a ^ tag(space);
            let (begin, from) = (salted(f.element_addr), salted(f.addr));
            let array = (bytes > f.element_bytes).then_some(f.element_bytes);
            let unit = self.unit(known, row, f.member, array, true);
            let key = if array.is_some() { ((addr - begin) % f.element_bytes, true) } else { (offset, false) };
            known.element_bytes = known.element_bytes.or(Some(f.element_bytes));
            if known.element_bytes == Some(f.element_bytes) {
                known.places.insert(key, Place { unit, at: from.wrapping_sub(begin), bytes: f.bytes });
            }
            let (from, last) = whole_words(addr, from, f.bytes);
            let element_last = begin + (f.element_bytes.min(bytes) - 1);
            return Word { unit, addr, from, last, element: begin, element_last, start, owner, uses: *uses };
        }
        let small = bytes <= STRUCTURE_BYTES_MAX;
        let unit = self.unit(known, row, if small { format!(" +{offset}") } else { String::new() }, None, true);
        let last = (addr + width - 1).min(start + (bytes - 1));
        let (element, element_last) = if small { (start, start + (bytes - 1)) } else { (addr, last) };
        Word { unit, addr, from: addr, last, element, element_last, start, owner, uses: *uses }
    }

    fn unit(&mut self, known: &mut Row, row: u32, name: String, element_bytes: Option<u64>, movable: bool) -> u32 {
        if let Some(&unit) = known.names.get(&name) {
            let unit_of = &mut self.units[unit as usize];
            unit_of.element_bytes = unit_of.element_bytes.or(element_bytes);
            unit_of.movable &= movable;
            return unit;
        }
        let unit = self.units.len() as u32;
        known.names.insert(name.clone(), unit);
        let (refs, writes, own, class) = (0, 0, 0, Class::Shared);
        let movable = movable && row != UNKNOWN_OBJECT;
        self.units.push(Unit { row, name, element_bytes, refs, writes, own, movable, class });
        unit
    }

    /// Counts what units are used for.
    fn count(&mut self) {
        for word in &self.words {
            let unit = &mut self.units[word.unit as usize];
            unit.refs += u64::from(word.uses.refs);
            unit.writes += u64::from(word.uses.writes);
            unit.own += u64::from(word.uses.owner().1);
        }
        for unit in &mut self.units {
            unit.class = if unit.own * OWNED_OF >= unit.refs * OWNED {
                Class::Owned
            } else if unit.writes * READ_OF <= unit.refs {
                Class::Read
            } else {
                Class::Shared
            };
        }
    }

    pub(super) fn of_word(&self, word: &Word) -> &Unit {
        &self.units[word.unit as usize]
    }
}

/// First and last byte of a field, of the word at least: fields that share a word move together.
fn whole_words(word: u64, from: u64, bytes: u64) -> (u64, u64) {
    (from.min(word), from.saturating_add(bytes - 1).max(word + ((1 << WORD_SHIFT) - 1)))
}

/// In an element that one processor uses, what was only ever written belongs to it too, whoever initialised it.
fn give_unused(element: &mut [Word]) {
    let mut users = element.iter().filter(|w| !w.uses.only_written).map(|w| w.owner);
    let Some(user) = users.next().filter(|user| users.all(|other| other == *user)) else { return };
    element.iter_mut().for_each(|w| w.owner = user);
}

/// The allocation around a flat address.
fn extent_of(objects: &dyn Objects, row: u32, flat: u64) -> Option<(u64, u64)> {
    if row == UNKNOWN_OBJECT {
        return None;
    }
    let (space, addr) = unflatten(flat);
    objects.extent(row, space, addr).map(|(start, bytes)| (start ^ tag(space), bytes)).filter(|(_, bytes)| *bytes > 0)
}
