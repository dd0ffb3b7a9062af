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
use super::releases::Releases;
use crate::event::{Event, EventKind};
use hashbrown::HashMap;
use std::collections::VecDeque;

/// A lock or word: objects of one address that differ by epoch only.
#[derive(Debug, Default)]
pub(super) struct Family {
    pub(super) address: u64,
    /// Which of [`Turns::teams`] takes it regularly.
    pub(super) team: u32,
    /// Index of the team's first thread in [`Turns::kinds`] and [`Turns::so_far`].
    pub(super) first: u32,
    /// Whether turns exclude each other.
    pub(super) exclusive: bool,
    holder: Option<u32>,
    /// Whose turn is next.
    next: Option<u32>,
    /// First come first.
    waiting: VecDeque<Waiter>,
    /// Virtual time of the last release.
    last: u64,
}

impl Family {
    pub(super) fn new(address: u64, team: u32, first: u32) -> Family {
        Family { address, team, first, ..Family::default() }
    }
}

/// A thread that waits for an acquire.
#[derive(Clone, Copy, Debug)]
struct Waiter {
    thread: u32,
    event: u32,
    object: u32,
    seq: u64,
}

/// One object of a family.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared {
    pub(super) family: u32,
    /// List of the releases by the first regular thread; those by the others follow, and then one of all threads that are not regular.
    pub(super) list: u32,
    /// The family's team.
    pub(super) team: u32,
    /// Whether some event of the family releases alone, and so ends a turn that another one began.
    pub(super) ends: bool,
}

/// Which objects are taken in turns, by object; nothing at all if none is.
#[derive(Debug, Default)]
pub(super) struct Objects(Vec<Shared>);

/// Family of what is in none.
const NO_FAMILY: u32 = u32::MAX;

impl Objects {
    /// Of so many objects none.
    pub(super) fn none(objects: usize) -> Objects {
        Objects(vec![Shared { family: NO_FAMILY, list: 0, team: 0, ends: false }; objects])
    }
    pub(super) fn insert(&mut self, object: u32, shared: Shared) {
        self.0[object as usize] = shared;
    }
    #[inline]
    pub(super) fn get(&self, object: u32) -> Option<Shared> {
        self.0.get(object as usize).copied().filter(|s| s.family != NO_FAMILY)
    }
    /// Every object that is, in the order of their numbers.
    pub(super) fn all(&self) -> impl Iterator<Item = &Shared> {
        self.0.iter().filter(|s| s.family != NO_FAMILY)
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Turns {
    pub(super) families: Vec<Family>,
    /// Threads that take some family regularly, ascending; each such set once.
    pub(super) teams: Vec<Vec<u32>>,
    /// By family and thread of its team: equal for those that do the same there.
    pub(super) kinds: Vec<u32>,
    /// By family and thread of its team: releases so far.
    pub(super) so_far: Vec<u32>,
    pub(super) objects: Objects,
    pub(super) releases: Releases,
    /// By list, where a family has two objects: the turn of each release. Elsewhere they are counted.
    pub(super) turns: HashMap<u32, Vec<u32>>,
    /// Events that begin a turn which a later release ends, a bit each.
    pub(super) opens: Vec<u64>,
    /// Families whose turns no longer exclude each other, as nobody could go on.
    given_up: Vec<u32>,
}

impl Turns {
    /// How many releases of a list have a lower number and at most this turn.
    fn within(&self, list: u32, seq: u64, turn: u32) -> u32 {
        let n = self.turns.get(&list).map_or(turn, |turns| turns.partition_point(|t| *t <= turn) as u32);
        self.releases.within(list, n, seq)
    }

    /// Whether this object is one of them.
    pub(super) fn has(&self, object: u32) -> bool {
        self.objects.get(object).is_some()
    }

    fn opens(&self, event: u32) -> bool {
        self.opens[event as usize / 64] >> (event % 64) & 1 == 1
    }

    /// Whether an acquire of `object` with this number can happen now; if so, the largest virtual time of what it follows.
    pub(super) fn ready(&self, object: u32, event: u32, thread: u32, seq: u64) -> Option<u64> {
        let shared = self.objects.get(object)?;
        let (f, team) = (&self.families[shared.family as usize], &self.teams[shared.team as usize]);
        let others = shared.list + team.len() as u32;
        let mut floor = self.releases.ready(others, self.releases.before(others, seq))?;
        let slot = team.binary_search(&thread);
        let (kinds, so_far) = (&self.kinds[f.first as usize..], &self.so_far[f.first as usize..]);
        for (i, list) in (shared.list..others).enumerate().filter(|(i, _)| Ok(*i) != slot) {
            let needs = match slot {
                Ok(slot) => self.within(list, seq, so_far[slot] + u32::from(kinds[slot] != kinds[i])),
                Err(_) => self.releases.before(list, seq),
            };
            floor = floor.max(self.releases.ready(list, needs)?);
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
        let Some(Shared { family, .. }) = self.objects.get(object) else { return };
        let waiting = &mut self.families[family as usize].waiting;
        if waiting.iter().all(|w| w.thread != thread) {
            waiting.push_back(Waiter { thread, event, object, seq });
        }
    }

    /// An event of `object` happens; threads that may go on are appended to `woken`.
    pub(super) fn execute(&mut self, object: u32, event: u32, e: &Event, time: u64, woken: &mut Vec<u32>) {
        let Some(shared) = self.objects.get(object) else { return };
        let opens = self.opens(event);
        let family = shared.family;
        let f = &mut self.families[family as usize];
        if f.next == Some(e.thread) {
            f.next = None;
        }
        if let EventKind::Release { seq, .. } | EventKind::AcqRel { seq, .. } = e.kind {
            let team = &self.teams[shared.team as usize];
            let slot = team.binary_search(&e.thread);
            if let Ok(slot) = slot {
                self.so_far[f.first as usize + slot] += 1;
            }
            self.releases.execute(shared.list + slot.unwrap_or(team.len()) as u32, seq, time);
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
                self.given_up.push(family);
                self.wake(family, woken);
                if !woken.is_empty() {
                    return true;
                }
            }
        }
        false
    }

    /// As before the first event.
    pub(super) fn reset(&mut self) {
        for f in &mut self.families {
            (f.holder, f.next, f.last) = (None, None, 0);
            f.waiting.clear();
        }
        for family in self.given_up.drain(..) {
            self.families[family as usize].exclusive = true;
        }
        self.so_far.fill(0);
        self.releases.reset();
    }
}
