//! Objects that threads take turns at: locks, and words that several threads change by atomics.
//!
//! Who got a lock when is mostly the host's doing: where there are fewer processors than threads, one thread makes hundreds
//! of turns in its time slice before another makes its first. So in the model order, among threads that take an object
//! again and again, a thread's n-th turn follows only the first n turns of each other one, as far as these came before it
//! in the recording (of threads that do the same there, [`super::peers`]: the turns before the n-th); and where turns exclude
//! each other (as recorded, no two overlapped) whoever waits longest is next.
//! What is handed over item by item, in order, is so still read after it was written. Threads that release or acquire an
//! object now and then (who waits for a flag, who reads a result) follow all that came before them, and are followed by all
//! that came after.
use super::peers::{Code, Site, alike};
use crate::TraceError;
use crate::dataset::DatasetReader;
use crate::event::{Event, EventKind};
use crate::packed::SyncEvent;
use crate::polls::Polls;
use hashbrown::HashMap;
use std::collections::{BTreeMap, VecDeque};

/// A thread takes an object again and again if it acquires and releases it so often.
const REGULAR: u32 = 16;
/// Epoch of the writers of a lock (and of everything without epochs), and that of its readers.
const EPOCHS_OF_LOCKS: u64 = 2;

/// A lock or word: objects of one address that differ by epoch only.
#[derive(Debug, Default)]
struct Family {
    address: u64,
    /// Threads that take it regularly, ascending.
    regular: Vec<u32>,
    /// Equal for those of them that do the same there.
    kinds: Vec<u32>,
    /// Releases by each of them so far.
    turns: Vec<u32>,
    /// Whether turns exclude each other.
    exclusive: bool,
    holder: Option<u32>,
    /// Whose turn is next.
    next: Option<u32>,
    /// First come first.
    waiting: VecDeque<Waiter>,
    /// Virtual time of the last release.
    last: u64,
}

/// A thread that waits for an acquire.
#[derive(Clone, Copy, Debug)]
struct Waiter {
    thread: u32,
    event: u32,
    object: u32,
    seq: u64,
}

/// Releases by one thread, or by all that are not regular.
#[derive(Debug, Default)]
struct Releases {
    /// Number and turn of each, ascending.
    all: Vec<(u64, u32)>,
    /// Largest virtual time up to each; executed ones only. Of several threads together: [`PENDING`] if not executed.
    times: Vec<u64>,
    /// The lowest that is not executed.
    low: usize,
}

const PENDING: u64 = u64::MAX;

impl Releases {
    /// How many have a lower number.
    fn before(&self, seq: u64) -> usize {
        self.all.partition_point(|r| r.0 < seq)
    }
    /// How many have a lower number and at most this turn.
    fn within(&self, seq: u64, turn: u32) -> usize {
        let turns = self.all.partition_point(|r| r.1 <= turn);
        if turns == 0 || self.all[turns - 1].0 < seq { turns } else { self.all[..turns].partition_point(|r| r.0 < seq) }
    }
    /// Whether so many are executed; if so, their largest virtual time.
    fn ready(&self, needs: usize) -> Option<u64> {
        (self.low >= needs).then(|| if needs > 0 { self.times[needs - 1] } else { 0 })
    }
    fn execute(&mut self, seq: u64, time: u64) {
        let at = self.before(seq);
        if self.times.len() < self.all.len() {
            self.times.resize(self.all.len(), PENDING);
        }
        self.times[at] = time;
        let mut largest = if self.low > 0 { self.times[self.low - 1] } else { 0 };
        while let Some(t) = self.times.get_mut(self.low).filter(|t| **t != PENDING) {
            largest = largest.max(*t);
            *t = largest;
            self.low += 1;
        }
    }
}

/// One object of a family.
#[derive(Debug, Default)]
struct Shared {
    family: u32,
    /// By regular thread.
    by: Vec<Releases>,
    others: Releases,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Turns {
    families: Vec<Family>,
    objects: HashMap<u32, Shared>,
    /// Events that begin a turn which a later release ends, a bit each.
    opens: Vec<u64>,
}

/// An event with its halves: index, thread, object, number, whether it acquires and releases.
#[derive(Clone, Copy, Debug)]
struct Half {
    event: u32,
    thread: u32,
    /// References of the thread before it.
    at: u64,
    object: u32,
    seq: u64,
    acquires: bool,
    releases: bool,
}

/// Of each regular thread of a family the first one that does the same. Errors: a damaged frame.
fn kinds(family: &Family, halves: &[Half], code: &mut Code<'_>) -> Result<Vec<u32>, TraceError> {
    let mut turns: Vec<Vec<u64>> = vec![Vec::new(); family.regular.len()];
    for h in halves.iter().filter(|h| h.acquires) {
        if let Ok(slot) = family.regular.binary_search(&h.thread) {
            turns[slot].push(h.at);
        }
    }
    let mut first: Vec<(u32, Vec<Site>)> = Vec::new();
    let mut kinds = Vec::with_capacity(turns.len());
    for (thread, turns) in (0..).zip(turns) {
        let sites = code.sites(family.regular[thread as usize], family.address, &turns)?;
        let like = first.iter().find(|(_, other)| alike(&sites, other)).map(|(kind, _)| *kind);
        kinds.push(like.unwrap_or(thread));
        if like.is_none() {
            first.push((thread, sites));
        }
    }
    Ok(kinds)
}

impl Turns {
    /// Finds the objects taken in turns. Errors: a damaged frame.
    pub(super) fn find(data: &DatasetReader, polls: &Polls) -> Result<Turns, TraceError> {
        let mut turns = Turns::default();
        let family_of = turns.families(data, polls);
        if family_of.is_empty() {
            return Ok(turns);
        }
        let mut code = Code::new(data);
        turns.opens = vec![0; data.events().len().div_ceil(64)];
        let mut by_family: Vec<Vec<Half>> = vec![Vec::new(); turns.families.len()];
        let mut walk = data.events().iter();
        while let Some((thread, event, item)) = walk.item() {
            let Some(s) = item.sync().filter(|_| !polls.events.contains(&event)) else { continue };
            let Some(&family) = family_of.get(&s.object) else { continue };
            let SyncEvent { at, object, seq, acquires, releases, .. } = s;
            let half = Half { event, thread, at, object, seq, acquires, releases };
            by_family[family as usize].push(half);
        }
        for (family, halves) in by_family.iter_mut().enumerate() {
            turns.families[family].kinds = kinds(&turns.families[family], halves, &mut code)?;
            turns.enter(family as u32, halves);
        }
        Ok(turns)
    }

    /// Makes the families with at least two regular threads; returns the family of each object that has one.
    fn families(&mut self, data: &DatasetReader, polls: &Polls) -> HashMap<u32, u32> {
        let mut counts: HashMap<(u32, u64, u32), (u32, u32)> = HashMap::new();
        let mut walk = data.events().iter();
        while let Some((thread, event, item)) = walk.item() {
            let Some(s) = item.sync().filter(|_| !polls.events.contains(&event)) else { continue };
            let (space, object, epoch) = data.events().objects()[s.object as usize];
            // Generations of barriers, and memory that the allocator hands on, are different things each time.
            if epoch < EPOCHS_OF_LOCKS {
                let count = counts.entry((space, object, thread)).or_default();
                *count = (count.0 + u32::from(s.acquires), count.1 + u32::from(s.releases));
            }
        }
        let mut regular: BTreeMap<(u32, u64), Vec<u32>> = BTreeMap::new();
        for ((space, object, thread), _) in counts.into_iter().filter(|(_, c)| c.0.min(c.1) >= REGULAR) {
            regular.entry((space, object)).or_default().push(thread);
        }
        regular.retain(|_, threads| threads.len() > 1);
        let mut family_of = HashMap::new();
        for ((space, object), mut threads) in regular {
            threads.sort_unstable();
            let family = self.families.len() as u32;
            for id in (0..EPOCHS_OF_LOCKS).filter_map(|epoch| data.events().object((space, object, epoch))) {
                family_of.insert(id, family);
                let by = threads.iter().map(|_| Releases::default()).collect();
                self.objects.insert(id, Shared { family, by, others: Releases::default() });
            }
            let turns = vec![0; threads.len()];
            self.families.push(Family { address: object, regular: threads, turns, ..Family::default() });
        }
        family_of
    }

    /// Notes the releases of a family and which of its events begin turns. Events of a thread come in its order.
    fn enter(&mut self, family: u32, halves: &mut [Half]) {
        let f = &mut self.families[family as usize];
        let mut open: HashMap<u32, u32> = HashMap::new();
        let mut turns: HashMap<u32, u32> = HashMap::new();
        for h in halves.iter() {
            if h.releases {
                let turn = turns.entry(h.thread).or_default();
                *turn += 1;
                let shared = self.objects.get_mut(&h.object).expect("entered with its family");
                match f.regular.binary_search(&h.thread) {
                    Ok(slot) => shared.by[slot].all.push((h.seq, *turn)),
                    Err(_) => shared.others.all.push((h.seq, 0)),
                }
                if !h.acquires
                    && let Some(event) = open.remove(&h.thread)
                {
                    self.opens[event as usize / 64] |= 1 << (event % 64);
                }
            }
            if h.acquires {
                open.insert(h.thread, h.event);
            }
        }
        for shared in self.objects.values_mut().filter(|s| s.family == family) {
            shared.by.iter_mut().chain([&mut shared.others]).for_each(|r| r.all.sort_unstable());
        }
        halves.sort_unstable_by_key(|h| h.seq);
        let (mut holder, mut overlap) = (None, false);
        for h in halves.iter() {
            if h.releases && !h.acquires && holder == Some(h.thread) {
                holder = None;
            }
            if self.opens[h.event as usize / 64] >> (h.event % 64) & 1 == 1 {
                overlap |= holder.is_some_and(|t| t != h.thread);
                holder = Some(h.thread);
            }
        }
        f.exclusive = !overlap;
    }

    /// Whether this object is one of them.
    pub(super) fn has(&self, object: u32) -> bool {
        self.objects.contains_key(&object)
    }

    fn opens(&self, event: u32) -> bool {
        self.opens[event as usize / 64] >> (event % 64) & 1 == 1
    }

    /// Whether an acquire of `object` with this number can happen now; if so, the largest virtual time of what it follows.
    pub(super) fn ready(&self, object: u32, event: u32, thread: u32, seq: u64) -> Option<u64> {
        let shared = &self.objects[&object];
        let f = &self.families[shared.family as usize];
        let mut floor = shared.others.ready(shared.others.before(seq))?;
        let slot = f.regular.binary_search(&thread);
        for (i, by) in shared.by.iter().enumerate().filter(|(i, _)| Ok(*i) != slot) {
            let needs = match slot {
                Ok(slot) => by.within(seq, f.turns[slot] + u32::from(f.kinds[slot] != f.kinds[i])),
                Err(_) => by.before(seq),
            };
            floor = floor.max(by.ready(needs)?);
        }
        if f.exclusive && self.opens(event) {
            let others = |t: Option<u32>| t.is_some_and(|t| t != thread);
            if others(f.holder) || others(f.next) {
                return None;
            }
            floor = floor.max(f.last);
        }
        Some(floor)
    }

    /// Remembers that a thread waits for its event, an acquire of `object` with this number.
    pub(super) fn wait(&mut self, object: u32, event: u32, thread: u32, seq: u64) {
        let family = self.objects[&object].family;
        let waiting = &mut self.families[family as usize].waiting;
        if waiting.iter().all(|w| w.thread != thread) {
            waiting.push_back(Waiter { thread, event, object, seq });
        }
    }

    /// An event of `object` happens; threads that may go on are appended to `woken`.
    pub(super) fn execute(&mut self, object: u32, event: u32, e: &Event, time: u64, woken: &mut Vec<u32>) {
        let opens = self.opens(event);
        let shared = self.objects.get_mut(&object).expect("asked for before");
        let family = shared.family;
        let f = &mut self.families[family as usize];
        if f.next == Some(e.thread) {
            f.next = None;
        }
        if let EventKind::Release { seq, .. } | EventKind::AcqRel { seq, .. } = e.kind {
            match f.regular.binary_search(&e.thread) {
                Ok(slot) => {
                    f.turns[slot] += 1;
                    shared.by[slot].execute(seq, time);
                }
                Err(_) => shared.others.execute(seq, time),
            }
            f.last = f.last.max(time);
            if f.holder == Some(e.thread) {
                f.holder = None;
            }
        }
        if opens && f.exclusive {
            f.holder = Some(e.thread);
        }
        self.wake(family, woken);
    }

    /// Lets those go on that can, in the order in which they came; of those that exclude each other the first.
    fn wake(&mut self, family: u32, woken: &mut Vec<u32>) {
        let waiting = std::mem::take(&mut self.families[family as usize].waiting);
        for w in waiting {
            let f = &self.families[family as usize];
            let exclusive = f.exclusive && self.opens(w.event);
            let ready = self.ready(w.object, w.event, w.thread, w.seq).is_some();
            let f = &mut self.families[family as usize];
            if ready {
                woken.push(w.thread);
                f.next = if exclusive { Some(w.thread) } else { f.next };
            } else {
                f.waiting.push_back(w);
            }
        }
    }

    /// Nobody can go on: turns that wait for each other (the program could block for ever, had it been unlucky) no longer
    /// exclude each other. Whether that helps anybody.
    pub(super) fn give_up(&mut self, woken: &mut Vec<u32>) -> bool {
        for family in 0..self.families.len() as u32 {
            let f = &mut self.families[family as usize];
            if f.exclusive && !f.waiting.is_empty() {
                (f.exclusive, f.holder, f.next) = (false, None, None);
                self.wake(family, woken);
                if !woken.is_empty() {
                    return true;
                }
            }
        }
        false
    }
}
