//! Lines that go from cache to cache, word by word.
//!
//! A transfer is *useful* if in that turn its thread touches a word that another thread has written, or writes one that
//! another has touched, since its own last turn on the line; else the line came for nothing and the sharing is false
//! (the idea of Dubois et al. 1993, "The detection and elimination of useless misses", applied to turns).
use crate::patterns::Piece;
use hashbrown::HashMap;
use homenode_base::{Cost, TotalCost};
use homenode_trace::Op;

/// Sites kept for a line.
const SITES_MAX: usize = 8;
/// Lines kept when there are too many; twice as many may be watched at a time.
pub(crate) const LINES_KEPT: usize = 4096;
/// Threads of a line that have a bit of their own in its words; later ones share the last bit.
pub(crate) const THREADS_MAX: usize = 64;

/// One word of a watched line, since the line was first transferred.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Word {
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    /// Bit i = thread i of the line's list touched it.
    pub(crate) threads: u64,
    /// Likewise wrote.
    pub(crate) writers: u64,
    /// Object row of the last reference.
    pub(crate) object: u32,
    touch_turn: u64,
    write_turn: u64,
}

/// References of one site to a watched line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SiteCount {
    pub(crate) site: u32,
    pub(crate) words: u32,
    pub(crate) count: u64,
}

/// One watched line.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) unit: u64,
    /// Object row of the first transfer.
    pub(crate) object: u32,
    pub(crate) transfers: u64,
    pub(crate) cost: TotalCost,
    /// Of these, those that brought nothing.
    pub(crate) useless: u64,
    pub(crate) useless_cost: TotalCost,
    pub(crate) words: Vec<Word>,
    /// Threads in order of appearance with the number of their last finished turn, 0 = none.
    pub(crate) threads: Vec<(u32, u64)>,
    pub(crate) sites: Vec<SiteCount>,
    turn: u64,
    turn_thread: usize,
    turn_useful: bool,
    turn_transfers: u64,
    turn_cost: TotalCost,
}

impl Line {
    fn new(unit: u64, object: u32, words: usize) -> Line {
        Line {
            unit,
            object,
            transfers: 0,
            cost: TotalCost::ZERO,
            useless: 0,
            useless_cost: TotalCost::ZERO,
            words: vec![Word::default(); words],
            threads: Vec::new(),
            sites: Vec::new(),
            turn: 0,
            turn_thread: usize::MAX,
            turn_useful: false,
            turn_transfers: 0,
            turn_cost: TotalCost::ZERO,
        }
    }
    fn end_turn(&mut self) {
        if !self.turn_useful {
            self.useless += self.turn_transfers;
            self.useless_cost += self.turn_cost;
        }
        if let Some(t) = self.threads.get_mut(self.turn_thread) {
            t.1 = self.turn;
        }
        (self.turn_useful, self.turn_transfers, self.turn_cost) = (false, 0, TotalCost::ZERO);
    }
    fn reference(&mut self, r: &Reference, touched: u32) {
        if self.threads.get(self.turn_thread).is_none_or(|t| t.0 != r.thread) {
            self.end_turn();
            self.turn += 1;
            self.turn_thread = self.threads.iter().position(|t| t.0 == r.thread).unwrap_or(self.threads.len());
            if self.turn_thread == self.threads.len() {
                self.threads.push((r.thread, 0));
            }
        }
        let bit = 1u64 << self.turn_thread.min(THREADS_MAX - 1);
        let since = self.threads[self.turn_thread].1 + 1..self.turn;
        for (_, word) in self.words.iter_mut().enumerate().filter(|(w, _)| touched >> w & 1 == 1) {
            self.turn_useful |= since.contains(&word.write_turn);
            if r.op.writes() {
                self.turn_useful |= since.contains(&word.touch_turn);
                word.write_turn = self.turn;
                word.writers |= bit;
                word.writes += 1;
            }
            word.reads += u64::from(r.op != Op::Write);
            word.threads |= bit;
            word.touch_turn = self.turn;
            word.object = r.object;
        }
        self.count_site(r.site, touched);
    }
    /// Space saving (Metwally et al. 2005): a new site takes the place and the count of the rarest.
    fn count_site(&mut self, site: u32, touched: u32) {
        if let Some(s) = self.sites.iter_mut().find(|s| s.site == site) {
            s.words |= touched;
            s.count += 1;
        } else if self.sites.len() < SITES_MAX {
            self.sites.push(SiteCount { site, words: touched, count: 1 });
        } else if let Some(s) = self.sites.iter_mut().min_by_key(|s| s.count) {
            *s = SiteCount { site, words: touched, count: s.count + 1 };
        }
    }
    fn transfer(&mut self, cost: Cost) {
        self.transfers += 1;
        self.cost += cost;
        self.turn_transfers += 1;
        self.turn_cost += cost;
    }
    /// Threads of a mask over this line's list, ascending.
    pub(crate) fn threads_of(&self, mask: u64) -> Vec<u32> {
        let bit = |i: usize| 1u64 << i.min(THREADS_MAX - 1);
        let mut all: Vec<u32> =
            self.threads.iter().enumerate().filter(|(i, _)| mask & bit(*i) != 0).map(|(_, t)| t.0).collect();
        all.sort_unstable();
        all
    }
}

/// What the detail must know of a reference.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reference {
    pub(crate) thread: u32,
    pub(crate) site: u32,
    pub(crate) object: u32,
    pub(crate) op: Op,
}

/// The watched lines: a line is watched from its first transfer on. At most 8,192 at a time; when more are
/// transferred, the half with fewer transfers is forgotten, so what is falsely shared often is exact from its first
/// transfer and what is shared rarely may lose its early counts.
#[derive(Debug)]
pub struct Detail {
    words: usize,
    lines: HashMap<usize, Line>,
}

impl Detail {
    pub(crate) fn new(words: usize) -> Detail {
        Detail { words, lines: HashMap::new() }
    }
    /// Notes a reference to a watched line.
    pub(crate) fn reference(&mut self, piece: &Piece, r: &Reference) {
        if let Some(line) = self.lines.get_mut(&piece.index) {
            line.reference(r, piece.words);
        }
    }
    /// Notes a transfer of the line that `piece` touched last, caused by `r`; true if it was not watched before.
    pub(crate) fn transfer(&mut self, piece: &Piece, r: &Reference, cost: Cost) -> bool {
        let words = self.words;
        let line = self.lines.entry(piece.index).or_insert_with(|| Line::new(piece.unit, r.object, words));
        let new = line.turn == 0;
        if new {
            line.reference(r, piece.words);
            // Who wrote what before is not known: the benefit of the doubt goes to the program.
            line.turn_useful = true;
        }
        line.transfer(cost);
        new
    }
    /// Whether [`Self::prune`] is due.
    pub(crate) fn is_full(&self) -> bool {
        self.lines.len() > 2 * LINES_KEPT
    }
    /// Forgets the lines with fewest transfers; returns their indices.
    pub(crate) fn prune(&mut self) -> Vec<usize> {
        let mut order: Vec<(std::cmp::Reverse<u64>, u64, usize)> =
            self.lines.iter().map(|(&i, l)| (std::cmp::Reverse(l.transfers), l.unit, i)).collect();
        order.sort_unstable();
        let dropped: Vec<usize> = order.drain(LINES_KEPT.min(order.len())..).map(|o| o.2).collect();
        dropped.iter().for_each(|i| {
            self.lines.remove(i);
        });
        dropped
    }
    /// Ends the running turns; the lines by cost, dearest first, then by address.
    pub(crate) fn finish(self) -> Vec<Line> {
        let mut lines: Vec<Line> = self.lines.into_values().collect();
        lines.iter_mut().for_each(Line::end_turn);
        lines.sort_unstable_by_key(|l| (std::cmp::Reverse(l.cost), l.unit));
        lines
    }
}
