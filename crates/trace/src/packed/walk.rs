//! Walks over packed events.
use super::code::{Place, SyncEvent, number};
use super::{BLOCK, Events, ObjectKey, Own};
use crate::event::{Event, EventKind};
use std::borrow::Cow;

impl SyncEvent {
    fn unpack(&self, thread: u32, objects: &[ObjectKey]) -> Event {
        let (_, object, epoch) = objects[self.object as usize];
        let (seq, sync) = (self.seq, self.sync);
        let kind = match (self.acquires, self.releases) {
            (true, true) => EventKind::AcqRel { object, epoch, seq, sync },
            (true, false) => EventKind::Acquire { object, epoch, seq, sync },
            _ => EventKind::Release { object, epoch, seq, sync },
        };
        Event { thread, at: self.at, stamp: self.stamp, kind }
    }
}

/// An event as it is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Item<'a> {
    Sync(SyncEvent),
    Other(&'a Event),
}

impl<'a> Item<'a> {
    /// References of the thread before it, and its stamp.
    pub(crate) fn at_and_stamp(&self) -> (u64, u64) {
        match self {
            Item::Sync(s) => (s.at, s.stamp),
            Item::Other(e) => (e.at, e.stamp),
        }
    }
    /// What is neither.
    pub(crate) fn other(&self) -> Option<&'a Event> {
        match self {
            Item::Sync(_) => None,
            Item::Other(e) => Some(e),
        }
    }
    /// The acquire or release.
    pub(crate) fn sync(&self) -> Option<SyncEvent> {
        match self {
            Item::Sync(s) => Some(*s),
            Item::Other(_) => None,
        }
    }
}

/// The events of one thread, in its order.
#[derive(Clone, Debug)]
pub struct ThreadEvents<'a> {
    own: &'a Own,
    objects: &'a [ObjectKey],
    /// As in [`Objects`](super::Objects).
    same: &'a [u32],
    thread: u32,
    /// Events that are gone.
    done: u32,
    others: usize,
    bytes: &'a [u8],
    place: Place,
}

impl<'a> ThreadEvents<'a> {
    pub(super) fn new(events: &'a Events, thread: u32, from: u32) -> ThreadEvents<'a> {
        let own = &events.threads[thread as usize];
        let bytes = &own.bytes[..];
        let place = Place::default();
        let (objects, same) = (events.objects(), &events.objects.same[..]);
        let mut walk = ThreadEvents { own, objects, same, thread, done: 0, others: 0, bytes, place };
        walk.seek(from);
        walk
    }

    fn seek(&mut self, n: u32) {
        let n = n.min(self.own.len);
        if let Some(block) = self.own.blocks.get((n / BLOCK) as usize) {
            self.done = n - n % BLOCK;
            self.others = block.others as usize;
            self.bytes = &self.own.bytes[block.byte as usize..];
            self.place = Place::default();
        }
        while self.done < n && self.kept().is_some() {}
    }

    /// How many events are gone.
    pub(crate) fn done(&self) -> u32 {
        self.done
    }

    /// The next event, its object by the number under which it is known.
    #[inline]
    pub(crate) fn item(&mut self) -> Option<Item<'a>> {
        let item = self.kept()?;
        match item {
            Item::Sync(s) if !self.same.is_empty() => {
                Some(Item::Sync(SyncEvent { object: self.same[s.object as usize], ..s }))
            }
            item => Some(item),
        }
    }

    /// The next event as it is kept.
    #[inline]
    fn kept(&mut self) -> Option<Item<'a>> {
        if self.done == self.own.len {
            return None;
        }
        if self.done.is_multiple_of(BLOCK) {
            self.place = Place::default();
        }
        self.done += 1;
        Some(match self.place.take(&mut self.bytes) {
            Some(sync) => Item::Sync(sync),
            None => {
                self.others += 1;
                Item::Other(&self.own.others[self.others - 1])
            }
        })
    }

    fn unpack(&self, item: Item<'a>) -> Cow<'a, Event> {
        match item {
            Item::Sync(s) => Cow::Owned(s.unpack(self.thread, self.objects)),
            Item::Other(e) => Cow::Borrowed(e),
        }
    }
}

impl<'a> Iterator for ThreadEvents<'a> {
    type Item = Cow<'a, Event>;
    #[inline]
    fn next(&mut self) -> Option<Cow<'a, Event>> {
        let item = self.kept()?;
        Some(self.unpack(item))
    }
    fn nth(&mut self, n: usize) -> Option<Cow<'a, Event>> {
        self.seek(u32::try_from(n).unwrap_or(u32::MAX).saturating_add(self.done));
        self.next()
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.own.len - self.done) as usize;
        (left, Some(left))
    }
}

impl ExactSizeIterator for ThreadEvents<'_> {}

/// The events of all threads, as they were given.
#[derive(Clone, Debug)]
pub struct FileEvents<'a> {
    threads: Vec<ThreadEvents<'a>>,
    runs: &'a [u8],
    /// The present thread, and how many events of it follow.
    run: (u32, u32),
    left: usize,
}

impl<'a> FileEvents<'a> {
    pub(super) fn new(events: &'a Events) -> FileEvents<'a> {
        let threads = (0..events.threads.len() as u32).map(|t| events.of_thread(t)).collect();
        FileEvents { threads, runs: &events.runs, run: (0, 0), left: events.len() }
    }

    #[inline]
    fn thread(&mut self) -> Option<&mut ThreadEvents<'a>> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        if self.run.1 == 0 {
            self.run = (number(&mut self.runs) as u32, number(&mut self.runs) as u32);
        }
        self.run.1 -= 1;
        self.threads.get_mut(self.run.0 as usize)
    }

    /// The next event as it is kept, with its thread and its place among the events of all threads, one thread after the
    /// other.
    #[inline]
    pub(crate) fn item(&mut self) -> Option<(u32, u32, Item<'a>)> {
        let walk = self.thread()?;
        let index = walk.own.first + walk.done;
        let item = walk.item()?;
        Some((walk.thread, index, item))
    }
}

impl<'a> Iterator for FileEvents<'a> {
    type Item = Cow<'a, Event>;
    #[inline]
    fn next(&mut self) -> Option<Cow<'a, Event>> {
        self.thread()?.next()
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for FileEvents<'_> {}
