//! Where bytes lie: changes of layout that are no stride.
use super::pad::{FRESH_SPACES, Padding};
use hashbrown::HashSet;
use homenode_analysis::Part;
use homenode_base::spaces::tag;
use homenode_trace::{Merged, Op};

/// Copies of more than this for each processor are not simulated.
const COPY_MAX: u64 = 1 << 30;

/// One change of where bytes lie.
#[derive(Clone, Debug)]
pub(super) enum Move {
    Pad(Padding),
    Regroup(Regrouped),
    Deal(Vec<Dealt>),
    Copy(Copies),
}

impl Move {
    /// Where the byte at `addr` goes for this processor, and the last byte that goes there with it in one piece.
    fn moved(&mut self, addr: u64, cpu: u16) -> (u64, u64) {
        match self {
            Move::Pad(padding) => padding.moved(addr),
            Move::Regroup(regrouped) => regrouped.moved(addr),
            Move::Deal(all) => moved(all, addr),
            Move::Copy(copies) => copies.moved(addr, cpu),
        }
    }
    #[inline]
    fn may_hold(&self, first: u64, last: u64) -> bool {
        let hull = match self {
            Move::Pad(padding) => return padding.may_hold(first, last),
            Move::Regroup(r) => r.parts.first().zip(r.parts.last()).map(|(a, b)| (a.addr, b.last)),
            Move::Deal(all) => all.first().zip(all.last()).map(|(a, b)| (a.from, b.last)),
            Move::Copy(c) => c.ranges.first().zip(c.ranges.last()).map(|(a, b)| (a.from, b.last)),
        };
        hull.is_some_and(|(from, to)| last < first || (last >= from && first <= to))
    }
    /// What the changed program does at its end besides.
    pub(super) fn finish(&mut self, out: &mut impl FnMut(&Merged)) {
        if let Move::Copy(copies) = self {
            copies.add_up(out);
        }
    }
}

/// Moves one reference, in pieces where it must be. Each byte is moved by the first of these that knows it.
#[inline]
pub(super) fn apply(all: &mut [Move], r: &Merged, cpu: u16, out: &mut impl FnMut(&Merged)) {
    let last = r.addr.wrapping_add(u64::from(r.size.max(1)) - 1);
    if !all.iter().any(|m| m.may_hold(r.addr, last)) {
        return out(r);
    }
    let (mut addr, mut left) = (r.addr, u64::from(r.size.max(1)));
    while left > 0 {
        let (mut to, mut piece_last) = (addr, u64::MAX);
        for change in &mut *all {
            let (moved, last) = change.moved(addr, cpu);
            piece_last = piece_last.min(last);
            if to == addr {
                to = moved;
            }
        }
        let bytes = (piece_last - addr).min(left - 1) + 1;
        out(&Merged { addr: to, size: bytes as u32, ..*r });
        addr = addr.wrapping_add(bytes);
        left -= bytes;
    }
}

/// The first of `all`, ascending and disjoint by last byte, that ends at `addr` or later.
fn find<T>(all: &[T], addr: u64, last: impl Fn(&T) -> u64) -> Option<&T> {
    all.get(all.partition_point(|t| last(t) < addr))
}

fn align(at: u64, line_bytes: u64) -> u64 {
    at.checked_next_multiple_of(line_bytes.max(1)).unwrap_or(at)
}

#[derive(Clone, Copy, Debug)]
struct Moved {
    addr: u64,
    last: u64,
    fresh: u64,
}

/// See [`Transform::Regroup`](super::Transform::Regroup).
#[derive(Clone, Debug)]
pub(super) struct Regrouped {
    /// Ascending, disjoint.
    parts: Vec<Moved>,
}

impl Regrouped {
    /// Parts that are empty, overlap an earlier one or reach past the address space are left where they are.
    pub(super) fn new(parts: &[Part], line_bytes: u64, area: u32) -> Regrouped {
        let mut sorted = parts.to_vec();
        sorted.sort_unstable_by_key(|p| (p.addr, p.bytes, p.group));
        let mut end = 0;
        sorted.retain(|p| {
            let fits = p.bytes > 0 && p.addr >= end && p.addr.checked_add(p.bytes).is_some();
            end = if fits { p.addr + p.bytes } else { end };
            fits
        });
        sorted.sort_by_key(|p| p.group);
        let mut next = tag(FRESH_SPACES + area);
        let mut moved: Vec<Moved> = Vec::with_capacity(sorted.len());
        for group in sorted.chunk_by(|a, b| a.group == b.group) {
            next = align(next, line_bytes);
            for p in group {
                moved.push(Moved { addr: p.addr, last: p.addr + p.bytes - 1, fresh: next });
                next = next.saturating_add(p.bytes);
            }
        }
        moved.sort_unstable_by_key(|p| p.addr);
        Regrouped { parts: moved }
    }
    fn moved(&self, addr: u64) -> (u64, u64) {
        match find(&self.parts, addr, |p| p.last) {
            None => (addr, u64::MAX),
            Some(p) if addr < p.addr => (addr, p.addr - 1),
            Some(p) => (p.fresh + (addr - p.addr), p.last),
        }
    }
}

/// One array of a [`Transform::DealBlocks`](super::Transform::DealBlocks).
#[derive(Clone, Debug)]
pub(super) struct Dealt {
    from: u64,
    last: u64,
    element_bytes: u64,
    /// By element of a round: begin of its owner's block, elements of that owner in a round, and which of them it is.
    round: Vec<(u64, u64, u64)>,
}

/// Arrays that are empty, overlap an earlier one or reach past the address space are left as they are.
pub(super) fn deal(arrays: &[((u64, u64), Vec<u32>)], element_bytes: u64, line_bytes: u64, area: u32) -> Vec<Dealt> {
    let (mut out, mut next): (Vec<Dealt>, u64) = (Vec::new(), tag(FRESH_SPACES + area));
    let mut sorted: Vec<_> = arrays.iter().collect();
    sorted.sort_unstable();
    for ((from, elements), owners) in sorted {
        let bytes = elements.checked_mul(element_bytes).filter(|b| *b > 0 && !owners.is_empty());
        let end = bytes.and_then(|b| from.checked_add(b)).filter(|end| next.checked_add(2 * (end - from)).is_some());
        let Some(end) = end else { continue };
        if out.last().is_some_and(|a: &Dealt| *from <= a.last) {
            continue;
        }
        let mut distinct = owners.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let mut round = vec![(0, 0, 0); owners.len()];
        for owner in distinct {
            next = align(next, line_bytes);
            let mine: Vec<usize> = (0..owners.len()).filter(|k| owners[*k] == owner).collect();
            for (rank, k) in mine.iter().enumerate() {
                round[*k] = (next, mine.len() as u64, rank as u64);
            }
            let rounds = elements.div_ceil(owners.len() as u64);
            next = next.saturating_add(rounds.saturating_mul(mine.len() as u64 * element_bytes));
        }
        out.push(Dealt { from: *from, last: end - 1, element_bytes, round });
    }
    out
}

fn moved(all: &[Dealt], addr: u64) -> (u64, u64) {
    match find(all, addr, |a| a.last) {
        None => (addr, u64::MAX),
        Some(a) if addr < a.from => (addr, a.from - 1),
        Some(a) => {
            let (element, within) = ((addr - a.from) / a.element_bytes, (addr - a.from) % a.element_bytes);
            let rounds = a.round.len() as u64;
            let (block, each, rank) = a.round[(element % rounds) as usize];
            let index = element / rounds * each + rank;
            (block + index * a.element_bytes + within, addr + (a.element_bytes - 1 - within))
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Range {
    from: u64,
    last: u64,
    /// Offset in the copy.
    offset: u64,
}

/// See [`Transform::CopyPerProcessor`](super::Transform::CopyPerProcessor).
#[derive(Clone, Debug)]
pub(super) struct Copies {
    /// Ascending, disjoint.
    ranges: Vec<Range>,
    fresh: u64,
    /// From copy to copy, a multiple of the line.
    stride: u64,
    line_bytes: u64,
    /// Lines of copies in use.
    used: HashSet<u64>,
}

impl Copies {
    /// Ranges that are empty, overlap an earlier one or reach past the address space are left shared; all are if they
    /// are too long to copy.
    pub(super) fn new(ranges: &[(u64, u64)], line_bytes: u64, area: u32) -> Copies {
        let line_bytes = line_bytes.max(1);
        let mut sorted = ranges.to_vec();
        sorted.sort_unstable();
        let (mut out, mut offset): (Vec<Range>, u64) = (Vec::new(), 0);
        for (from, bytes) in sorted {
            let Some(end) = from.checked_add(bytes).filter(|_| bytes > 0) else { continue };
            if out.last().is_some_and(|r| from <= r.last) {
                continue;
            }
            out.push(Range { from, last: end - 1, offset });
            offset = align(offset.saturating_add(bytes), line_bytes);
        }
        if offset > COPY_MAX {
            out.clear();
        }
        let (fresh, stride) = (tag(FRESH_SPACES + area), offset.min(COPY_MAX));
        Copies { ranges: out, fresh, stride, line_bytes, used: HashSet::new() }
    }
    fn moved(&mut self, addr: u64, cpu: u16) -> (u64, u64) {
        match find(&self.ranges, addr, |r| r.last) {
            None => (addr, u64::MAX),
            Some(r) if addr < r.from => (addr, r.from - 1),
            Some(r) => {
                let to = self.fresh + u64::from(cpu) * self.stride + r.offset + (addr - r.from);
                self.used.insert(to / self.line_bytes);
                // Line by line, so that every line in use is known.
                (to, r.last.min(addr + (self.line_bytes - 1 - to % self.line_bytes)))
            }
        }
    }
    /// The first thread reads all copies.
    fn add_up(&mut self, out: &mut impl FnMut(&Merged)) {
        let mut lines: Vec<u64> = self.used.drain().collect();
        lines.sort_unstable();
        for line in lines {
            out(&Merged {
                addr: line * self.line_bytes,
                size: 8,
                weight: 1,
                thread: 0,
                op: Op::Read,
                ..Merged::default()
            });
        }
    }
}

#[cfg(test)]
#[path = "moves_tests.rs"]
mod tests;
