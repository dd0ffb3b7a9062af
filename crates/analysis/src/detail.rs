//! Lines that go from cache to cache, byte by byte.
//!
//! A transfer begins a *life* of the line at its processor, which lasts until the next transfer to that processor. The
//! transfer is *useful* if in this life the processor touches a byte that another one has written, or writes a byte that
//! another has touched, since its last turn before it; else the line came for nothing and the sharing is false (the idea of
//! Dubois et al. 1993, "The detection and elimination of useless misses").
//!
//! Everything here counts processors, not threads: threads that follow each other on one processor share its cache.
use crate::patterns::Piece;
use crate::transfers::{Cause, Class, Transfers};
use crate::watched::{Line, Reference, SiteCount, User, Word};
use hashbrown::HashMap;
use homenode_base::Cost;

/// Lines watched at a time, of all colours, and words, users and sites of them together, about 90 bytes each.
const LINES_MAX: usize = 1 << 18;
const ITEMS_MAX: usize = 2_000_000;
/// Transfers after which a line is watched although its address was not drawn, after the first pruning; doubled by each.
const HOT: u32 = 16;
/// Lines whose transfers are counted for that.
const COUNTED: usize = 1 << 18;

/// The watched lines: a line is watched from its first transfer on. If that takes too much memory, the half with fewer
/// transfers is forgotten; from then on a hash of the address draws which lines are watched, one in two, one in four, and
/// so on, besides those that travel often. What is not watched is counted as such.
#[derive(Debug)]
pub struct Detail {
    lines: HashMap<usize, Line>,
    items: usize,
    limits: (usize, usize),
    /// Places in `counted`, a power of two.
    counters: usize,
    /// How often lines were forgotten.
    level: u32,
    /// (line, transfers) of lines that are not watched; lines that meet in one place count against each other.
    counted: Vec<(usize, u32)>,
    sums: Transfers,
}

fn hash(number: u64) -> u64 {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32
}

impl Detail {
    /// For lines of one of so many colours, a power of two.
    pub(crate) fn new(colours: usize) -> Detail {
        let counters = (COUNTED / colours).max(1);
        Detail { counters, ..Detail::within((LINES_MAX / colours, ITEMS_MAX / colours)) }
    }
    fn within(limits: (usize, usize)) -> Detail {
        let sums = Transfers::default();
        Detail { lines: HashMap::new(), items: 0, limits, counters: COUNTED, level: 0, counted: Vec::new(), sums }
    }
    /// Notes a reference to a watched line.
    pub(crate) fn reference(&mut self, piece: &Piece, r: &Reference) {
        if let Some(line) = self.lines.get_mut(&piece.index) {
            let before = line.items();
            line.reference(r, piece.words);
            self.items += line.items() - before;
        }
    }
    /// Notes a transfer of the line that `piece` touched last, caused by `r`; true if it is watched from now on and was not
    /// before.
    pub(crate) fn transfer(&mut self, piece: &Piece, r: &Reference, cost: Cost) -> bool {
        let cause = Cause { object: r.object, site: r.site };
        if let Some(line) = self.lines.get_mut(&piece.index) {
            line.transfer(cost, cause, r.lock, &mut self.sums);
            return false;
        }
        if self.level > 0 && !self.is_chosen(piece) {
            self.unwatched(r, cost);
            return false;
        }
        let mut line = Line::new(piece.unit, r.object);
        line.reference(r, piece.words);
        line.transfer(cost, cause, r.lock, &mut self.sums);
        self.items += line.items();
        self.lines.insert(piece.index, line);
        true
    }
    /// Whether a line is drawn, or has travelled so often that it must be watched.
    fn is_chosen(&mut self, piece: &Piece) -> bool {
        let drawn = hash(piece.unit) & ((1 << self.level.min(31)) - 1) == 0;
        self.counted.resize(self.counters, (0, 0));
        let (line, transfers) = &mut self.counted[hash(piece.unit) as usize >> 4 & (self.counters - 1)];
        if *line == piece.index {
            *transfers += 1;
        } else if *transfers == 0 {
            (*line, *transfers) = (piece.index, 1);
        } else {
            *transfers -= 1;
        }
        drawn || (*line == piece.index && *transfers >= HOT << self.level.min(16))
    }
    /// Notes a transfer of a line that is not known.
    pub(crate) fn unwatched(&mut self, r: &Reference, cost: Cost) {
        self.sums.add(Class::Unwatched, Cause { object: r.object, site: r.site }, 1, cost);
    }
    /// Whether [`Self::prune`] is due.
    pub(crate) fn is_full(&self) -> bool {
        self.lines.len() > self.limits.0 || self.items > self.limits.1
    }
    /// Forgets the half of the lines with fewer transfers, among equals those that are not drawn; returns their indices.
    /// Transfers of the lines so far stay in the sums.
    pub(crate) fn prune(&mut self) -> Vec<usize> {
        self.level += 1;
        let drawn = |unit: u64| hash(unit).trailing_zeros().min(self.level);
        let mut order: Vec<_> = self
            .lines
            .iter()
            .map(|(&i, l)| (std::cmp::Reverse((l.transfers / u64::from(HOT), drawn(l.unit), l.transfers)), l.unit, i))
            .collect();
        order.sort_unstable();
        let dropped: Vec<usize> = order.drain(order.len() / 2..).map(|o| o.2).collect();
        for i in &dropped {
            let Some(mut line) = self.lines.remove(i) else { continue };
            self.items -= line.items();
            line.finish(&mut self.sums);
        }
        dropped
    }
    /// Bytes of memory held, about.
    pub(crate) fn memory_bytes(&self) -> usize {
        let line = |l: &Line| {
            size_of::<Line>()
                + l.words.capacity() * size_of::<Word>()
                + l.users.capacity() * (size_of::<User>() + 8)
                + l.sites.capacity() * size_of::<SiteCount>()
        };
        self.lines.values().map(line).sum::<usize>() + self.sums.memory_bytes() + self.counted.capacity() * 16
    }
    /// Ends the running turns and lives of lines of all colours; the lines by cost, dearest first, then by address; and
    /// the sums of all transfers.
    pub(crate) fn finish(all: impl IntoIterator<Item = Detail>) -> (Vec<Line>, Transfers) {
        let (mut lines, mut sums): (Vec<Line>, _) = (Vec::new(), Transfers::default());
        for mut detail in all {
            let first = lines.len();
            lines.extend(detail.lines.into_values());
            lines[first..].iter_mut().for_each(|l| l.finish(&mut detail.sums));
            detail.sums.pruned = detail.level > 0;
            sums.absorb(&detail.sums);
        }
        lines.sort_unstable_by_key(|l| (std::cmp::Reverse(l.cost), l.unit));
        (lines, sums)
    }
}

#[cfg(test)]
#[path = "detail_tests.rs"]
mod tests;
