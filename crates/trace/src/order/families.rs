//! Finds what is taken in turns: who takes it regularly, which events begin turns, and whether turns exclude each other.
//!
//! There may be tens of millions of events, so they are walked a few times, thread by thread, and none is kept.
use super::peers::{Code, LOOKED_AT, Tally, alike};
use super::releases::{Counted, Releases};
use super::turns::{Family, Objects, Shared, Turns};
use crate::TraceError;
use crate::dataset::DatasetReader;
use crate::numbers::{Numbers, Room};
use crate::packed::SyncEvent;
use crate::waits::Polls;
use hashbrown::HashMap;
use std::collections::BTreeMap;

/// A thread takes an object again and again if it acquires and releases it so often.
const REGULAR: u32 = 16;
/// Epoch of the writers of a lock (and of everything without epochs), and that of its readers.
const EPOCHS_OF_LOCKS: u64 = 2;

/// The events of a dataset that count, thread by thread.
struct Search<'a> {
    data: &'a DatasetReader,
    polls: &'a Polls,
    turns: Turns,
}

/// Something of each object or family, of which a thread may have few or nearly all.
enum Of<T> {
    /// Of each, by its number.
    All(Vec<T>),
    /// Of those that were asked for.
    Few(HashMap<u32, T>),
}

/// A thread with so many times fewer events than there are objects or families has few of them.
const FEW: usize = 8;

impl<T: Clone + Default> Of<T> {
    /// Of so many, by a thread of so many events.
    fn new(all: usize, events: usize) -> Of<T> {
        if events.saturating_mul(FEW) >= all { Of::All(vec![T::default(); all]) } else { Of::Few(HashMap::new()) }
    }
    #[inline]
    fn at(&mut self, number: u32) -> &mut T {
        match self {
            Of::All(all) => &mut all[number as usize],
            Of::Few(few) => few.entry(number).or_default(),
        }
    }
    /// Each with its number, in no order.
    fn into_each(self) -> Vec<(u32, T)> {
        match self {
            Of::All(all) => (0..).zip(all).collect(),
            Of::Few(few) => few.into_iter().collect(),
        }
    }
}

/// A release that ends a turn: the event that began it, and its number.
type Began = Option<(u32, u64)>;

impl Turns {
    /// Finds the objects taken in turns. Errors: a damaged frame.
    pub(super) fn find(data: &DatasetReader, polls: &Polls) -> Result<Turns, TraceError> {
        let mut search = Search { data, polls, turns: Turns::default() };
        let mut counted = search.families();
        if search.turns.families.is_empty() {
            return Ok(search.turns);
        }
        let (begun, begins) = search.count(&mut counted);
        search.turns.releases = Releases::new(counted);
        let begins = search.enter(&begun, Numbers::new(begins))?;
        search.overlaps(&begins);
        Ok(search.turns)
    }
}

impl<'a> Search<'a> {
    /// The acquires and releases of a thread that are no waiting, with their numbers among all events.
    fn of_thread(&self, thread: u32) -> impl Iterator<Item = (u32, SyncEvent)> + use<'a> {
        let mut walk = self.data.thread_events(thread);
        let (mut event, polls) = (self.data.event_index(thread, 0), self.polls);
        std::iter::from_fn(move || {
            loop {
                let item = walk.item()?;
                event += 1;
                if let Some(s) = item.sync().filter(|_| !polls.events.contains(&(event - 1))) {
                    return Some((event - 1, s));
                }
            }
        })
    }

    /// How many events a thread has.
    fn events_of(&self, thread: u32) -> usize {
        let next = if thread + 1 < self.data.threads() {
            self.data.event_index(thread + 1, 0) as usize
        } else {
            self.data.events().len()
        };
        next - self.data.event_index(thread, 0) as usize
    }

    /// Acquires and releases of objects taken in turns, with the object and, where one ends a turn, where that began.
    fn turns_of(&self, thread: u32) -> impl Iterator<Item = (u32, SyncEvent, Shared, Began)> {
        let mut open: Of<Began> = Of::new(self.turns.families.len(), self.events_of(thread));
        self.of_thread(thread).filter_map(move |(event, s)| {
            let shared = self.turns.objects.get(s.object)?;
            let ends = s.releases && !s.acquires;
            let began = if ends { open.at(shared.family).take() } else { None };
            if s.acquires {
                *open.at(shared.family) = Some((event, s.seq));
            }
            Some((event, s, shared, began))
        })
    }

    /// Makes the families with at least two regular threads, and room for lists of their releases.
    fn families(&mut self) -> Counted {
        let objects = self.data.events().objects();
        let mut regular: BTreeMap<(u32, u64), Vec<u32>> = BTreeMap::new();
        for thread in 0..self.data.threads() {
            let mut of_object: Of<(u32, u32)> = Of::new(objects.len(), self.events_of(thread));
            for (_, s) in self.of_thread(thread) {
                let count = of_object.at(s.object);
                *count = (count.0 + u32::from(s.acquires), count.1 + u32::from(s.releases));
            }
            let mut counts: HashMap<(u32, u64), (u32, u32)> = HashMap::new();
            for (object, (acquires, releases)) in of_object.into_each() {
                let (space, address, epoch) = objects[object as usize];
                // Generations of barriers, and memory that the allocator hands on, are different things each time.
                if epoch < EPOCHS_OF_LOCKS && acquires + releases > 0 {
                    let count = counts.entry((space, address)).or_default();
                    *count = (count.0 + acquires, count.1 + releases);
                }
            }
            for (key, _) in counts.into_iter().filter(|(_, c)| c.0.min(c.1) >= REGULAR) {
                regular.entry(key).or_default().push(thread);
            }
        }
        let mut counted = Counted::new(0);
        let mut objects = Objects::none(objects.len());
        for ((space, address), threads) in regular.into_iter().filter(|(_, threads)| threads.len() > 1) {
            let family = self.turns.families.len() as u32;
            for id in (0..EPOCHS_OF_LOCKS).filter_map(|epoch| self.data.events().object((space, address, epoch))) {
                let list = counted.add_list();
                for _ in &threads {
                    counted.add_list();
                }
                objects.insert(id, Shared { family, list });
            }
            self.turns.families.push(Family::new(address, threads));
        }
        if !self.turns.families.is_empty() {
            self.turns.objects = objects;
        }
        counted
    }

    /// Counts releases and marks the events that begin turns. By family and regular thread, how often it acquires; and room
    /// for the numbers of what begins turns.
    fn count(&mut self, counted: &mut Counted) -> (Vec<Vec<u32>>, Room) {
        let families = &self.turns.families;
        let mut acquires: Vec<Vec<u32>> = families.iter().map(|f| vec![0; f.regular.len()]).collect();
        let mut begins = Room::new(families.len());
        let mut opens = vec![0u64; self.data.events().len().div_ceil(64)];
        for thread in 0..self.data.threads() {
            for (_, s, shared, began) in self.turns_of(thread) {
                let f = &self.turns.families[shared.family as usize];
                if s.releases {
                    counted.count(shared.list_of(f, thread), s.seq);
                }
                if let Some((event, seq)) = began {
                    opens[event as usize / 64] |= 1 << (event % 64);
                    begins.count(shared.family, seq);
                }
                if let (true, Ok(slot)) = (s.acquires, f.regular.binary_search(&thread)) {
                    acquires[shared.family as usize][slot] += 1;
                }
            }
        }
        self.turns.opens = opens;
        (acquires, begins)
    }

    /// Enters releases, and what begins turns; and finds threads that do the same, given how often each acquires.
    fn enter(&mut self, acquires: &[Vec<u32>], mut begins: Numbers) -> Result<Numbers, TraceError> {
        let mut code = Code::new(self.data);
        let mut releases = std::mem::take(&mut self.turns.releases);
        let mut sites: Vec<Vec<Tally>> =
            self.turns.families.iter().map(|f| vec![Tally::default(); f.regular.len()]).collect();
        let mut objects_of = vec![0u32; self.turns.families.len()];
        self.turns.objects.all().for_each(|s| objects_of[s.family as usize] += 1);
        let mut turn_of: HashMap<u32, Vec<u32>> = HashMap::new();
        for thread in 0..self.data.threads() {
            // By family: turns so far, acquires so far and how many of them are looked at.
            let mut so_far: Of<(u32, u32, u32)> = Of::new(self.turns.families.len(), self.events_of(thread));
            let mut looked_at: Vec<(u64, u32, u32)> = Vec::new();
            for (_, s, shared, began) in self.turns_of(thread) {
                let f = &self.turns.families[shared.family as usize];
                let (turn, acquired, looked) = so_far.at(shared.family);
                let (list, slot) = (shared.list_of(f, thread), f.regular.binary_search(&thread));
                if s.releases {
                    *turn += 1;
                    releases.enter(list, s.seq);
                    if objects_of[shared.family as usize] > 1 && slot.is_ok() {
                        turn_of.entry(list).or_default().push(*turn);
                    }
                }
                if let Some((_, seq)) = began {
                    begins.insert(shared.family, seq);
                }
                if let (true, Ok(slot)) = (s.acquires, slot) {
                    let all = u64::from(acquires[shared.family as usize][slot]);
                    let of = all.min(LOOKED_AT);
                    if u64::from(*acquired) == u64::from(*looked) * all / of {
                        *looked += 1;
                        looked_at.push((s.at, shared.family, slot as u32));
                    }
                    *acquired += 1;
                }
            }
            for (at, family, slot) in looked_at {
                let site = code.site(thread, self.turns.families[family as usize].address, at)?;
                sites[family as usize][slot as usize].add(site);
            }
        }
        releases.sort();
        for (f, sites) in self.turns.families.iter_mut().zip(&sites) {
            f.kinds = kinds(sites);
        }
        (self.turns.releases, self.turns.turns) = (releases, turn_of);
        Ok(begins)
    }

    /// Turns of a family exclude each other if none begins while another one lasts.
    fn overlaps(&mut self, begins: &Numbers) {
        let mut exclusive = vec![true; self.turns.families.len()];
        for thread in 0..self.data.threads() {
            for (_, s, shared, began) in self.turns_of(thread) {
                let exclusive = &mut exclusive[shared.family as usize];
                if let Some((_, from)) = began.filter(|_| *exclusive) {
                    *exclusive = !begins.any_between(shared.family, from, s.seq);
                }
            }
        }
        for (f, exclusive) in self.turns.families.iter_mut().zip(exclusive) {
            f.exclusive = exclusive;
        }
    }
}

/// Of each regular thread of a family the first one that does the same.
fn kinds(sites: &[Tally]) -> Vec<u32> {
    let mut first: Vec<usize> = Vec::new();
    let mut kind = |n: usize| {
        let like = first.iter().copied().find(|other| alike(&sites[n], &sites[*other]));
        if like.is_none() {
            first.push(n);
        }
        like.unwrap_or(n) as u32
    };
    (0..sites.len()).map(&mut kind).collect()
}
