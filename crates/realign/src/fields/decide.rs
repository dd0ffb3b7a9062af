//! From uses to a layout.
use super::units::{Class, Unit, Units, Word};
use super::{Census, Change, Keep, Kind, Layout, Range};
use crate::NumberMap;
use crate::area;
use homenode_base::NodeId;
use homenode_base::spaces::USER_LAST;
use homenode_sim::Objects;
use std::collections::{BTreeMap, BTreeSet};

/// A unit is in trouble if one in so many references to it goes to pages where it is.
const TROUBLED_OF: u64 = 16;
/// An object is padded if each of its processors has so many parts of it at most, on average.
const PARTS_PER_USER: usize = 2;
/// Fields that move lie at multiples of this, if they are as large.
const ALIGN: u64 = 8;
/// The areas of what is grouped and of what is padded: those of processors that no machine has.
const GROUPED: NodeId = NodeId(u16::MAX);
/// See [`GROUPED`].
const PADDED: NodeId = NodeId(u16::MAX - 1);

/// Whose a word is, as far as others on its page are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Owned(NodeId),
    Read,
    Shared,
}

/// What lies on a page.
#[derive(Clone, Copy, Debug)]
struct Page {
    side: Side,
    /// Whether there are words of other sides.
    mixed: bool,
    written: bool,
    /// Whether words are written that are shared and stay.
    shared_written: bool,
}

fn side(unit: &Unit, word: &Word) -> Side {
    match unit.class {
        _ if !unit.movable => Side::Shared,
        Class::Owned => Side::Owned(word.owner),
        Class::Read => Side::Read,
        Class::Shared => Side::Shared,
    }
}

/// The layout for pages of this size, a power of two of bytes. `objects` says what data is called; only changes that `keep` wants are
/// made.
pub fn layout(census: &Census, objects: &dyn Objects, page_bytes: u64, keep: Keep<'_>) -> Layout {
    let units = Units::of(census, objects);
    let leaving = troubled(&units, page_bytes.trailing_zeros());
    let mut areas = Areas { page_bytes, next: BTreeMap::new() };
    let mut layout = Layout::default();
    for words in units.words.chunk_by(|a, b| units.of_word(a).row == units.of_word(b).row) {
        let row = units.of_word(&words[0]).row;
        if !words.iter().any(|w| leaving[w.unit as usize]) {
            continue;
        }
        let mut ranges = Vec::new();
        for (kind, words) in changes(&units, words, &leaving) {
            if keep(row, kind) {
                let (made, part_bytes) = areas.place(kind, &words);
                layout.changes.push(change(&units, (row, kind), &words, (&made, part_bytes), objects));
                ranges.extend(made);
            }
        }
        let ranges = disjoint(ranges);
        if !ranges.is_empty() {
            layout.ranges.insert(row, ranges);
        }
    }
    layout
}

/// Which units are in trouble where they are.
fn troubled(units: &Units, page_shift: u32) -> Vec<bool> {
    let mut pages: NumberMap<Page> = NumberMap::default();
    for word in &units.words {
        let side = side(units.of_word(word), word);
        let written = word.uses.writes > 0;
        let shared_written = written && side == Side::Shared;
        let page = pages.entry(word.addr >> page_shift).or_insert(Page { side, mixed: false, written, shared_written });
        page.mixed |= page.side != side;
        page.written |= written;
        page.shared_written |= shared_written;
    }
    let mut trouble = vec![0u64; units.units.len()];
    for word in &units.words {
        let page = &pages[&(word.addr >> page_shift)];
        let is = match side(units.of_word(word), word) {
            Side::Owned(_) => page.mixed && page.written,
            Side::Read => page.shared_written,
            Side::Shared => false,
        };
        trouble[word.unit as usize] += if is { u64::from(word.uses.refs) } else { 0 };
    }
    units.units.iter().zip(trouble).map(|(unit, refs)| refs > 0 && refs * TROUBLED_OF >= unit.refs).collect()
}

/// What is done to an object, and to which of its words.
fn changes(units: &Units, words: &[Word], leaving: &[bool]) -> Vec<(Kind, Vec<Word>)> {
    let owned = |w: &Word| matches!(side(units.of_word(w), w), Side::Owned(_));
    let owners: BTreeSet<u16> = words.iter().map(|w| w.owner.0).collect();
    let parts = words.chunk_by(|a, b| (a.start, a.owner) == (b.start, b.owner)).count();
    if owners.len() > 1 && words.iter().all(owned) && parts <= PARTS_PER_USER * owners.len() {
        return vec![(Kind::Pad, words.to_vec())];
    }
    let of = |kind: Kind, wanted: bool| {
        let moves = |w: &&Word| leaving[w.unit as usize] && owned(w) == wanted;
        (kind, words.iter().filter(moves).copied().collect::<Vec<Word>>())
    };
    [of(Kind::Separate, true), of(Kind::Group, false)].into_iter().filter(|(_, words)| !words.is_empty()).collect()
}

fn change(
    units: &Units,
    (row, kind): (u32, Kind),
    words: &[Word],
    (made, part_bytes): (&[Range], u64),
    objects: &dyn Objects,
) -> Change {
    let moved: BTreeSet<u32> = words.iter().map(|w| w.unit).collect();
    let is_whole = units.units.iter().zip(0..).filter(|(u, _)| u.row == row).all(|(_, number)| moved.contains(&number));
    let mut fields: Vec<String> = moved.iter().map(|u| units.units[*u as usize].name.clone()).collect();
    fields.sort_unstable();
    let users: BTreeSet<u16> = words.iter().map(|w| w.owner.0).collect();
    let pads = kind == Kind::Pad;
    Change {
        kind,
        row,
        object: objects.object(row),
        fields: if pads { Vec::new() } else { fields },
        rest: !is_whole,
        element_bytes: moved.iter().find_map(|u| units.units[*u as usize].element_bytes),
        parts: if pads { made.len() as u64 } else { 0 },
        part_bytes,
        users: users.into_iter().map(NodeId).collect(),
        refs: words.iter().map(|w| u64::from(w.uses.refs)).sum(),
    }
}

/// Memory that is given out.
struct Areas {
    page_bytes: u64,
    next: BTreeMap<u16, u64>,
}

impl Areas {
    /// New places of these words, which are all of one object, and the bytes of the largest part if it is padded.
    fn place(&mut self, kind: Kind, words: &[Word]) -> (Vec<Range>, u64) {
        if kind == Kind::Pad {
            return self.pad(words);
        }
        let mut ranges: Vec<Range> = Vec::new();
        for field in words.chunk_by(|a, b| a.from == b.from) {
            let busiest = field.iter().max_by_key(|w| w.uses.refs).expect("chunks have words");
            let to = if kind == Kind::Group { GROUPED } else { busiest.owner };
            let bytes = field[0].last - field[0].from + 1;
            let align = if bytes < ALIGN { ALIGN / 2 } else { ALIGN };
            if let Some(to) = self.take(to, bytes, align) {
                ranges.push(Range { from: field[0].from, last: field[0].last, to });
            }
        }
        (ranges, 0)
    }

    /// Each processor's part of each allocation begins at a page.
    fn pad(&mut self, words: &[Word]) -> (Vec<Range>, u64) {
        let mut ranges: Vec<Range> = Vec::new();
        for part in words.chunk_by(|a, b| (a.start, a.owner) == (b.start, b.owner)) {
            let (first, last) = (part[0], part[part.len() - 1]);
            let before = ranges.last_mut().map_or(0, |r| {
                r.last = r.last.min(first.from.max(r.from + 1) - 1);
                r.last + 1
            });
            let from = first.element.max(before);
            ranges.push(Range { from, last: last.element_last.max(last.last), to: 0 });
        }
        let largest = ranges.iter().map(|r| r.last - r.from + 1).max().unwrap_or(0);
        let align = self.page_bytes;
        let place = |r: Range| self.take(PADDED, r.last - r.from + 1, align).map(|to| Range { to, ..r });
        (ranges.into_iter().filter_map(place).collect(), largest)
    }

    /// The next free bytes of an area; `None` if it is full, after 2^47 bytes.
    fn take(&mut self, of: NodeId, bytes: u64, align: u64) -> Option<u64> {
        let next = self.next.entry(of.0).or_insert(area(of));
        let at = next.checked_next_multiple_of(align)?;
        let end = at.checked_add(bytes)?;
        if end > (area(of) | USER_LAST) {
            return None;
        }
        *next = end;
        Some(at)
    }
}

/// Ranges in order of address: of two that overlap (memory that was used again, otherwise divided) the first one moves;
/// neighbours that stay neighbours become one.
fn disjoint(mut ranges: Vec<Range>) -> Vec<Range> {
    ranges.sort_unstable_by_key(|r| (r.from, r.last));
    let mut out: Vec<Range> = Vec::with_capacity(ranges.len());
    for r in ranges {
        match out.last_mut() {
            Some(before) if r.from <= before.last => {}
            Some(before) if before.last + 1 == r.from && before.to + (r.from - before.from) == r.to => {
                before.last = r.last
            }
            _ => out.push(r),
        }
    }
    out
}
