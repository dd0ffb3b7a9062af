//! What a node knows for itself: the state of its pages, what it must see of others, what it has written.
use crate::access::{Access, Area, Does, Place};
use crate::cluster::{Cluster, PageId};
use crate::host::Host;
use crate::memory::{Word, Words};
use homenode_base::NodeId;
use std::ops::{Deref, Range};
use std::sync::atomic::{AtomicU64, Ordering};

/// A page as a node sees it. All zero: nobody here has touched it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageState {
    /// What the program may do.
    pub access: Access,
    /// Home, if this node knows it.
    pub home: Option<NodeId>,
    /// Whether it was written since its changes were last sent.
    pub dirty: bool,
    /// Whether it stands in the list of written pages: at most once, so that the list has room.
    pub listed: bool,
    /// Whether a thread is fetching it; the others wait.
    pub busy: bool,
    /// Whether another node's changes are missing, and it is given up as soon as its own have been sent.
    pub stale: bool,
    /// By how many pages it lies behind the one that was fetched when this one was, as the last, fetched ahead and not opened; 0 if it was
    /// not, or is not good any more.
    pub ahead: u8,
    /// That number if the page was given up before the program touched it; 0 again when it has.
    pub lapsed: u8,
    /// Diffs of it that this node sent since another one wrote it, up to 7.
    pub diffs: u8,
    /// To whom its home moves, behind the next even and the next odd barrier.
    pub mover: [Option<NodeId>; 2],
    /// Whether this node was its home and the new one may still read what is here: nothing older may come in its place.
    pub read_by_home: bool,
    /// Whether it stands in the list of exclusive pages: at most once, so that the list has room.
    pub kept: bool,
}

const LOCKED: u64 = 1;
const DIRTY: u64 = 1 << 1;
const BUSY: u64 = 1 << 2;
const LISTED: u64 = 1 << 3;
const STALE: u64 = 1 << 4;
const ACCESS_SHIFT: u32 = 5;
const KEPT: u64 = 1 << 7;
const HOME_SHIFT: u32 = 8;
const AHEAD_SHIFT: u32 = 24;
const LAPSED_SHIFT: u32 = 28;
const DIFFS_SHIFT: u32 = 32;
/// Most diffs that are counted.
const DIFFS: u64 = 7;
const MOVER_SHIFTS: [u32; 2] = [36, 48];
/// Bits of the number of a node, plus 1.
const MOVER: u64 = (1 << 12) - 1;
const READ_BY_HOME: u64 = 1 << 60;
/// Bits of a distance between pages.
const DISTANCE: u64 = 15;

impl PageState {
    fn of(word: u64) -> PageState {
        let access = match word >> ACCESS_SHIFT & 3 {
            0 => Access::None,
            1 => Access::Read,
            _ => Access::Write,
        };
        let home = (word >> HOME_SHIFT) as u16;
        PageState {
            access,
            home: home.checked_sub(1).map(NodeId),
            dirty: word & DIRTY != 0,
            busy: word & BUSY != 0,
            listed: word & LISTED != 0,
            stale: word & STALE != 0,
            kept: word & KEPT != 0,
            read_by_home: word & READ_BY_HOME != 0,
            ahead: (word >> AHEAD_SHIFT & DISTANCE) as u8,
            lapsed: (word >> LAPSED_SHIFT & DISTANCE) as u8,
            diffs: (word >> DIFFS_SHIFT & DIFFS) as u8,
            mover: MOVER_SHIFTS.map(|shift| ((word >> shift & MOVER) as u16).checked_sub(1).map(NodeId)),
        }
    }

    fn word(self) -> u64 {
        let flag = |set: bool, bit: u64| if set { bit } else { 0 };
        let home = self.home.map_or(0, |h| u64::from(h.0) + 1);
        let flags = flag(self.dirty, DIRTY)
            | flag(self.busy, BUSY)
            | flag(self.listed, LISTED)
            | flag(self.stale, STALE)
            | flag(self.kept, KEPT)
            | flag(self.read_by_home, READ_BY_HOME);
        let mover = |turn: usize| self.mover[turn].map_or(0, |node| u64::from(node.0) + 1) << MOVER_SHIFTS[turn];
        let moves = u64::from(self.diffs).min(DIFFS) << DIFFS_SHIFT | mover(0) | mover(1);
        let distances = u64::from(self.ahead) << AHEAD_SHIFT | u64::from(self.lapsed) << LAPSED_SHIFT | moves;
        flags | (self.access as u64) << ACCESS_SHIFT | home << HOME_SHIFT | distances
    }
}

/// State of a node, in memory that the host gives.
#[derive(Debug)]
pub struct Tables<W> {
    areas: [W; Area::ALL.len()],
}

/// Words of [`Area::Node`].
const LOCK: usize = 0;
const LIST: usize = 1;
const SCANNING: usize = 2;
const WANTED: usize = 3;
const GRANTING: usize = 4;
const DEFERRED: usize = 5;
const ROOM: usize = 6;
const STALES: usize = 7;
const LIST_EXCLUSIVE: usize = 8;
const COPIES: usize = 9;
const BARRIERS: usize = 10;
const LIST_MOVING: [usize; 2] = [11, 12];
const VECTORS: usize = 13;

/// Words of a request before its vector: what it is about + 1.
const REQUEST: usize = 1;

/// The list in use is the highest bit, its length the rest.
const SECOND: u64 = 1 << 63;

impl<W> Tables<W> {
    /// State of a node that has seen nothing. `zeros` gives so many words that are zero.
    pub fn new(cluster: &Cluster, mut zeros: impl FnMut(usize) -> W) -> Tables<W> {
        Tables { areas: Area::ALL.map(|area| zeros(words_of(area, cluster))) }
    }

    /// Memory of a part.
    #[inline(always)]
    pub fn area(&self, area: Area) -> &W {
        &self.areas[area as usize]
    }
}

impl<W: Deref<Target = [AtomicU64]>> Tables<W> {
    /// All words: two nodes with equal ones, regions and pages go on alike.
    #[cfg(test)]
    pub(crate) fn words(&self) -> impl Iterator<Item = &AtomicU64> {
        self.areas.iter().flat_map(|words| words.iter())
    }

    /// A word, for [`Host::access`].
    #[inline(always)]
    pub fn word(&self, area: Area, at: usize) -> &AtomicU64 {
        &self.area(area)[at]
    }
}

/// Words of a part.
fn words_of(area: Area, cluster: &Cluster) -> usize {
    let (nodes, pages) = (usize::from(cluster.nodes), cluster.pages as usize);
    match area {
        Area::Pages | Area::Written | Area::WrittenNext => pages,
        Area::Needed => pages * nodes,
        Area::Exclusive | Area::ExclusiveNext if cluster.exclusive => pages,
        Area::Moving | Area::MovingNext if cluster.migrate => pages,
        Area::Marks if cluster.sorted => pages.div_ceil(64),
        Area::Exclusive | Area::ExclusiveNext | Area::Moving | Area::MovingNext | Area::Marks => 0,
        Area::Node => VECTORS + 3 * nodes + 2 * cluster.all_threads() as usize * (REQUEST + nodes),
    }
}

/// State of a node as the protocol reads and changes it.
#[derive(Debug)]
pub(crate) struct State<'h, H> {
    host: &'h H,
}

impl<H> Clone for State<'_, H> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<H> Copy for State<'_, H> {}

/// The state of this node.
pub(crate) fn of<H: Host>(host: &H) -> State<'_, H> {
    State { host }
}

/// The two lists of written pages, and of exclusive ones.
const WRITTEN: [Area; 2] = [Area::Written, Area::WrittenNext];
const EXCLUSIVE: [Area; 2] = [Area::Exclusive, Area::ExclusiveNext];
/// Pages that move behind an even barrier, and behind an odd one.
const MOVING: [Area; 2] = [Area::Moving, Area::MovingNext];

impl<'h, H: Host> State<'h, H> {
    fn nodes(self) -> usize {
        usize::from(self.host.cluster().nodes)
    }
    fn node(self, word: usize) -> Word<'h, H> {
        Word::at(self.host, Place::Table(Area::Node, word))
    }

    /// Looks at a page and changes it, under its lock. `change` must not wait, nor ask for another page below this one.
    pub(crate) fn page<R>(self, page: PageId, change: impl FnOnce(&mut PageState) -> R) -> R {
        let word = Word::at(self.host, Place::Table(Area::Pages, page.index()));
        let mut state = PageState::of(word.does(Does::Lock(LOCKED)));
        let result = change(&mut state);
        word.store(state.word(), Ordering::Release);
        result
    }

    /// Takes the locks of consecutive pages, the first one first.
    pub(crate) fn run(self, pages: Range<u32>) -> Run<'h, H> {
        let len = (pages.end - pages.start) as usize;
        let words = Words::at_place(self.host, Place::Table(Area::Pages, pages.start as usize), len);
        for word in words.iter() {
            word.does(Does::Lock(LOCKED));
        }
        Run { first: pages.start, words }
    }

    /// Up to which notice of each writer a copy of the page must have the changes.
    pub(crate) fn needed(self, page: PageId) -> Words<'h, H> {
        let nodes = self.nodes();
        Words::at_place(self.host, Place::Table(Area::Needed, page.index() * nodes), nodes)
    }

    /// Adds a page to the list of written ones.
    pub(crate) fn note_written(self, page: PageId) {
        self.note(LIST, WRITTEN, page);
    }
    /// Adds a page to the list of exclusive ones.
    pub(crate) fn note_exclusive(self, page: PageId) {
        self.note(LIST_EXCLUSIVE, EXCLUSIVE, page);
    }
    fn note(self, list: usize, lists: [Area; 2], page: PageId) {
        let at = self.node(list).fetch_add(1, Ordering::SeqCst);
        let list = lists[usize::from(at & SECOND != 0)];
        let word = Word::at(self.host, Place::Table(list, (at & !SECOND) as usize));
        word.store(u64::from(page.0) + 1, Ordering::Release);
    }

    /// Takes the list of written pages; the next ones go into another list. Only under the node's lock, and what was taken before
    /// is no longer looked at.
    pub(crate) fn take_written(self) -> Written<'h, H> {
        self.take(LIST, WRITTEN)
    }
    /// Takes the list of exclusive pages in the same way.
    pub(crate) fn take_exclusive(self) -> Written<'h, H> {
        self.take(LIST_EXCLUSIVE, EXCLUSIVE)
    }
    fn take(self, list: usize, lists: [Area; 2]) -> Written<'h, H> {
        let other = if self.node(list).load(Ordering::Relaxed) & SECOND == 0 { SECOND } else { 0 };
        let taken = self.node(list).swap(other, Ordering::SeqCst);
        let list = lists[usize::from(taken & SECOND != 0)];
        Written { list: Words::at_place(self.host, Place::Table(list, 0), (taken & !SECOND) as usize) }
    }
    /// Adds a page to those that move behind an even barrier (0) or an odd one (1). Under the node's lock, and of no page twice before they are taken.
    pub(crate) fn note_moving(self, turn: usize, page: PageId) {
        let at = self.node(LIST_MOVING[turn]).fetch_add(1, Ordering::Relaxed) as usize;
        Word::at(self.host, Place::Table(MOVING[turn], at)).store(u64::from(page.0) + 1, Ordering::Relaxed);
    }
    /// Takes the list of these. Under the node's lock, and none is noted before all are looked at.
    pub(crate) fn take_moving(self, turn: usize) -> Written<'h, H> {
        let len = self.node(LIST_MOVING[turn]).swap(0, Ordering::Relaxed) as usize;
        Written { list: Words::at_place(self.host, Place::Table(MOVING[turn], 0), len) }
    }
    /// Marks a page that a notice names; the word of its mark. Under the node's lock.
    pub(crate) fn mark(self, page: PageId) -> u32 {
        let word = Word::at(self.host, Place::Table(Area::Marks, page.index() / 64));
        word.fetch_or(1 << (page.0 % 64), Ordering::Relaxed);
        page.0 / 64
    }
    /// Takes the marks of a word: pages, in order. Under the node's lock.
    pub(crate) fn take_marks(self, word: u32) -> impl Iterator<Item = u32> + use<H> {
        let mut marks = Word::at(self.host, Place::Table(Area::Marks, word as usize)).swap(0, Ordering::Relaxed);
        std::iter::from_fn(move || {
            let bit = (marks != 0).then(|| marks.trailing_zeros())?;
            marks &= marks - 1;
            Some(word * 64 + bit)
        })
    }
    /// Barriers that this node has passed, if homes move.
    pub(crate) fn barriers(self) -> Word<'h, H> {
        self.node(BARRIERS)
    }
    /// How many first copies of pages this node has looked after.
    pub(crate) fn copies_seen(self) -> Word<'h, H> {
        self.node(COPIES)
    }

    /// Tries to take the lock of the node: intervals, notices and what is handed to other nodes are changed under it.
    pub(crate) fn try_lock(self) -> bool {
        self.node(LOCK).replace(0, 1)
    }
    /// Gives the lock of the node back.
    pub(crate) fn unlock(self) {
        self.node(LOCK).store(0, Ordering::SeqCst);
    }
    /// Whether the lock of the node is free.
    pub(crate) fn is_free(self) -> bool {
        self.node(LOCK).load(Ordering::SeqCst) == 0
    }

    /// Announces that there may be messages.
    pub(crate) fn want_scan(self) {
        self.node(WANTED).fetch_add(1, Ordering::SeqCst);
    }
    /// Number of announcements.
    pub(crate) fn scans_wanted(self) -> u64 {
        self.node(WANTED).load(Ordering::SeqCst)
    }
    /// Tries to become the thread that takes messages out of the inboxes.
    pub(crate) fn try_scanning(self) -> bool {
        self.node(SCANNING).replace(0, 1)
    }
    /// The inboxes are anybody's again.
    pub(crate) fn scanned(self) {
        self.node(SCANNING).store(0, Ordering::SeqCst);
    }
    /// Tries to become the thread that looks after deferred requests.
    pub(crate) fn try_granting(self) -> bool {
        self.node(GRANTING).replace(0, 1)
    }
    /// Deferred requests are anybody's again.
    pub(crate) fn granted(self) {
        self.node(GRANTING).store(0, Ordering::SeqCst);
    }
    /// Number of requests that wait until they can be looked after.
    pub(crate) fn deferred(self) -> Word<'h, H> {
        self.node(DEFERRED)
    }
    /// Number of stale pages.
    pub(crate) fn stales(self) -> Word<'h, H> {
        self.node(STALES)
    }
    /// Own notice before which no log at another node is full.
    pub(crate) fn room(self) -> Word<'h, H> {
        self.node(ROOM)
    }

    /// Words that were put into a receiver's inbox.
    pub(crate) fn sent(self, receiver: NodeId) -> Word<'h, H> {
        self.node(VECTORS + receiver.index())
    }
    /// Words that were taken out of a sender's inbox.
    pub(crate) fn taken(self, sender: NodeId) -> Word<'h, H> {
        self.node(VECTORS + self.nodes() + sender.index())
    }
    /// Notices of a writer that all nodes have applied at the last barrier.
    pub(crate) fn floor(self, writer: NodeId) -> Word<'h, H> {
        self.node(VECTORS + 2 * self.nodes() + writer.index())
    }

    /// The page request of a thread of the cluster that this node cannot answer yet: page + 1, and what it must have seen.
    pub(crate) fn page_request(self, thread: usize) -> Words<'h, H> {
        self.request(2 * thread)
    }
    /// The lock request of a thread of the cluster that waits to be looked after: a word, and what its node has applied.
    pub(crate) fn lock_request(self, thread: usize) -> Words<'h, H> {
        self.request(2 * thread + 1)
    }
    fn request(self, at: usize) -> Words<'h, H> {
        let words = REQUEST + self.nodes();
        Words::at_place(self.host, Place::Table(Area::Node, VECTORS + 3 * self.nodes() + at * words), words)
    }
}

/// Consecutive pages under their locks, which end with it.
pub(crate) struct Run<'h, H: Host> {
    first: u32,
    words: Words<'h, H>,
}

impl<H: Host> Run<'_, H> {
    /// State of one of the pages.
    pub(crate) fn get(&self, page: PageId) -> PageState {
        PageState::of(self.words.at((page.0 - self.first) as usize).load(Ordering::Relaxed))
    }
    /// Changes the state of one of the pages.
    pub(crate) fn set(&self, page: PageId, state: PageState) {
        self.words.at((page.0 - self.first) as usize).store(state.word() | LOCKED, Ordering::Relaxed);
    }
}

impl<H: Host> Drop for Run<'_, H> {
    fn drop(&mut self) {
        for word in self.words.iter() {
            word.does(Does::Unlock(LOCKED));
        }
    }
}

/// A list of pages, written in an interval or exclusive, in the order in which they came into it.
pub(crate) struct Written<'h, H> {
    list: Words<'h, H>,
}

impl<H: Host> Written<'_, H> {
    /// Pages.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }
    /// The page at a place, taken: each can be taken once. Who wrote the page may still be putting it there.
    pub(crate) fn take(&self, at: usize) -> PageId {
        PageId((self.list.at(at).does(Does::Take) - 1) as u32)
    }
    /// The page at a place, left there.
    pub(crate) fn peek(&self, at: usize) -> PageId {
        PageId((self.list.at(at).does(Does::Await) - 1) as u32)
    }
}
