//! The events of a dataset in memory, in a few bytes each.
//!
//! Programs that synchronise make tens of millions of events, nearly all of them acquires and releases. Those are kept as
//! differences to the thread's one before, byte by byte ([`code`]); what else happens is rare and kept as it is. Each thread has its
//! own bytes, so that its events are walked without the others'; how the threads alternate in the file is kept beside them.
//! Differences begin anew every [`BLOCK`] events, which is where a walk can begin.
mod code;
mod walk;

pub(crate) use code::SyncEvent;
pub(crate) use walk::Item;
pub use walk::{FileEvents, ThreadEvents};

use crate::bytes::put_varint;
use crate::event::{Event, EventKind, SyncKind};
use code::Place;
use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use homenode_base::spaces::Shared;
use std::borrow::Cow;
use std::hash::BuildHasher;

/// Events between two places where a walk can begin.
const BLOCK: u32 = 64;

/// A synchronisation object: address space, address or handle, epoch.
pub(crate) type ObjectKey = (u32, u64, u64);

/// Events of many threads, in the order in which they were given, which keeps that of each thread.
#[derive(Clone, Default)]
pub struct Events {
    threads: Vec<Own>,
    /// LEB128: thread and number of events, as they follow each other.
    runs: Vec<u8>,
    /// The run that is not in `runs` yet.
    run: (u32, u32),
    len: u32,
    objects: Objects,
    /// Of each event that is no acquire or release, as they were given: its position among all, and its thread.
    others_at: Vec<(u32, u32)>,
}

/// Events of one thread.
#[derive(Clone, Debug, Default)]
struct Own {
    /// Events of all threads before this one.
    first: u32,
    len: u32,
    /// What [`code`] makes of acquires and releases, and marks for the others.
    bytes: Vec<u8>,
    blocks: Vec<Block>,
    others: Vec<Event>,
    place: Place,
    /// Position of the last event.
    at: u64,
}

/// Where a block begins.
#[derive(Clone, Copy, Debug)]
struct Block {
    byte: u64,
    /// Other events before it.
    others: u32,
}

/// Numbers the synchronisation objects in order of appearance.
#[derive(Clone, Default)]
struct Objects {
    keys: Vec<ObjectKey>,
    /// The number under which each is known, if some objects are the same memory; else empty.
    same: Vec<u32>,
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Objects {
    fn number(&mut self, key: ObjectKey) -> u32 {
        let Objects { keys, numbers, hasher, .. } = self;
        let hash = hasher.hash_one(key);
        let same = |n: &u32| keys[*n as usize] == key;
        if let Some(n) = numbers.find(hash, same) {
            return *n;
        }
        let n = keys.len() as u32;
        keys.push(key);
        numbers.insert_unique(hash, n, |n| hasher.hash_one(keys[*n as usize]));
        n
    }
    fn find(&self, key: ObjectKey) -> Option<u32> {
        let hash = self.hasher.hash_one(key);
        let found = self.numbers.find(hash, |n| self.keys[*n as usize] == key)?;
        Some(self.same.get(*found as usize).copied().unwrap_or(*found))
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl PartialEq for Events {
    fn eq(&self, other: &Events) -> bool {
        self.len == other.len && self.iter().eq(other)
    }
}

impl Events {
    /// Appends an event of a thread in this address space. At most `u32::MAX` events; whoever gives more is told by false.
    pub(crate) fn push(&mut self, space: u32, event: Event) -> bool {
        let Some(len) = self.len.checked_add(1) else { return false };
        let thread = event.thread;
        if self.threads.len() <= thread as usize {
            self.threads.resize_with(thread as usize + 1, Own::default);
        }
        let own = &mut self.threads[thread as usize];
        if own.len.is_multiple_of(BLOCK) {
            own.blocks.push(Block { byte: own.bytes.len() as u64, others: own.others.len() as u32 });
            own.place = Place::default();
        }
        own.len += 1;
        own.at = event.at;
        let Event { at, stamp, .. } = event;
        match halves(&event.kind) {
            Some(Halves { object: (object, epoch), seq, acquires, releases, sync }) => {
                let key = (space, object, epoch);
                let before = self.objects.keys.get(own.place.object as usize);
                let object = if before == Some(&key) { own.place.object } else { self.objects.number(key) };
                own.place.put(&mut own.bytes, SyncEvent { at, stamp, object, seq, acquires, releases, sync });
            }
            None => {
                own.bytes.push(code::OTHER);
                own.others.push(event);
                self.others_at.push((self.len, thread));
            }
        }
        if self.run.0 != thread {
            self.end_run();
        }
        self.run = (thread, self.run.1 + 1);
        self.len = len;
        true
    }

    fn end_run(&mut self) {
        let (thread, events) = std::mem::take(&mut self.run);
        if events > 0 {
            put_varint(&mut self.runs, thread.into());
            put_varint(&mut self.runs, events.into());
        }
    }

    /// There are so many threads, and no more events.
    pub(crate) fn finish(&mut self, threads: usize) {
        self.end_run();
        self.runs.shrink_to_fit();
        self.others_at.shrink_to_fit();
        self.threads.resize_with(threads.max(self.threads.len()), Own::default);
        let mut first = 0;
        for own in &mut self.threads {
            own.first = first;
            first += own.len;
            own.bytes.shrink_to_fit();
            own.blocks.shrink_to_fit();
            own.others.shrink_to_fit();
        }
    }

    /// Objects in memory that lies in the same place become one.
    pub(crate) fn unite(&mut self, shared: &Shared) {
        let Objects { keys, same, .. } = &mut self.objects;
        let mut first: HashMap<ObjectKey, u32> = HashMap::new();
        let lies = |&(space, object, epoch): &ObjectKey| {
            let (space, object) = shared.view(space).locate(object);
            (space, object, epoch)
        };
        *same = (0..).zip(keys.iter()).map(|(n, key)| *first.entry(lies(key)).or_insert(n)).collect();
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.len as usize
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// All events, as they were given. Those that are kept packed are unpacked, the others borrowed.
    pub fn iter(&self) -> FileEvents<'_> {
        FileEvents::new(self)
    }
    /// Events that are no acquires or releases, as they were given, with their positions among all.
    pub fn others(&self) -> impl Iterator<Item = (usize, &Event)> {
        let mut next = vec![0usize; self.threads.len()];
        self.others_at.iter().map(move |&(position, thread)| {
            let next = &mut next[thread as usize];
            *next += 1;
            (position as usize, &self.threads[thread as usize].others[*next - 1])
        })
    }
    /// All events as a list.
    pub fn to_vec(&self) -> Vec<Event> {
        self.iter().map(Cow::into_owned).collect()
    }
    /// Events of one thread, in its order.
    pub fn of_thread(&self, thread: u32) -> ThreadEvents<'_> {
        ThreadEvents::new(self, thread, 0)
    }
    /// Events of one thread from the `n`-th on.
    pub fn of_thread_from(&self, thread: u32, n: u32) -> ThreadEvents<'_> {
        ThreadEvents::new(self, thread, n)
    }
    /// The thread's last position; `None` if it has no events.
    pub(crate) fn last_at(&self, thread: u32) -> Option<u64> {
        self.threads.get(thread as usize).filter(|own| own.len > 0).map(|own| own.at)
    }
    /// Events of all threads before this one.
    pub(crate) fn first_of(&self, thread: u32) -> u32 {
        self.threads[thread as usize].first
    }
    /// Synchronisation objects by number.
    pub(crate) fn objects(&self) -> &[ObjectKey] {
        &self.objects.keys
    }
    /// The key (address space, address, epoch) under which a synchronisation object is known, whichever of its addresses is
    /// used; the same key if no event is of it.
    pub fn known(&self, key: (u32, u64, u64)) -> (u32, u64, u64) {
        if self.objects.same.is_empty() {
            return key;
        }
        self.object(key).map_or(key, |n| self.objects.keys[n as usize])
    }
    /// Number of an object.
    pub(crate) fn object(&self, key: ObjectKey) -> Option<u32> {
        self.objects.find(key)
    }
    /// Bytes of heap, about.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        let own = |o: &Own| {
            o.bytes.len() + o.blocks.len() * size_of::<Block>() + o.others.len() * size_of::<Event>() + size_of::<Own>()
        };
        self.threads.iter().map(own).sum::<usize>()
            + self.runs.len()
            + self.objects.keys.len() * (size_of::<ObjectKey>() + 8)
    }
}

impl From<&[Event]> for Events {
    /// Address spaces are of no concern: all threads are in the first one.
    fn from(list: &[Event]) -> Events {
        let mut events = Events::default();
        list.iter().for_each(|e| assert!(events.push(0, e.clone()), "no list is that long"));
        events.finish(0);
        events
    }
}

impl<'a> IntoIterator for &'a Events {
    type Item = Cow<'a, Event>;
    type IntoIter = FileEvents<'a>;
    fn into_iter(self) -> FileEvents<'a> {
        self.iter()
    }
}

/// What an acquire, a release or both says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Halves {
    /// Address and epoch.
    pub(crate) object: (u64, u64),
    pub(crate) seq: u64,
    pub(crate) acquires: bool,
    pub(crate) releases: bool,
    pub(crate) sync: SyncKind,
}

/// Acquire and release halves of an event.
pub(crate) fn halves(kind: &EventKind) -> Option<Halves> {
    let (object, epoch, seq, sync, acquires, releases) = match *kind {
        EventKind::Release { object, epoch, seq, sync } => (object, epoch, seq, sync, false, true),
        EventKind::Acquire { object, epoch, seq, sync } => (object, epoch, seq, sync, true, false),
        EventKind::AcqRel { object, epoch, seq, sync } => (object, epoch, seq, sync, true, true),
        _ => return None,
    };
    Some(Halves { object: (object, epoch), seq, acquires, releases, sync })
}

#[cfg(test)]
mod tests;
