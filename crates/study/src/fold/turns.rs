//! Folding into turns, of all page sizes in one pass over the records of a region: for protocols of page coherence.
//!
//! A page has one turn that is open, which the next access of the page continues or ends. Turns end where any protocol's pages
//! thaw, and where a piece of records ends; they may be cut anywhere.
use super::Levels;
use crate::partition::record::{Format, MEANING, Record};
use homenode_coherence::history::{Clocks, Turn, key};
use homenode_placement::AccessKind;

/// Turns of the smallest pages that are taken from level to level together: few enough for a first-level cache.
const TOGETHER: usize = 256;

/// What is done with turns.
pub(crate) trait Turns {
    /// Turns of any pages of a level (place in the ascending list of sizes), each page's in order; pages have numbers within the region.
    fn turns(&mut self, level: usize, turns: &[Turn], clocks: &dyn Clocks);
    /// Ends a region, with all its pages that were touched.
    fn end(&mut self, level: usize, pages: &[u32]);
}

/// Pages of one size.
struct Level {
    /// Place in the list of sizes.
    place: usize,
    /// A page is `1 << shift` units.
    shift: u32,
    /// And so many smallest pages.
    above: u32,
    /// The open turn of each page.
    open: Vec<Turn>,
    seen: Vec<bool>,
    /// Numbers of the pages that were seen.
    touched: Vec<u32>,
    /// Turns that have ended and wait.
    ended: Vec<Turn>,
}

/// Folds regions one after another.
pub(crate) struct TurnFold {
    levels: Vec<Level>,
    format: Format,
    /// Node of each thread.
    nodes: Vec<u16>,
    /// At multiples of these turns end.
    periods: Vec<u64>,
    /// When the next one of them comes.
    until: u64,
    /// Stretches of time, counted.
    stretch: u64,
    /// The smallest pages are `1 << least` units.
    least: u32,
    /// Accesses by one processor to one of the smallest pages with none to others of the region between, in order.
    waiting: Vec<Turn>,
    /// Accesses charged so far: reads, and writes.
    pub(crate) accesses: [u64; 2],
}

/// The records of the piece at hand know when accesses were made.
struct Records<'a> {
    format: Format,
    words: &'a [u32],
    /// A page is `1 << shift` units.
    shift: u32,
}

impl Clocks for Records<'_> {
    fn time(&self, turn: &Turn, nth: u64) -> u64 {
        let per = self.format.words();
        let (mut left, mut found) = (nth, None);
        // What a page's accesses are from the first one of a turn on is the turn.
        for some in self.words.get(turn.at as usize * per..).unwrap_or_default().chunks(per * TOGETHER) {
            self.format.for_each_pair(some, |r, _| {
                if found.is_none() && r.unit >> self.shift == turn.page {
                    found = (left == 0).then_some(r.t);
                    left = left.saturating_sub(1);
                }
            });
            if found.is_some() {
                break;
            }
        }
        found.unwrap_or(turn.last)
    }
}

impl TurnFold {
    /// `periods`: those of the protocols.
    pub(crate) fn new(levels: &Levels, format: Format, nodes: Vec<u16>, periods: Vec<u64>) -> TurnFold {
        let least = levels.least().min(format.unit_bits());
        let level = |shift: u32| {
            let place = levels.place(shift)?;
            let pages = format.units() >> shift;
            let (open, seen) = (vec![Turn::NONE; pages], vec![false; pages]);
            Some(Level { place, shift, above: shift - least, open, seen, touched: Vec::new(), ended: Vec::new() })
        };
        TurnFold {
            levels: (0..=format.unit_bits()).filter_map(level).collect(),
            format,
            nodes,
            periods,
            until: 0,
            stretch: 1,
            least,
            waiting: Vec::with_capacity(TOGETHER),
            accesses: [0; 2],
        }
    }

    /// More records of the region. Records of threads that do not exist (hostile) are left out.
    pub(crate) fn records(&mut self, words: &[u32], visitor: &mut impl Turns) {
        let most = (u32::MAX as usize) * self.format.words();
        words.chunks(most).for_each(|piece| self.piece(piece, visitor));
    }

    fn piece(&mut self, words: &[u32], visitor: &mut impl Turns) {
        let (format, mut at) = (self.format, 0);
        for some in words.chunks(format.words() * TOGETHER) {
            format.for_each_pair(some, |r, pair| {
                if let Some(&node) = self.nodes.get(r.by as usize) {
                    if r.t >= self.until && format.timed {
                        self.next_stretch(r.t, words, visitor);
                    }
                    self.put(r, node, at);
                    // References count once, at their first byte: only a damaged file has accesses of two units.
                    if pair {
                        self.put(Record { unit: r.unit + 1, ..r }, node, at);
                    }
                }
                at = at.wrapping_add(1);
            });
            self.levels_take(words, visitor);
        }
        self.close(words, visitor);
    }

    #[inline(always)]
    fn put(&mut self, r: Record, node: u16, at: u32) {
        let write = MEANING[usize::from(r.code)].0 == AccessKind::Write;
        self.accesses[usize::from(write)] += 1;
        let page = r.unit >> self.least;
        let next = Turn::begin(key(node, self.stretch), page, at, write, r.t);
        if !self.waiting.last_mut().is_some_and(|turn| turn.page == page && turn.takes(&next)) {
            self.waiting.push(next);
        }
    }

    /// A page may thaw now.
    #[cold]
    fn next_stretch(&mut self, t: u64, words: &[u32], visitor: &mut impl Turns) {
        self.levels_take(words, visitor);
        self.stretch += 1;
        let next = |p: &u64| (t / p + 1).saturating_mul(*p);
        self.until = self.periods.iter().map(next).min().unwrap_or(u64::MAX);
    }

    /// All that waits, level by level.
    fn levels_take(&mut self, words: &[u32], visitor: &mut impl Turns) {
        for level in &mut self.levels {
            level.take(&self.waiting);
            level.give(self.format, words, visitor);
        }
        self.waiting.clear();
    }

    /// No turn goes on.
    fn close(&mut self, words: &[u32], visitor: &mut impl Turns) {
        for level in &mut self.levels {
            let Level { open, touched, ended, .. } = level;
            let taken = touched.iter().map(|page| std::mem::replace(&mut open[*page as usize], Turn::NONE));
            ended.extend(taken.filter(|turn| !turn.is_none()));
            level.give(self.format, words, visitor);
        }
    }

    /// Ends the region.
    pub(crate) fn region(&mut self, visitor: &mut impl Turns) {
        for level in &mut self.levels {
            visitor.end(level.place, &level.touched);
            level.touched.drain(..).for_each(|page| level.seen[page as usize] = false);
        }
        (self.until, self.stretch) = (0, 1);
    }
}

impl Level {
    fn take(&mut self, some: &[Turn]) {
        for next in some {
            let page = next.page >> self.above;
            let Some(turn) = self.open.get_mut(page as usize) else { continue };
            if turn.takes(next) {
                continue;
            }
            if !turn.is_none() {
                self.ended.push(*turn);
            } else if !std::mem::replace(&mut self.seen[page as usize], true) {
                self.touched.push(page);
            }
            *turn = next.on(page);
        }
    }

    fn give(&mut self, format: Format, words: &[u32], visitor: &mut impl Turns) {
        if !self.ended.is_empty() {
            visitor.turns(self.place, &self.ended, &Records { format, words, shift: self.shift });
            self.ended.clear();
        }
    }
}
