//! Words of a node's region that are not the protocol's: what nodes tell each other about their threads, and what they count.
use homenode_hlrc::host::{Count, Interrupt};
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of times that the node was woken.
pub const BELL: usize = 0;
/// Threads that sleep until the bell is rung.
pub const SLEEPERS: usize = 1;
/// Process id; 0 before the node's process has its memory.
pub const PROCESS: usize = 2;
/// Number of times that somebody wanted this node to serve.
pub const WANTED: usize = 3;
/// Number of times that the node's first thread was called: there are threads to start, or nobody else can serve.
pub const CALLS: usize = 4;
/// Not 0 when the node is to end.
pub const END: usize = 5;
/// Thread that was interrupted last.
pub const TURN: usize = 6;
/// How the node ended: [`TOLD`], or [`EXITED`] with the program's status; 0 if it has not, or was killed.
pub const STATUS: usize = 7;
/// At node 0: threads created.
pub const CREATED: usize = 8;
/// At node 0: created threads that are done.
pub const DONE: usize = 9;
/// At node 0: bytes of the heap that are given out.
pub const ALLOCATED: usize = 10;
/// Not 0 when the node has all that it needs, and may be told to create threads.
pub const READY: usize = 11;
/// Threads that wait for what others deposit: stamps and notices.
pub const EXPECTING: usize = 12;
/// At node 0: 0, or [`WRITTEN`] once the program's variables are written for nodes of other hosts, or [`SENT`] once these have them.
pub const IMAGE: usize = 13;
const INTERRUPTS: usize = 14;
/// Signals really sent to this node's threads.
pub const SIGNALS: usize = INTERRUPTS + 4;
const COUNTS: usize = SIGNALS + 1;
const MESSAGES: usize = COUNTS + COUNTED.len();
const THREADS: usize = MESSAGES + 2 * Kind::ALL.len();

/// In [`IMAGE`], said by the first node.
pub const WRITTEN: u64 = 1;
/// In [`IMAGE`], said by the launcher.
pub const SENT: u64 = 2;
/// Set in [`STATUS`] when the program ended there; its status is below.
pub const EXITED: u64 = 1 << 32;
/// In [`STATUS`] when the node ended because it was told to.
pub const TOLD: u64 = 1 << 33;

/// Words a thread: those of [`Thread`].
const THREAD_WORDS: usize = 4 + 2 + 1 + Class::ALL.len() + Across::ALL.len();

/// Words for so many threads.
pub const fn words(threads: u16) -> usize {
    THREADS + threads as usize * THREAD_WORDS
}

/// What a message of the transport is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Words read.
    Get,
    /// Words written.
    Put,
    /// A word changed by comparing or adding.
    Atomic,
    /// A page read.
    GetPage,
    /// A page written.
    PutPage,
    /// A run of changed words written.
    PutRun,
}

impl Kind {
    /// All, in the order of their counters.
    pub const ALL: [Kind; 6] = [Kind::Get, Kind::Put, Kind::Atomic, Kind::GetPage, Kind::PutPage, Kind::PutRun];
    /// Name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Get => "get",
            Kind::Put => "put",
            Kind::Atomic => "atomic",
            Kind::GetPage => "get page",
            Kind::PutPage => "put page",
            Kind::PutRun => "put run",
        }
    }
}

/// What a thread spends its time on, besides its own computing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Waiting for data: faults.
    Data,
    /// Locks, conditions, flags, and words that are changed at once.
    Lock,
    /// Barriers and reductions.
    Barrier,
    /// Serving other nodes, interrupted.
    Serving,
    /// Creating and joining threads, and memory.
    Other,
}

impl Class {
    /// All, in the order of their words.
    pub const ALL: [Class; 5] = [Class::Data, Class::Lock, Class::Barrier, Class::Serving, Class::Other];
}

/// Work that is part of several classes of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Across {
    /// Changing what the program may do to pages.
    Protect,
    /// Looking for changes and sending them.
    Diff,
}

impl Across {
    /// All, in the order of their words.
    pub const ALL: [Across; 2] = [Across::Protect, Across::Diff];
}

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Nothing: not started, or over.
    Nothing,
    /// The program's own work.
    Computing,
    /// Work in here: it serves others before it leaves.
    Inside,
}

/// Counters of [`Count`] in order, with their names in reports.
pub const COUNTED: [(Count, &str); 16] = [
    (Count::Fetch, "pages fetched"),
    (Count::FetchRetry, "fetches repeated"),
    (Count::Prefetch, "pages fetched ahead"),
    (Count::PrefetchInVain, "prefetches in vain"),
    (Count::Twin, "twins"),
    (Count::Diff, "diffs"),
    (Count::DiffRun, "runs in diffs"),
    (Count::HomeWrite, "home writes"),
    (Count::Migration, "homes moved here"),
    (Count::Invalidation, "invalidations"),
    (Count::NoticeMessage, "notice messages"),
    (Count::Notice, "notices"),
    (Count::Vector, "vectors"),
    (Count::LockRemote, "remote locks"),
    (Count::LockLocal, "local locks"),
    (Count::Served, "requests served"),
];

/// Counters of [`Interrupt`] in order, with their names in reports.
pub const INTERRUPTED: [(Interrupt, &str); 4] =
    [(Interrupt::Page, "page"), (Interrupt::Diff, "diff"), (Interrupt::Lock, "lock"), (Interrupt::Notices, "notices")];

/// Words of a node behind those of the protocol.
#[derive(Clone, Copy, Debug)]
pub struct Shared<'r>(&'r [AtomicU64]);

impl<'r> Shared<'r> {
    /// Of a region, from `extra` on.
    pub fn of(region: &'r [AtomicU64], extra: usize) -> Shared<'r> {
        Shared(&region[extra..])
    }
    /// One of the words named by the constants of this module.
    pub fn word(self, word: usize) -> &'r AtomicU64 {
        &self.0[word]
    }
    /// How often the protocol did this.
    pub fn count(self, what: Count) -> &'r AtomicU64 {
        let at = COUNTED.iter().position(|(c, _)| *c == what).unwrap_or(0);
        &self.0[COUNTS + at]
    }
    /// Interrupts of this kind that this node asked for.
    pub fn interrupts(self, why: Interrupt) -> &'r AtomicU64 {
        let at = INTERRUPTED.iter().position(|(i, _)| *i == why).unwrap_or(0);
        &self.0[INTERRUPTS + at]
    }
    /// Messages of this kind that this node sent to others, and their bytes.
    pub fn messages(self, kind: Kind) -> (&'r AtomicU64, &'r AtomicU64) {
        let at = MESSAGES + 2 * kind as usize;
        (&self.0[at], &self.0[at + 1])
    }
    /// A thread.
    pub fn thread(self, number: u16) -> Thread<'r> {
        Thread(&self.0[THREADS + usize::from(number) * THREAD_WORDS..][..THREAD_WORDS])
    }
}

/// Words of a thread.
#[derive(Clone, Copy, Debug)]
pub struct Thread<'r>(&'r [AtomicU64]);

impl<'r> Thread<'r> {
    /// The thread's id in the system, and what it does.
    pub fn doing(self) -> (u32, Doing) {
        let word = self.0[0].load(Ordering::SeqCst);
        let doing = match word & 3 {
            1 => Doing::Computing,
            2 => Doing::Inside,
            _ => Doing::Nothing,
        };
        ((word >> 2) as u32, doing)
    }
    /// Says what it does.
    pub fn does(self, id: u32, doing: Doing) {
        self.0[0].store(u64::from(id) << 2 | doing as u64, Ordering::SeqCst);
    }
    /// The record for its creation: whether it is written, where the thread starts, with what.
    pub fn record(self) -> [&'r AtomicU64; 3] {
        [&self.0[1], &self.0[2], &self.0[3]]
    }
    /// Index of its record from the first word of the region's own words on.
    pub fn record_word(number: u16) -> usize {
        THREADS + usize::from(number) * THREAD_WORDS + 1
    }
    /// Faults at reads, or at writes.
    pub fn faults(self, write: bool) -> &'r AtomicU64 {
        &self.0[4 + usize::from(write)]
    }
    /// Nanoseconds of its life, once it is over.
    pub fn life(self) -> &'r AtomicU64 {
        &self.0[6]
    }
    /// Nanoseconds for this.
    pub fn time(self, class: Class) -> &'r AtomicU64 {
        &self.0[7 + class as usize]
    }
    /// Nanoseconds for this, whatever class they are of.
    pub fn across(self, work: Across) -> &'r AtomicU64 {
        &self.0[7 + Class::ALL.len() + work as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_word_is_one_thing_only() {
        let words: Vec<AtomicU64> = (0..words(3)).map(|_| AtomicU64::new(0)).collect();
        let shared = Shared::of(&words, 0);
        let mut seen = BTreeSet::new();
        let mut take = |word: &AtomicU64| assert!(seen.insert(std::ptr::from_ref(word).addr()));
        (BELL..=IMAGE).chain([SIGNALS]).for_each(|w| take(shared.word(w)));
        INTERRUPTED.iter().for_each(|(i, _)| take(shared.interrupts(*i)));
        COUNTED.iter().for_each(|(c, _)| take(shared.count(*c)));
        for kind in Kind::ALL {
            let (messages, bytes) = shared.messages(kind);
            [messages, bytes].into_iter().for_each(&mut take);
        }
        for thread in (0..3).map(|t| shared.thread(t)) {
            take(&thread.0[0]);
            thread.record().into_iter().for_each(&mut take);
            [thread.faults(false), thread.faults(true), thread.life()].into_iter().for_each(&mut take);
            Class::ALL.iter().for_each(|c| take(thread.time(*c)));
            Across::ALL.iter().for_each(|a| take(thread.across(*a)));
        }
        assert_eq!(seen.len(), words.len());
        let record = shared.thread(2).record()[0];
        assert!(std::ptr::eq(record, &words[Thread::record_word(2)]));
    }

    #[test]
    fn what_a_thread_does_is_read_as_it_was_said() {
        let words: Vec<AtomicU64> = (0..words(1)).map(|_| AtomicU64::new(0)).collect();
        let thread = Shared::of(&words, 0).thread(0);
        for doing in [Doing::Inside, Doing::Computing, Doing::Nothing] {
            thread.does(77, doing);
            assert_eq!(thread.doing(), (77, doing));
        }
    }
}
