//! Acquires and releases of all threads in one order that can have happened: that of the stamps, but for what locks, barriers and
//! semaphores forbid.
//!
//! A stamp stands before many calls, so it says of a call only from when on it can have been. The thread whose next call has the oldest
//! stamp goes on, unless it would take a lock that another one holds, leave a barrier that not all have reached, or take from a
//! semaphore that is 0: then it waits until that has changed. Calls of one thread stay in its order, so no circle can come of it.
use super::super::ReadError;
use homenode_trace::event::SyncKind;
use homenode_trace::{Event, EventKind};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};

/// What a thread did to a word, or to what begins there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Did {
    /// Woke who waited in the kernel.
    Wake,
    WasWoken,
    /// Woken by the end of a thread, of this number on the recorded machine.
    Joined(u32),
    /// Has taken a lock.
    Lock(SyncKind),
    Unlock,
    /// Made a barrier for so many threads.
    MakeBarrier(u32),
    Arrive,
    /// Has left a barrier, as the one of its round that is told so, or as another one.
    Leave(bool),
    /// Signalled, to one or to all.
    Signal(SyncKind),
    /// Has waited for a signal.
    Waited,
    /// Made a semaphore with this value.
    MakeSemaphore(u32),
    Post,
    /// Has taken from a semaphore.
    Take,
}

impl Did {
    /// Whether it waits for something of another thread; what others may wait for goes first at the same time.
    fn acquires(self) -> bool {
        matches!(self, Did::WasWoken | Did::Joined(_) | Did::Lock(_) | Did::Leave(_) | Did::Waited | Did::Take)
    }
}

/// Something that a thread did.
#[derive(Clone, Copy, Debug)]
pub(super) struct Note {
    /// Time before which it was not, never before that of the note before it in the thread.
    pub(super) ns: u64,
    /// References of the thread before it.
    pub(super) at: u64,
    pub(super) word: u64,
    pub(super) thread: u32,
    pub(super) pid: u32,
    pub(super) did: Did,
}

/// A word of a process.
type Word = (u32, u64);

/// What stands at a word.
#[derive(Debug, Default)]
struct Object {
    /// Who holds it alone, how often he took it, and as what.
    holder: Option<(usize, u32, SyncKind)>,
    /// Readers that hold it, and how often.
    readers: BTreeMap<usize, u32>,
    /// Threads that a barrier takes; 0 if not known.
    parties: u32,
    arrived: u32,
    generation: u64,
    /// Generation in which each thread arrived last.
    arrivals: BTreeMap<usize, u64>,
    /// Value of a semaphore, if it is known.
    value: Option<u64>,
}

impl Object {
    /// Whether a thread must wait before it can do this.
    fn forbids(&self, thread: usize, did: Did) -> bool {
        let held = self.holder.is_some_and(|(holder, ..)| holder != thread);
        match did {
            Did::Lock(SyncKind::RwWrite) => held || self.readers.keys().any(|&reader| reader != thread),
            Did::Lock(_) => held,
            Did::Leave(_) => self.arrivals.get(&thread).is_some_and(|&in_| in_ >= self.generation),
            Did::Take => self.value == Some(0),
            _ => false,
        }
    }
}

/// What became of all notes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ordered {
    /// Acquires that went on though they should have waited: nobody was left who could have let them.
    pub(super) forced: u64,
    /// Arrivals at barriers that nothing says the number of threads of.
    pub(super) unknown: u64,
}

/// Puts notes in order.
pub(super) struct Ordering<'n> {
    /// Notes of all threads; those of one stand one after the other.
    notes: &'n [Note],
    /// Where the next note of each thread stands, and where its notes end.
    threads: Vec<(usize, usize)>,
    /// Threads that can go on: time, whether they acquire, place.
    ready: BinaryHeap<Reverse<(u64, bool, usize)>>,
    objects: HashMap<Word, Object>,
    waiting: HashMap<Word, BTreeSet<(u64, usize)>>,
    /// All that wait.
    all_waiting: BTreeSet<(u64, usize)>,
    seq: u64,
    done: Ordered,
}

impl<'n> Ordering<'n> {
    /// Of notes in which those of each thread stand one after the other, in its order.
    pub(super) fn new(notes: &'n [Note]) -> Ordering<'n> {
        let mut threads: Vec<(usize, usize)> = Vec::new();
        for (i, note) in notes.iter().enumerate() {
            match threads.last_mut() {
                Some((first, end)) if notes[*first].thread == note.thread => *end = i + 1,
                _ => threads.push((i, i + 1)),
            }
        }
        let (ready, waiting, all_waiting, seq, done) = Default::default();
        let mut ordering = Ordering { notes, threads, ready, objects: parties(notes), waiting, all_waiting, seq, done };
        (0..ordering.threads.len()).for_each(|thread| ordering.queue(thread));
        ordering
    }

    /// Hands on the events of all threads; those of each in its order.
    pub(super) fn run(mut self, give: &mut dyn FnMut(Event) -> Result<(), ReadError>) -> Result<Ordered, ReadError> {
        loop {
            let (thread, forced) = match self.ready.pop() {
                Some(Reverse((.., thread))) => (thread, false),
                None => match self.all_waiting.pop_first() {
                    Some((_, thread)) => (thread, true),
                    None => return Ok(self.done),
                },
            };
            let place = self.threads[thread].0;
            let note = self.notes[place];
            let word = (note.pid, note.word);
            if forced {
                self.done.forced += 1;
                self.no_longer(word, (note.ns, thread));
            } else if self.objects.get(&word).is_some_and(|object| object.forbids(thread, note.did)) {
                self.waiting.entry(word).or_default().insert((note.ns, thread));
                self.all_waiting.insert((note.ns, thread));
                continue;
            }
            self.happen(thread, note, give)?;
            self.threads[thread].0 += 1;
            self.queue(thread);
        }
    }

    fn queue(&mut self, thread: usize) {
        let (next, end) = self.threads[thread];
        if next < end {
            let note = &self.notes[next];
            self.ready.push(Reverse((note.ns, note.did.acquires(), thread)));
        }
    }

    fn no_longer(&mut self, word: Word, who: (u64, usize)) {
        if let Some(waiting) = self.waiting.get_mut(&word) {
            waiting.remove(&who);
        }
    }
    /// Lets who has waited longest for a word look again, or all.
    fn wake(&mut self, word: Word, all: bool) {
        while let Some(who) = self.waiting.get_mut(&word).and_then(BTreeSet::pop_first) {
            self.all_waiting.remove(&who);
            self.ready.push(Reverse((who.0, true, who.1)));
            if !all {
                return;
            }
        }
    }

    fn happen(
        &mut self,
        thread: usize,
        note: Note,
        give: &mut dyn FnMut(Event) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let object = self.objects.entry((note.pid, note.word)).or_default();
        let mut event = |acquires: bool, epoch: u64, sync: SyncKind| {
            self.seq += 1;
            let (object, seq) = (note.word, self.seq);
            let kind = match acquires {
                true => EventKind::Acquire { object, epoch, seq, sync },
                false => EventKind::Release { object, epoch, seq, sync },
            };
            give(Event { thread: note.thread, at: note.at, stamp: note.ns, kind })
        };
        let wakes = match note.did {
            Did::Wake => event(false, 0, SyncKind::Unknown).map(|()| None),
            Did::WasWoken => event(true, 0, SyncKind::Unknown).map(|()| None),
            Did::Joined(_) => event(true, 0, SyncKind::Join).map(|()| None),
            Did::Signal(sync) => event(false, 0, sync).map(|()| None),
            Did::Waited => event(true, 0, SyncKind::Condition).map(|()| None),
            Did::Lock(sync) => object.lock(thread, sync, &mut event),
            Did::Unlock => object.unlock(thread, &mut event),
            Did::MakeBarrier(parties) => {
                (object.parties, object.arrived) = (parties, 0);
                Ok(None)
            }
            Did::Arrive | Did::Leave(_) if object.parties == 0 => {
                self.done.unknown += u64::from(note.did == Did::Arrive);
                Ok(None)
            }
            Did::Arrive => object.arrive(thread, &mut event),
            Did::Leave(_) => object.leave(thread, &mut event),
            Did::MakeSemaphore(value) => {
                object.value = Some(value.into());
                Ok(None)
            }
            Did::Post => {
                object.value = object.value.map(|n| n.saturating_add(1));
                event(false, 0, SyncKind::Semaphore).map(|()| Some(false))
            }
            Did::Take => {
                object.value = object.value.map(|n| n.saturating_sub(1));
                event(true, 0, SyncKind::Semaphore).map(|()| None)
            }
        }?;
        // Of what nobody holds nothing need be known: most words are locks that were given back.
        let known =
            object.parties > 0 || object.value.is_some() || object.holder.is_some() || !object.readers.is_empty();
        if !known {
            self.objects.remove(&(note.pid, note.word));
        }
        if let Some(all) = wakes {
            self.wake((note.pid, note.word), all);
        }
        Ok(())
    }
}

/// Whether somebody may go on, and whether all who wait may look.
type Wakes = Result<Option<bool>, ReadError>;
/// Hands on an event: whether it acquires, its epoch, of which kind it is.
type Give<'g> = &'g mut dyn FnMut(bool, u64, SyncKind) -> Result<(), ReadError>;

impl Object {
    /// Readers acquire epoch 0 and release epoch 1, writers acquire both and release epoch 0.
    fn lock(&mut self, thread: usize, sync: SyncKind, event: Give<'_>) -> Wakes {
        event(true, 0, sync)?;
        if sync == SyncKind::RwRead {
            *self.readers.entry(thread).or_default() += 1;
            // Further readers may come in as well.
            return Ok(Some(false));
        }
        let times = self.holder.filter(|held| held.0 == thread).map_or(0, |held| held.1);
        self.holder = Some((thread, times + 1, sync));
        if sync == SyncKind::RwWrite {
            event(true, 1, sync)?;
        }
        Ok(None)
    }

    /// What a thread gives back that was not seen to take it was taken before the trace began, and is given back as a mutex.
    fn unlock(&mut self, thread: usize, event: Give<'_>) -> Wakes {
        if let Some(times) = self.readers.get_mut(&thread) {
            *times -= 1;
            if *times == 0 {
                self.readers.remove(&thread);
            }
            event(false, 1, SyncKind::RwRead)?;
            return Ok(Some(false));
        }
        let (times, sync) = match self.holder {
            Some((holder, times, sync)) if holder == thread => (times, sync),
            _ => (0, SyncKind::Mutex),
        };
        event(false, 0, sync)?;
        match times {
            0 => Ok(None),
            1 => {
                self.holder = None;
                Ok(Some(false))
            }
            more => {
                self.holder = Some((thread, more - 1, sync));
                Ok(None)
            }
        }
    }

    fn arrive(&mut self, thread: usize, event: Give<'_>) -> Wakes {
        event(false, self.generation, SyncKind::Barrier { parties: self.parties })?;
        self.arrivals.insert(thread, self.generation);
        self.arrived += 1;
        if self.arrived < self.parties {
            return Ok(None);
        }
        (self.arrived, self.generation) = (0, self.generation + 1);
        Ok(Some(true))
    }

    fn leave(&mut self, thread: usize, event: Give<'_>) -> Wakes {
        if let Some(generation) = self.arrivals.remove(&thread) {
            event(true, generation, SyncKind::Barrier { parties: self.parties })?;
        }
        Ok(None)
    }
}

/// Barriers whose making was not recorded: one thread of each round is told that it is the one, so as many threads take part as there
/// are arrivals for each that was told so.
fn parties(notes: &[Note]) -> HashMap<Word, Object> {
    let mut counts: HashMap<Word, (u64, u64, bool)> = HashMap::new();
    for note in notes {
        let known = |counts: &mut HashMap<Word, (u64, u64, bool)>, n: (u64, u64, bool)| {
            let count = counts.entry((note.pid, note.word)).or_default();
            *count = (count.0 + n.0, count.1 + n.1, count.2 || n.2);
        };
        match note.did {
            Did::Arrive => known(&mut counts, (1, 0, false)),
            Did::Leave(told) => known(&mut counts, (0, told.into(), false)),
            Did::MakeBarrier(_) => known(&mut counts, (0, 0, true)),
            _ => {}
        }
    }
    let found = counts.into_iter().filter_map(|(word, (arrivals, rounds, made))| {
        let parties = arrivals.checked_div(rounds).filter(|n| !made && n * rounds == arrivals)?;
        Some((word, Object { parties: u32::try_from(parties).ok()?, ..Object::default() }))
    });
    found.collect()
}
