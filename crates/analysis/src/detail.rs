//! Lines that go from cache to cache, word by word.
//!
//! A transfer begins a *life* of the line at its thread, which lasts until the next transfer to that thread. The transfer
//! is *useful* if in this life the thread touches a word that another thread has written, or writes a word that another
//! has touched, since the thread's last turn before it; else the line came for nothing and the sharing is false (the
//! idea of Dubois et al. 1993, "The detection and elimination of useless misses").
use crate::patterns::Piece;
use crate::transfers::{Cause, Class, Transfers};
use hashbrown::HashMap;
use homenode_base::{Cost, TotalCost};
use homenode_trace::Op;

/// Sites kept for a line.
const SITES_MAX: usize = 8;
/// Lines kept when there are too many; twice as many may be watched at a time.
pub(crate) const LINES_KEPT: usize = 1024;
/// Threads of a line that have a bit of their own in its words; later ones share the last bit.
pub(crate) const THREADS_MAX: usize = 64;

/// One word of a watched line, since the line was first transferred.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Word {
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    /// Bit i = thread i of the line's list touched it, in a turn before the last one.
    pub(crate) threads: u64,
    /// Likewise wrote.
    pub(crate) writers: u64,
    /// Object row of the last reference.
    pub(crate) object: u32,
    /// Index of the thread that touched it last, and its turn.
    touched: (u32, u64),
    /// Likewise wrote.
    written: (u32, u64),
}

/// One thread of a watched line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct User {
    pub(crate) thread: u32,
    /// Its last finished turn, 0 = none.
    last_turn: u64,
    /// Its last turn before the running life.
    before: u64,
    useful: bool,
    /// Transfers of the running life (0 or 1) and their cost.
    transfers: u64,
    cost: Cost,
    /// What caused it, and what it counts as if it was useful.
    cause: Cause,
    class: Class,
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
    /// Threads in order of appearance.
    pub(crate) users: Vec<User>,
    pub(crate) sites: Vec<SiteCount>,
    /// Number of the running turn, its thread as an index, and the words touched and written in it.
    turn: u64,
    user: usize,
    turn_touched: u32,
    turn_written: u32,
    /// Latest turn of another thread that the last reference has to do with.
    newest: u64,
    /// Whether its thread's life was useful without it.
    was_useful: bool,
}

impl User {
    fn new(thread: u32) -> User {
        let (transfers, cost, cause) = (0, Cost::ZERO, Cause::default());
        User { thread, last_turn: 0, before: 0, useful: false, transfers, cost, cause, class: Class::True }
    }
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
            users: Vec::new(),
            sites: Vec::new(),
            turn: 0,
            user: usize::MAX,
            turn_touched: 0,
            turn_written: 0,
            newest: 0,
            was_useful: false,
        }
    }
    /// Notes who used which words in the running turn.
    fn end_turn(&mut self) {
        let bit = 1u64 << self.user.min(THREADS_MAX - 1);
        for (w, word) in self.words.iter_mut().enumerate() {
            word.threads |= bit * u64::from(self.turn_touched >> w & 1);
            word.writers |= bit * u64::from(self.turn_written >> w & 1);
        }
        if let Some(user) = self.users.get_mut(self.user) {
            user.last_turn = self.turn;
        }
        (self.turn_touched, self.turn_written) = (0, 0);
    }
    fn begin_turn(&mut self, thread: u32) {
        self.turn += 1;
        self.user = self.users.iter().position(|u| u.thread == thread).unwrap_or(self.users.len());
        if self.user == self.users.len() {
            self.users.push(User::new(thread));
        }
    }
    fn reference(&mut self, r: &Reference, touched: u32) {
        if self.users.get(self.user).is_none_or(|u| u.thread != r.thread) {
            self.end_turn();
            self.begin_turn(r.thread);
        }
        let me = (self.user as u32, self.turn);
        let by_other = |(user, turn): (u32, u64)| if user == me.0 { 0 } else { turn };
        self.newest = 0;
        for (_, word) in self.words.iter_mut().enumerate().filter(|(w, _)| touched >> w & 1 == 1) {
            self.newest = self.newest.max(by_other(word.written));
            if r.op.writes() {
                self.newest = self.newest.max(by_other(word.touched));
                word.written = me;
                word.writes += 1;
            }
            word.reads += u64::from(r.op != Op::Write);
            word.touched = me;
            word.object = r.object;
        }
        self.turn_touched |= touched;
        self.turn_written |= if r.op.writes() { touched } else { 0 };
        let user = &mut self.users[self.user];
        self.was_useful = user.useful;
        user.useful |= self.newest > user.before;
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
    /// The last reference made the line come. `known` says what it is if it was useful, and whether who wrote what
    /// before is known: else the benefit of the doubt goes to the program.
    fn transfer(&mut self, cost: Cost, cause: Cause, (known, class): (bool, Class), sums: &mut Transfers) {
        self.transfers += 1;
        self.cost += cost;
        // The reference belongs to the life that it begins.
        self.users[self.user].useful = self.was_useful;
        self.end_life(self.user, sums);
        let user = &mut self.users[self.user];
        user.before = user.last_turn;
        (user.transfers, user.cost, user.useful) = (1, cost, !known || self.newest > user.before);
        (user.cause, user.class) = (cause, class);
    }
    fn end_life(&mut self, user: usize, sums: &mut Transfers) {
        let user = &mut self.users[user];
        if user.transfers > 0 {
            sums.add(if user.useful { user.class } else { Class::False }, user.cause, user.transfers, user.cost);
        }
        if !user.useful {
            self.useless += user.transfers;
            self.useless_cost += user.cost;
        }
        (user.transfers, user.cost) = (0, Cost::ZERO);
    }
    /// The last turn only counts where it is one of few: it is often a final check by one thread.
    fn finish(&mut self, sums: &mut Transfers) {
        if self.turn <= 3 {
            self.end_turn();
        }
        (0..self.users.len()).for_each(|u| self.end_life(u, sums));
    }
    /// Threads of a mask over this line's list, ascending.
    pub(crate) fn threads_of(&self, mask: u64) -> Vec<u32> {
        let bit = |i: usize| 1u64 << i.min(THREADS_MAX - 1);
        let mut all: Vec<u32> =
            self.users.iter().enumerate().filter(|(i, _)| mask & bit(*i) != 0).map(|(_, u)| u.thread).collect();
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

/// The watched lines: a line is watched from its first transfer on. At most 2,048 at a time; when more are
/// transferred, the half with fewer transfers is forgotten, so what is falsely shared often is exact from its first
/// transfer and what is shared rarely may lose its early counts.
#[derive(Debug)]
pub struct Detail {
    words: usize,
    lines: HashMap<usize, Line>,
    /// Whether lines have been forgotten.
    pruned: bool,
    sums: Transfers,
}

impl Detail {
    pub(crate) fn new(words: usize) -> Detail {
        Detail { words, lines: HashMap::new(), pruned: false, sums: Transfers::default() }
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
        }
        // A line that travels for the first time brings what was written before, one that was forgotten anything.
        let class = if new && self.pruned { Class::Unwatched } else { Class::True };
        line.transfer(cost, Cause { object: r.object, site: r.site }, (!new, class), &mut self.sums);
        new
    }
    /// Notes a transfer of a line that is not known.
    pub(crate) fn unwatched(&mut self, r: &Reference, cost: Cost) {
        self.sums.add(Class::Unwatched, Cause { object: r.object, site: r.site }, 1, cost);
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
        for i in &dropped {
            self.lines.remove(i).into_iter().for_each(|mut line| line.finish(&mut self.sums));
        }
        self.pruned = true;
        dropped
    }
    /// Bytes of memory held, about.
    pub(crate) fn memory_bytes(&self) -> usize {
        let line = |l: &Line| {
            size_of::<Line>()
                + l.words.capacity() * size_of::<Word>()
                + l.users.capacity() * size_of::<User>()
                + l.sites.capacity() * size_of::<SiteCount>()
        };
        self.lines.values().map(line).sum::<usize>() + self.sums.memory_bytes()
    }
    /// Ends the running turns and lives; the lines by cost, dearest first, then by address; and
    /// the sums of all transfers.
    pub(crate) fn finish(mut self) -> (Vec<Line>, Transfers) {
        let mut lines: Vec<Line> = self.lines.into_values().collect();
        lines.iter_mut().for_each(|l| l.finish(&mut self.sums));
        lines.sort_unstable_by_key(|l| (std::cmp::Reverse(l.cost), l.unit));
        (lines, self.sums)
    }
}

#[cfg(test)]
#[path = "detail_tests.rs"]
mod tests;
