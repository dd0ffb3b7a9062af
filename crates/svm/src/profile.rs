//! The profile of a node: what it counts of each page, lock and phase, and which memory it gave out. Words of its region behind those
//! of [`shared`](crate::shared), which the launcher reads when all is over.
use crate::shared::{self, Across, Class, Thread};
use homenode_hlrc::cluster::{Cluster, Layout, PageId};
use homenode_hlrc::host::Count;
use std::sync::atomic::{AtomicU64, Ordering};

/// Phases that are told apart, what is outside of all included; of others, the time is that of the phase around them.
pub const PHASES: usize = 16;
/// Bytes of the name of a phase; the rest is cut off.
pub const NAME_BYTES: usize = 32;
/// Pieces of memory that are remembered; later ones are not.
pub const PIECES: usize = 1024;

const NAME_WORDS: usize = NAME_BYTES / 8;
const PIECE_WORDS: usize = 7;
/// Words of a slot: used, with what came from another node, nanoseconds.
const SLOT_WORDS: usize = 3;
/// Words of a page: fetches and invalidations; writes and runs in diffs; fetches in order.
const PAGE_WORDS: usize = 3;
/// Words of a thread's last fetch: the page and one, and what the thread had synchronised by then.
const LAST_WORDS: usize = 2;
/// Words of a phase of a thread: times entered, nanoseconds, and those of [`Totals`].
const PHASE_WORDS: usize = 2 + TOTALS;
/// Words of [`Totals`].
pub const TOTALS: usize = Class::ALL.len() + Across::ALL.len() + 2;

/// What a thread has spent so far: classes of time, work across them, faults at reads and at writes.
pub type Totals = [u64; TOTALS];

/// A piece of the heap that a thread took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PieceTaken {
    /// Address.
    pub address: u64,
    /// Bytes, whole pages.
    pub bytes: u64,
    /// Who asked for it, as an offset in the program's file; 0 if that is not known.
    pub site: u64,
    /// Bytes that were asked for.
    pub asked: u64,
    /// Number of the thread in the cluster.
    pub thread: u32,
    /// Which piece of the list of homes it is.
    pub planned: Option<u32>,
    /// Pages that were given a home before anybody touched them.
    pub placed: u64,
}

impl PieceTaken {
    fn words(self) -> [u64; PIECE_WORDS] {
        let planned = self.planned.map_or(0, |at| u64::from(at) + 1);
        [self.address, self.bytes, self.site, self.asked, self.thread.into(), planned, self.placed]
    }
    fn of([address, bytes, site, asked, thread, planned, placed]: [u64; PIECE_WORDS]) -> PieceTaken {
        let planned = planned.checked_sub(1).map(|at| at as u32);
        PieceTaken { address, bytes, site, asked, thread: thread as u32, planned, placed }
    }
}

/// The profile of one node.
#[derive(Clone, Copy, Debug)]
pub struct Profile<'r> {
    words: &'r [AtomicU64],
    threads: usize,
    slots: usize,
}

impl<'r> Profile<'r> {
    /// Words of a node's region behind those of the protocol.
    pub fn words(cluster: &Cluster) -> usize {
        let (threads, slots) = (usize::from(cluster.threads), cluster.slots as usize);
        shared::words(cluster.threads) + before_pages(threads, slots) + cluster.pages as usize * PAGE_WORDS
    }
    /// That of a region of this cluster.
    pub fn of(region: &'r [AtomicU64], cluster: &Cluster, layout: &Layout) -> Profile<'r> {
        let words = &region[layout.extra() + shared::words(cluster.threads)..];
        Profile { words, threads: cluster.threads.into(), slots: cluster.slots as usize }
    }

    fn name_words(self, phase: usize) -> &'r [AtomicU64] {
        &self.words[phase * NAME_WORDS..][..NAME_WORDS]
    }
    /// Name of a phase from 1 on; `None` if there are not so many.
    pub fn name(self, phase: usize) -> Option<String> {
        let words = self.name_words(phase).iter().map(|w| w.load(Ordering::Acquire));
        let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).take_while(|b| *b != 0).collect();
        (!bytes.is_empty()).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }
    /// The phase of this name, which is not empty; noted if it is new. `None` if there are too many. One thread at a time.
    pub(crate) fn phase(self, name: &[u8]) -> Option<usize> {
        let mut cut = [0; NAME_BYTES];
        cut.iter_mut().zip(name).for_each(|(to, from)| *to = *from);
        let word = |at: usize| u64::from_le_bytes(cut[8 * at..8 * at + 8].try_into().unwrap_or_default());
        let wanted: [u64; NAME_WORDS] = std::array::from_fn(word);
        (1..PHASES).find(|phase| {
            let words = self.name_words(*phase);
            if words[0].load(Ordering::Relaxed) == 0 {
                words.iter().zip(wanted).rev().for_each(|(to, from)| to.store(from, Ordering::Release));
            }
            words.iter().zip(wanted).all(|(there, word)| there.load(Ordering::Relaxed) == word)
        })
    }

    /// A phase of a thread of the node: times entered, nanoseconds, totals.
    pub fn phase_of(self, thread: u16, phase: usize) -> &'r [AtomicU64] {
        let at = usize::from(thread) * PHASES + phase;
        &self.words[PHASES * NAME_WORDS + at * PHASE_WORDS..][..PHASE_WORDS]
    }

    fn pieces(self) -> &'r [AtomicU64] {
        &self.words[PHASES * NAME_WORDS + self.threads * PHASES * PHASE_WORDS..][..1 + PIECES * PIECE_WORDS]
    }
    /// Remembers a piece of the heap.
    pub(crate) fn add_piece(self, taken: PieceTaken) {
        let words = self.pieces();
        let at = words[0].fetch_add(1, Ordering::Relaxed) as usize;
        if let Some(piece) = words[1..].chunks_exact(PIECE_WORDS).nth(at) {
            piece.iter().zip(taken.words()).rev().for_each(|(to, word)| to.store(word, Ordering::Release));
        }
    }
    /// The pieces that were remembered.
    pub fn piece_list(self) -> impl Iterator<Item = PieceTaken> + use<'r> {
        let pieces = self.pieces()[1..].chunks_exact(PIECE_WORDS);
        let all = pieces.map(|p| PieceTaken::of(std::array::from_fn(|at| p[at].load(Ordering::Acquire))));
        all.take_while(|piece| piece.address != 0)
    }
    /// Pieces that there was no room to remember.
    pub fn forgotten(self) -> u64 {
        self.pieces()[0].load(Ordering::Relaxed).saturating_sub(PIECES as u64)
    }

    /// A lock, barrier or whatever else has a name: times used (a lock: taken), of these times with what came from another node, and
    /// nanoseconds in it.
    pub fn slot(self, slot: u32) -> &'r [AtomicU64] {
        let at = before_last(self.threads, 0) + slot as usize * SLOT_WORDS;
        &self.words[at..][..SLOT_WORDS]
    }

    fn page(self, page: PageId) -> &'r [AtomicU64] {
        &self.words[before_pages(self.threads, self.slots) + page.index() * PAGE_WORDS..][..PAGE_WORDS]
    }
    /// Counts what happened to a page, if that is kept by page.
    pub(crate) fn count_at(self, page: PageId, what: Count, times: u64) {
        let words = self.page(page);
        match what {
            Count::Fetch => words[0].fetch_add(times, Ordering::Relaxed),
            Count::Invalidation => words[0].fetch_add(times << 32, Ordering::Relaxed),
            Count::Diff | Count::HomeWrite => words[1].fetch_add(times, Ordering::Relaxed),
            Count::DiffRun => words[1].fetch_add(times << 32, Ordering::Relaxed),
            _ => 0,
        };
    }
    /// Notes that a thread fetches a page, having spent `synchronised` on locks, barriers and the like: a fetch in order if the one that it
    /// fetched before is the page before it, and it has not synchronised since, so that both could have come together.
    pub(crate) fn fetched(self, thread: u16, page: PageId, synchronised: u64) {
        let Some(last) = self.last(thread) else { return };
        let (before, then) = (last[0].load(Ordering::Relaxed), last[1].load(Ordering::Relaxed));
        // Pages are noted as their number and one.
        if before == u64::from(page.0) && before > 0 && then == synchronised {
            self.page(page)[2].fetch_add(1, Ordering::Relaxed);
        }
        last[0].store(u64::from(page.0) + 1, Ordering::Relaxed);
        last[1].store(synchronised, Ordering::Relaxed);
    }
    fn last(self, thread: u16) -> Option<&'r [AtomicU64]> {
        let at = before_last(self.threads, self.slots) + usize::from(thread) * LAST_WORDS;
        (usize::from(thread) < self.threads).then(|| &self.words[at..][..LAST_WORDS])
    }
    /// Fetches of a page right after the page before it.
    pub fn in_order_at(self, page: PageId) -> u64 {
        self.page(page)[2].load(Ordering::Relaxed)
    }
    /// What happened to a page: fetches; invalidations; intervals in which it was written; runs of changed words in its diffs. Each
    /// modulo 2^32.
    pub fn counts_at(self, page: PageId) -> [u32; 4] {
        let [first, second] = [0, 1].map(|at| self.page(page)[at].load(Ordering::Relaxed));
        [first as u32, (first >> 32) as u32, second as u32, (second >> 32) as u32]
    }
}

/// Words before those of the pages.
fn before_pages(threads: usize, slots: usize) -> usize {
    before_last(threads, slots) + threads * LAST_WORDS
}

/// Words before those of last fetches.
fn before_last(threads: usize, slots: usize) -> usize {
    PHASES * NAME_WORDS + threads * PHASES * PHASE_WORDS + 1 + PIECES * PIECE_WORDS + slots * SLOT_WORDS
}

/// What a thread has spent so far.
pub(crate) fn totals(of: Thread<'_>) -> Totals {
    let times = Class::ALL.iter().map(|c| of.time(*c));
    let across = Across::ALL.iter().map(|a| of.across(*a));
    let mut all = times.chain(across).chain([of.faults(false), of.faults(true)]);
    std::array::from_fn(|_| all.next().map_or(0, |word| word.load(Ordering::Relaxed)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_base::NodeId;
    use homenode_hlrc::cluster::Homes;
    use homenode_hlrc::steps;
    use std::collections::BTreeSet;

    fn cluster() -> Cluster {
        let mut cluster = Cluster {
            me: NodeId(0),
            nodes: 2,
            threads: 3,
            pages: 7,
            page_words: 512,
            step: *steps::ALL[0],
            homes: Homes::FirstTouch,
            alone: false,
            log: 4,
            inbox: 16,
            slots: 5,
            exclusive: false,
            prefetch: 0,
            migrate: false,
            sorted: false,
            tickets: false,
            tree: false,
            extra: 0,
        };
        cluster.extra = Profile::words(&cluster) as u32;
        cluster
    }

    fn region(cluster: &Cluster) -> Vec<AtomicU64> {
        (0..cluster.layout().words()).map(|_| AtomicU64::new(0)).collect()
    }

    #[test]
    fn every_word_is_one_thing_only() {
        let cluster = cluster();
        let (region, layout) = (region(&cluster), cluster.layout());
        let profile = Profile::of(&region, &cluster, &layout);
        let mut seen = BTreeSet::new();
        let mut take = |words: &[AtomicU64]| {
            words.iter().for_each(|word| assert!(seen.insert(std::ptr::from_ref(word).addr())));
        };
        (0..PHASES).for_each(|p| take(profile.name_words(p)));
        (0..3).for_each(|t| (0..PHASES).for_each(|p| take(profile.phase_of(t, p))));
        take(profile.pieces());
        (0..5).for_each(|s| take(profile.slot(s)));
        (0..3).for_each(|t| take(profile.last(t).expect("one of the node's")));
        (0..7).for_each(|p| take(profile.page(PageId(p))));
        assert_eq!(seen.len(), Profile::words(&cluster) - shared::words(3));
        assert_eq!(seen.last(), region.last().map(|w| std::ptr::from_ref(w).addr()).as_ref());
    }

    #[test]
    fn what_was_counted_is_read() {
        let cluster = cluster();
        let (region, layout) = (region(&cluster), cluster.layout());
        let profile = Profile::of(&region, &cluster, &layout);
        let long = [b'x'; 40];
        assert_eq!([&b"solve"[..], &long, b"solve"].map(|n| profile.phase(n)), [Some(1), Some(2), Some(1)]);
        assert_eq!((profile.name(1).as_deref(), profile.name(2).map(|n| n.len())), (Some("solve"), Some(32)));
        assert_eq!(profile.name(3), None);
        (3..PHASES).for_each(|p| assert_eq!(profile.phase(&[b'a' + p as u8]), Some(p)));
        assert_eq!((profile.phase(b"one more"), profile.phase(b"solve")), (None, Some(1)));

        let piece = |k: u64| PieceTaken {
            address: 4096 * (k + 1),
            bytes: 4096,
            site: k,
            asked: 4000 + k,
            thread: k as u32,
            planned: k.checked_sub(1).map(|at| at as u32),
            placed: k + 7,
        };
        (0..PIECES as u64 + 2).for_each(|k| profile.add_piece(piece(k)));
        assert_eq!((profile.piece_list().count(), profile.forgotten()), (PIECES, 2));
        assert!(profile.piece_list().enumerate().all(|(k, taken)| taken == piece(k as u64)));

        for (what, times) in [(Count::Fetch, 1), (Count::Invalidation, 2), (Count::Diff, 3), (Count::DiffRun, 4)] {
            profile.count_at(PageId(6), what, times);
        }
        profile.count_at(PageId(6), Count::Twin, 9);
        assert_eq!((profile.counts_at(PageId(6)), profile.counts_at(PageId(5))), ([1, 2, 3, 4], [0; 4]));
    }

    #[test]
    fn fetches_in_order_are_those_of_the_next_page_by_the_same_thread_that_has_not_synchronised() {
        let cluster = cluster();
        let (region, layout) = (region(&cluster), cluster.layout());
        let profile = Profile::of(&region, &cluster, &layout);
        // Thread, page, what it has synchronised: the first page, in turn with another thread, the same page again, one left out, and
        // one behind a barrier.
        for (thread, page, synchronised) in
            [(0, 0, 5), (1, 4, 0), (0, 1, 5), (1, 5, 0), (0, 1, 5), (0, 2, 5), (0, 4, 5), (0, 5, 6), (7, 6, 6)]
        {
            profile.fetched(thread, PageId(page), synchronised);
        }
        assert_eq!([0, 1, 2, 3, 4, 5, 6].map(|p| profile.in_order_at(PageId(p))), [0, 1, 1, 0, 0, 1, 0]);
    }
}
