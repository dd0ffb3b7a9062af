//! One watched line: who used which of its bytes, and what its transfers were good for.
use crate::transfers::{Cause, Class, Transfers};
use homenode_base::{Cost, TotalCost};
use homenode_trace::Op;

/// Processors of a line that have a bit of their own in its words; later ones share the last bit.
const USERS_MAX: usize = 64;
/// A hand-over of a word to another writer is the exception if so many turns of writing go without one.
const TURNS_PER_HANDOVER: u32 = 4;
/// See [`is_noise`].
const NOISE: u64 = 256;
/// A line is used in turns if so many references are part of one for each that is not: a loop of compare-and-swap reads
/// first, and what is read at the end, or set at the start, does not count.
const IN_TURNS: u64 = 1;
const NOBODY: u16 = u16::MAX;

/// What a watched line must know of a reference.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reference {
    pub(crate) thread: u32,
    /// Processor of the thread.
    pub(crate) cpu: u32,
    pub(crate) site: u32,
    pub(crate) object: u32,
    pub(crate) op: Op,
    /// Whether it is to a lock word.
    pub(crate) lock: bool,
    /// The turn that it is part of, a section under locks or one atomic operation; 0 if it is part of none.
    pub(crate) turn: u64,
}

/// Successive bytes of a watched line that have been used alike, since the line was first transferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// First byte and number of bytes, in the line's [words](crate::patterns::Patterns::word_bytes).
    pub(crate) from: u8,
    pub(crate) len: u8,
    /// Whether a reference to it was one to a lock.
    pub(crate) lock: bool,
    /// Whether its last user has read it since it came to it, or since it wrote it.
    read_last: bool,
    /// Who wrote it in two turns without another writer between, latest; else who wrote it first.
    owner: u16,
    /// Object row of the last reference.
    pub(crate) object: u32,
    /// Turns in which it was written by whoever wrote it before, and by another one.
    kept: u32,
    handed: u32,
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    /// Of the writes, those that did not follow a read by the same user with no other user between.
    pub(crate) blind: u64,
    /// Reads that no write followed before another user came.
    pub(crate) looks: u64,
    /// Bit i = user i of the line touched it, in a turn before the last one.
    pub(crate) users: u64,
    /// Likewise wrote.
    pub(crate) writers: u64,
    /// Who touched it last, and in which turn: [`stamp`].
    touched: u64,
    /// Likewise wrote.
    written: u64,
}

/// A user and a turn; 0 is nobody ever.
fn stamp(user: usize, turn: u64) -> u64 {
    turn << 16 | user as u64 & 0xFFFF
}

impl Word {
    fn new(from: u32, len: u32) -> Word {
        Word {
            from: from as u8,
            len: len as u8,
            lock: false,
            read_last: false,
            owner: NOBODY,
            object: 0,
            kept: 0,
            handed: 0,
            reads: 0,
            writes: 0,
            blind: 0,
            looks: 0,
            users: 0,
            writers: 0,
            touched: 0,
            written: 0,
        }
    }
    /// Bits of the watched word among the words of the line.
    pub(crate) fn mask(&self) -> u64 {
        (u64::MAX >> (64 - u32::from(self.len))) << self.from
    }
    /// The user that writes it, as an index, if that changes seldom.
    pub(crate) fn owner(&self) -> Option<usize> {
        let owned = self.owner != NOBODY && self.kept >= TURNS_PER_HANDOVER.saturating_mul(self.handed);
        owned.then_some(usize::from(self.owner))
    }
    /// Notes a reference by `me`; returns the latest turn of another user that it has to do with.
    fn reference(&mut self, me: u64, r: &Reference) -> u64 {
        let by_other = |s: u64| if s & 0xFFFF == me & 0xFFFF { 0 } else { s >> 16 };
        let mut newest = by_other(self.written);
        if (self.touched ^ me) & 0xFFFF != 0 {
            self.looks += u64::from(self.read_last);
            self.read_last = false;
        }
        if r.op == Op::Read {
            self.read_last = true;
        } else {
            newest = newest.max(by_other(self.touched));
            if self.written != me {
                self.write_turn(me);
            }
            self.blind += u64::from(r.op == Op::Write && !self.read_last);
            self.read_last = false;
            self.written = me;
            self.writes += 1;
        }
        self.reads += u64::from(r.op != Op::Write);
        self.lock |= r.lock;
        self.touched = me;
        self.object = r.object;
        newest
    }
    fn write_turn(&mut self, me: u64) {
        let user = (me & 0xFFFF) as u16;
        if self.written == 0 {
            self.owner = user;
        } else if (self.written & 0xFFFF) as u16 == user {
            self.kept = self.kept.saturating_add(1);
            self.owner = user;
        } else {
            self.handed = self.handed.saturating_add(1);
        }
    }
}

/// One processor that uses a watched line.
#[derive(Clone, Debug)]
pub(crate) struct User {
    pub(crate) cpu: u32,
    /// Threads of the processor, in order of appearance.
    pub(crate) threads: Vec<u32>,
    /// Last finished turn of the processor, 0 = none.
    last_turn: u64,
    /// Last turn of the processor before the running life.
    before: u64,
    useful: bool,
    /// Turns under locks or by atomics in which it used the line, and the last of them.
    turns: u64,
    locked: u64,
    /// The transfer of the running life: its cost, what caused it, and whether that was a lock.
    transfer: Option<(Cost, Cause, bool)>,
}

/// References of one site to a watched line, exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SiteCount {
    pub(crate) site: u32,
    /// Words referenced.
    pub(crate) words: u64,
    pub(crate) reads: u64,
    pub(crate) writes: u64,
}

/// Whether a word of a line is used so seldom that it has no part in what happens to the line: a field that is set once
/// before a thread starts, and the like.
pub(crate) fn is_noise(word: &Word, line: &Line) -> bool {
    let refs = |w: &Word| w.reads + w.writes;
    let most = line.words.iter().map(refs).max().unwrap_or(0);
    word.users == 0 || refs(word).saturating_mul(NOISE) < most
}

/// See [`Line::turn_costs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TurnCosts {
    pub(crate) turns: u64,
    /// As replayed.
    pub(crate) cost: TotalCost,
    pub(crate) in_one_run: TotalCost,
    pub(crate) alternating: TotalCost,
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
    /// Words used, ascending.
    pub(crate) words: Vec<Word>,
    /// Processors in order of appearance.
    pub(crate) users: Vec<User>,
    /// Sites in order of appearance.
    pub(crate) sites: Vec<SiteCount>,
    /// The site of the last reference, as an index.
    site: usize,
    /// References that are part of turns, and all others.
    in_turns: u64,
    free: u64,
    /// The first transfer: who wrote what before is not known.
    first: Option<(Cost, Cause, bool)>,
    /// Number of the running turn, its user as an index, and the words touched and written in it.
    turn: u64,
    user: usize,
    turn_touched: u64,
    turn_written: u64,
    /// Latest turn of another user that the last reference has to do with.
    newest: u64,
    /// Whether its user's life was useful without it.
    was_useful: bool,
}

impl Line {
    pub(crate) fn new(unit: u64, object: u32) -> Line {
        Line {
            unit,
            object,
            transfers: 0,
            cost: TotalCost::ZERO,
            useless: 0,
            useless_cost: TotalCost::ZERO,
            words: Vec::new(),
            users: Vec::new(),
            sites: Vec::new(),
            site: 0,
            in_turns: 0,
            free: 0,
            first: None,
            turn: 0,
            user: usize::MAX,
            turn_touched: 0,
            turn_written: 0,
            newest: 0,
            was_useful: false,
        }
    }
    /// What it holds: words, users and sites.
    pub(crate) fn items(&self) -> usize {
        self.words.len() + self.users.len() + self.sites.len()
    }
    /// Object that is written most, which false sharing is about: who comes to the line first may only read what lies beside it. Of equal ones
    /// that of the lowest word.
    pub(crate) fn written_object(&self) -> u32 {
        let mut writes: Vec<(u32, u64)> = Vec::new();
        for word in self.words.iter().filter(|w| w.users != 0) {
            match writes.iter_mut().find(|(object, _)| *object == word.object) {
                Some((_, n)) => *n += word.writes,
                None => writes.push((word.object, word.writes)),
            }
        }
        let most = writes.iter().map(|(_, n)| *n).max();
        writes.iter().find(|(_, n)| Some(*n) == most).map_or(self.object, |(object, _)| *object)
    }
    /// Notes who used which words in the running turn.
    fn end_turn(&mut self) {
        let bit = 1u64 << self.user.min(USERS_MAX - 1);
        for word in &mut self.words {
            word.users |= bit * (self.turn_touched >> word.from & 1);
            word.writers |= bit * (self.turn_written >> word.from & 1);
        }
        if let Some(user) = self.users.get_mut(self.user) {
            user.last_turn = self.turn;
        }
        (self.turn_touched, self.turn_written) = (0, 0);
    }
    fn begin_turn(&mut self, r: &Reference) {
        self.turn += 1;
        self.user = self.users.iter().position(|u| u.cpu == r.cpu).unwrap_or(self.users.len());
        if self.user == self.users.len() {
            let threads = Vec::with_capacity(1);
            let (last_turn, before, useful, turns, locked, transfer) = (0, 0, false, 0, 0, None);
            self.users.push(User { cpu: r.cpu, threads, last_turn, before, useful, turns, locked, transfer });
        }
        let threads = &mut self.users[self.user].threads;
        if !threads.contains(&r.thread) {
            threads.push(r.thread);
        }
    }
    /// Notes a reference to the words of `touched`, which are successive.
    pub(crate) fn reference(&mut self, r: &Reference, touched: u64) {
        let same = self.users.get(self.user).is_some_and(|u| u.cpu == r.cpu && u.threads.last() == Some(&r.thread));
        if !same {
            self.end_turn();
            self.begin_turn(r);
        }
        let me = stamp(self.user, self.turn);
        let mut at = self.divide(touched);
        self.newest = 0;
        while let Some(word) = self.words.get_mut(at).filter(|w| w.mask() & touched != 0) {
            self.newest = self.newest.max(word.reference(me, r));
            at += 1;
        }
        self.turn_touched |= touched;
        self.turn_written |= if r.op.writes() { touched } else { 0 };
        let user = &mut self.users[self.user];
        self.was_useful = user.useful;
        user.useful |= self.newest > user.before;
        if r.turn > 0 {
            self.in_turns += 1;
            user.turns += u64::from(user.locked != r.turn);
            user.locked = r.turn;
        } else {
            self.free += 1;
        }
        self.count_site(r, touched);
    }
    /// Makes words of exactly the bytes of `touched`; the index of the first of them.
    fn divide(&mut self, touched: u64) -> usize {
        let (from, end) = (touched.trailing_zeros(), 64 - touched.leading_zeros());
        let mut at = self.words.partition_point(|w| u32::from(w.from) + u32::from(w.len) <= from);
        let first = at;
        let mut next = from;
        while next < end {
            let Some(word) = self.words.get_mut(at).filter(|w| u32::from(w.from) < end) else {
                self.words.insert(at, Word::new(next, end - next));
                break;
            };
            let (begin, len) = (u32::from(word.from), u32::from(word.len));
            if begin > next {
                self.words.insert(at, Word::new(next, begin - next));
                next = begin;
            } else if begin < next {
                word.len = (next - begin) as u8;
                let rest = Word { from: next as u8, len: (begin + len - next) as u8, ..*word };
                self.words.insert(at + 1, rest);
            } else {
                if begin + len > end {
                    word.len = (end - begin) as u8;
                    let rest = Word { from: end as u8, len: (begin + len - end) as u8, ..*word };
                    self.words.insert(at + 1, rest);
                }
                next = (begin + len).min(end);
            }
            at += 1;
        }
        if self.words[first].mask() & touched == 0 { first + 1 } else { first }
    }
    fn count_site(&mut self, r: &Reference, touched: u64) {
        // Code goes round in loops: the next site is the one that came next before.
        let next = self.site + 1;
        let is = |s: Option<&SiteCount>| s.is_some_and(|s| s.site == r.site);
        self.site = if is(self.sites.get(next)) {
            next
        } else {
            self.sites.iter().position(|s| s.site == r.site).unwrap_or(self.sites.len())
        };
        if self.site == self.sites.len() {
            self.sites.push(SiteCount { site: r.site, words: 0, reads: 0, writes: 0 });
        }
        let site = &mut self.sites[self.site];
        site.words |= touched;
        site.reads += u64::from(r.op != Op::Write);
        site.writes += u64::from(r.op.writes());
    }
    /// The last reference made the line come.
    pub(crate) fn transfer(&mut self, cost: Cost, cause: Cause, lock: bool, sums: &mut Transfers) {
        let first = self.transfers == 0;
        self.transfers += 1;
        self.cost += cost;
        // The reference belongs to the life that it begins.
        self.users[self.user].useful = self.was_useful;
        self.end_life(self.user, sums);
        let user = &mut self.users[self.user];
        user.before = user.last_turn;
        user.useful = self.newest > user.before;
        user.transfer = Some((cost, cause, lock));
        if first {
            self.first = user.transfer.take();
        }
    }
    fn end_life(&mut self, user: usize, sums: &mut Transfers) {
        let user = &mut self.users[user];
        let Some(transfer) = user.transfer.take() else { return };
        let useful = user.useful;
        self.settle(transfer, useful, sums);
    }
    fn settle(&mut self, (cost, cause, lock): (Cost, Cause, bool), useful: bool, sums: &mut Transfers) {
        let class = match (useful, lock) {
            (false, _) => Class::False,
            (true, true) => Class::Lock,
            (true, false) => Class::True,
        };
        if !useful {
            self.useless += 1;
            self.useless_cost += cost;
        }
        sums.add(class, cause, 1, cost);
    }
    /// Ends the running turn and lives. The last turn only counts where it is one of few: it is often a final check by one
    /// thread. The first transfer was for what most of the others were for.
    pub(crate) fn finish(&mut self, sums: &mut Transfers) {
        if self.turn <= 3 {
            self.end_turn();
        }
        (0..self.users.len()).for_each(|u| self.end_life(u, sums));
        if let Some(first) = self.first.take() {
            let others = self.transfers - 1;
            self.settle(first, others == 0 || self.useless * 2 < others, sums);
        }
    }
    /// What its useful transfers would cost if each processor made all of its turns in one run, and if they alternated as
    /// much as they can; `None` if it is no line that is used in turns, by locks or atomics.
    pub(crate) fn turn_costs(&self) -> Option<TurnCosts> {
        let useful = self.transfers - self.useless;
        if useful == 0 || self.in_turns < self.free.saturating_mul(IN_TURNS) || self.users.len() < 2 {
            return None;
        }
        let cost = self.cost - self.useless_cost;
        let times = |n: u64| TotalCost(cost.0 * i128::from(n) / i128::from(useful));
        let turns: u64 = self.users.iter().map(|u| u.turns).sum();
        let most = self.users.iter().map(|u| u.turns).max().unwrap_or(0);
        let alternations = turns.saturating_sub(1).min(2 * (turns - most));
        let least = (self.users.len() as u64 - 1).min(useful);
        Some(TurnCosts { turns, cost, in_one_run: times(least), alternating: times(alternations.max(useful)) })
    }
    /// Whether most references to it are atomic updates or made under locks: whoever updates it then needs nothing but the
    /// update. What is updated otherwise belongs to whom it was handed over, or is a race.
    pub(crate) fn is_guarded(&self) -> bool {
        self.in_turns >= self.free
    }
    /// Whether at least half of its transfers brought nothing.
    pub(crate) fn is_false(&self) -> bool {
        self.transfers > 1 && self.useless * 2 >= self.transfers
    }
    /// Threads of the users of a mask, ascending.
    pub(crate) fn threads_of(&self, mask: u64) -> Vec<u32> {
        let bit = |i: usize| 1u64 << i.min(USERS_MAX - 1);
        let users = self.users.iter().enumerate().filter(|(i, _)| mask & bit(*i) != 0);
        let mut all: Vec<u32> = users.flat_map(|(_, u)| u.threads.iter().copied()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

#[cfg(test)]
#[path = "watched_tests.rs"]
mod tests;
