//! Finds what is taken in turns: who takes it regularly, which events begin turns, and whether turns exclude each other.
//!
//! There may be tens of millions of events, so they are walked a few times, thread by thread, and none is kept.
use super::peers::{Code, LOOKED_AT, Tallies};
use super::releases::{Counted, Releases};
use super::turns::{Family, Objects, Shared, Turns};
use crate::TraceError;
use crate::dataset::DatasetReader;
use crate::packed::SyncEvent;
use crate::waits::Polls;
use hashbrown::{HashMap, HashSet};
use homenode_base::numbers::{Numbers, Room};
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

/// How often a thread acquires an object or family, how often it releases it, and how often it does that alone.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    acquires: u32,
    releases: u32,
    ends: u32,
}

/// Who takes what is at one address.
#[derive(Debug, Default)]
struct Takers {
    /// Threads that do so regularly, ascending.
    regular: Vec<u32>,
    ends: bool,
}

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
            if !shared.ends {
                return Some((event, s, shared, None));
            }
            let ends = s.releases && !s.acquires;
            let began = if ends { open.at(shared.family).take() } else { None };
            if s.acquires {
                *open.at(shared.family) = Some((event, s.seq));
            }
            Some((event, s, shared, began))
        })
    }

    /// By team, a thread's place in it.
    fn slots_of(&self, thread: u32) -> Vec<Option<u32>> {
        self.turns.teams.iter().map(|team| team.binary_search(&thread).ok().map(|slot| slot as u32)).collect()
    }

    /// Makes the families with at least two regular threads, and room for lists of their releases.
    fn families(&mut self) -> Counted {
        let mut counted = Counted::new(0);
        let mut objects = Objects::none(self.data.events().objects().len());
        let (mut teams, mut first) = (HashMap::<Vec<u32>, u32>::new(), 0);
        for ((space, address), takers) in self.takers().into_iter().filter(|(_, t)| t.regular.len() > 1) {
            let Takers { regular, ends } = takers;
            let (family, size) = (self.turns.families.len() as u32, regular.len() as u32);
            let team = *teams.entry(regular).or_insert_with_key(|regular| {
                self.turns.teams.push(regular.clone());
                self.turns.teams.len() as u32 - 1
            });
            for id in (0..EPOCHS_OF_LOCKS).filter_map(|epoch| self.data.events().object((space, address, epoch))) {
                let list = counted.add_list();
                for _ in 0..size {
                    counted.add_list();
                }
                objects.insert(id, Shared { family, list, team, ends });
            }
            self.turns.families.push(Family::new(address, team, first));
            first += size;
        }
        self.turns.so_far = vec![0; first as usize];
        if !self.turns.families.is_empty() {
            self.turns.objects = objects;
        }
        counted
    }

    /// By address space and address, who takes what is there.
    fn takers(&self) -> BTreeMap<(u32, u64), Takers> {
        let objects = self.data.events().objects();
        let mut takers: BTreeMap<(u32, u64), Takers> = BTreeMap::new();
        let mut ended: HashSet<(u32, u64)> = HashSet::new();
        for thread in 0..self.data.threads() {
            let mut of_object: Of<Counts> = Of::new(objects.len(), self.events_of(thread));
            for (_, s) in self.of_thread(thread) {
                let count = of_object.at(s.object);
                count.acquires += u32::from(s.acquires);
                count.releases += u32::from(s.releases);
                count.ends += u32::from(s.releases && !s.acquires);
            }
            let mut counts: HashMap<(u32, u64), Counts> = HashMap::new();
            for (object, of) in of_object.into_each() {
                let (space, address, epoch) = objects[object as usize];
                // Generations of barriers, and memory that the allocator hands on, are different things each time.
                if epoch < EPOCHS_OF_LOCKS && of.acquires + of.releases > 0 {
                    let count = counts.entry((space, address)).or_default();
                    count.acquires += of.acquires;
                    count.releases += of.releases;
                    count.ends += of.ends;
                }
            }
            for (key, count) in counts {
                if count.ends > 0 {
                    ended.insert(key);
                }
                if count.acquires.min(count.releases) >= REGULAR {
                    takers.entry(key).or_default().regular.push(thread);
                }
            }
        }
        takers.iter_mut().for_each(|(key, t)| t.ends = ended.contains(key));
        takers
    }

    /// Counts releases and marks the events that begin turns. By family and thread of its team, how often it acquires; and room
    /// for the numbers of what begins turns.
    fn count(&mut self, counted: &mut Counted) -> (Vec<u32>, Room) {
        let mut acquires: Vec<u32> = vec![0; self.turns.so_far.len()];
        let mut begins = Room::new(self.turns.families.len());
        let mut opens = vec![0u64; self.data.events().len().div_ceil(64)];
        for thread in 0..self.data.threads() {
            let slots = self.slots_of(thread);
            for (_, s, shared, began) in self.turns_of(thread) {
                let slot = slots[shared.team as usize];
                if s.releases {
                    counted.count(self.list(shared, slot), s.seq);
                }
                if let Some((event, seq)) = began {
                    opens[event as usize / 64] |= 1 << (event % 64);
                    begins.count(shared.family, seq);
                }
                if let (true, Some(slot)) = (s.acquires, slot) {
                    acquires[(self.turns.families[shared.family as usize].first + slot) as usize] += 1;
                }
            }
        }
        self.turns.opens = opens;
        (acquires, begins)
    }

    /// The list of the releases by a thread with this place in the object's team.
    fn list(&self, shared: Shared, slot: Option<u32>) -> u32 {
        shared.list + slot.unwrap_or_else(|| self.turns.teams[shared.team as usize].len() as u32)
    }

    /// Enters releases, and what begins turns; and finds threads that do the same, given how often each acquires.
    fn enter(&mut self, acquires: &[u32], mut begins: Numbers) -> Result<Numbers, TraceError> {
        let mut code = Code::new(self.data);
        let mut releases = std::mem::take(&mut self.turns.releases);
        let mut tallies = Tallies::new(acquires.len());
        // Whether a family has two objects.
        let mut met = vec![false; self.turns.families.len()];
        let mut two = met.clone();
        for s in self.turns.objects.all() {
            two[s.family as usize] = std::mem::replace(&mut met[s.family as usize], true);
        }
        let mut turn_of: HashMap<u32, Vec<u32>> = HashMap::new();
        for thread in 0..self.data.threads() {
            let slots = self.slots_of(thread);
            // By family: turns so far, acquires so far and how many of them are looked at.
            let mut so_far: Of<(u32, u32, u32)> = Of::new(self.turns.families.len(), self.events_of(thread));
            for (_, s, shared, began) in self.turns_of(thread) {
                let slot = slots[shared.team as usize];
                if s.releases {
                    let list = self.list(shared, slot);
                    releases.enter(list, s.seq);
                    if two[shared.family as usize] && slot.is_some() {
                        let turn = &mut so_far.at(shared.family).0;
                        *turn += 1;
                        turn_of.entry(list).or_default().push(*turn);
                    }
                }
                if let Some((_, seq)) = began {
                    begins.insert(shared.family, seq);
                }
                if let (true, Some(slot)) = (s.acquires, slot) {
                    let family = &self.turns.families[shared.family as usize];
                    let tally = family.first + slot;
                    let all = acquires[tally as usize];
                    if looked_at(all, || so_far.at(shared.family)) {
                        tallies.add(tally, code.site(thread, family.address, s.at)?);
                    }
                }
            }
        }
        releases.sort();
        self.turns.kinds = self
            .turns
            .families
            .iter()
            .flat_map(|f| kinds(&tallies, f.first, &self.turns.teams[f.team as usize]))
            .collect();
        (self.turns.releases, self.turns.turns) = (releases, turn_of);
        Ok(begins)
    }

    /// Turns of a family exclude each other if none begins while another one lasts.
    fn overlaps(&mut self, begins: &Numbers) {
        let mut exclusive = vec![true; self.turns.families.len()];
        let ends = self.turns.objects.all().any(|s| s.ends);
        for thread in (0..self.data.threads()).filter(|_| ends) {
            for (_, s, shared, began) in self.turns_of(thread) {
                let Some((_, from)) = began else { continue };
                let exclusive = &mut exclusive[shared.family as usize];
                *exclusive = *exclusive && !begins.any_between(shared.family, from, s.seq);
            }
        }
        for (f, exclusive) in self.turns.families.iter_mut().zip(exclusive) {
            f.exclusive = exclusive;
        }
    }
}

/// Whether a thread's next acquire of a family, of so many, is one of those that are looked at.
fn looked_at<'a>(all: u32, so_far: impl FnOnce() -> &'a mut (u32, u32, u32)) -> bool {
    if all <= LOOKED_AT {
        return true;
    }
    let (_, acquired, looked) = so_far();
    let is = u64::from(*acquired) == u64::from(*looked) * u64::from(all) / u64::from(LOOKED_AT);
    *looked += u32::from(is);
    *acquired += 1;
    is
}

/// Of each thread of a family's team the first one that does the same.
fn kinds(tallies: &Tallies, family: u32, team: &[u32]) -> Vec<u32> {
    let mut first: Vec<u32> = Vec::new();
    let mut kind = |n: u32| {
        let like = first.iter().copied().find(|other| tallies.alike(family + n, family + *other));
        if like.is_none() {
            first.push(n);
        }
        like.unwrap_or(n)
    };
    (0..team.len() as u32).map(&mut kind).collect()
}
