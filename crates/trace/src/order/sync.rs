//! Synchronisation edges: which events wait, and for what.
use super::apart::LONG;
use super::granted::Granted;
use super::releases::{Counted, Releases};
use super::turns::Turns;
use crate::TraceError;
use crate::dataset::DatasetReader;
use crate::event::{Event, EventKind};
use crate::packed::SyncEvent;
pub(super) use crate::packed::{Halves, halves};
use crate::waits::Polls;
use hashbrown::{HashMap, HashSet};
use homenode_base::ring::EPOCH_ALLOCATOR;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What an event means for the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// Number of the event among all.
    pub(super) event: u32,
    /// Object, or [`NONE`] if the event is no acquire and no release.
    object: u32,
    /// Number of the event among the acquires and releases of the object.
    seq: u64,
    /// Releases of the object that it follows (those of lower number).
    needs: u32,
    releases: bool,
}

const NONE: u32 = u32::MAX;

/// What is known of an object besides its releases.
#[derive(Debug, Default)]
struct Object {
    /// Threads whose acquire needs more releases than have happened.
    waiters: BinaryHeap<Reverse<(u32, u32)>>,
    /// Who acquired it last, and when.
    taken: (u32, u64),
    /// Who made the release of the largest virtual time, and when what it ends began (0 if it ends nothing).
    last: (u32, u64),
}

/// All objects. Address spaces keep equal addresses apart.
#[derive(Debug, Default)]
pub(super) struct Sync {
    objects: Vec<Object>,
    releases: Releases,
    /// Acquires and releases that order nothing.
    ignored: HashSet<u32>,
    /// Events that are no acquire or release by themselves but follow others or are followed: object, number, and whether others follow.
    special: HashMap<u32, (u32, u64, bool)>,
    /// What is taken in turns, if it matters who is next.
    turns: Turns,
    /// What somebody else grants.
    granted: Option<Granted>,
}

/// Events of a thread between memory for a new thread and its creation, and references.
const NEAR_EVENTS: usize = 8;
const NEAR_REFS: u64 = 64;

/// Acquisitions of memory by a thread that is about to create another one, where a thread that it has created before gave
/// the memory back: what a thread is started with. Whether the earlier one had ended by then is the host's doing, and
/// nothing in the program puts it before the next one.
fn handed_to_children(data: &DatasetReader) -> HashSet<u32> {
    let mut parents: HashMap<u32, u32> = HashMap::new();
    let mut freed: HashMap<(u32, u64), Vec<u32>> = HashMap::new();
    for (_, e) in data.events().others() {
        if let EventKind::Spawn { child } = e.kind {
            parents.insert(child, e.thread);
        }
    }
    let mut found = HashSet::new();
    if parents.len() < 2 {
        return found;
    }
    for e in data.events() {
        if let EventKind::Release { object, epoch: EPOCH_ALLOCATOR, .. } = e.kind {
            let by = freed.entry((data.address_space(e.thread), object)).or_default();
            if by.last() != Some(&e.thread) {
                by.push(e.thread);
            }
        }
    }
    if freed.is_empty() {
        return found;
    }
    for thread in 0..data.threads() {
        for (n, spawn) in data.thread_events(thread).enumerate() {
            if !matches!(spawn.kind, EventKind::Spawn { .. }) {
                continue;
            }
            for back in n.saturating_sub(NEAR_EVENTS)..n {
                let Some(e) = data.thread_event(thread, back).filter(|e| e.at + NEAR_REFS >= spawn.at) else {
                    continue;
                };
                let EventKind::Acquire { object, epoch: EPOCH_ALLOCATOR, .. } = e.kind else { continue };
                let by = freed.get(&(data.address_space(thread), object));
                if by.is_some_and(|by| by.iter().all(|t| *t == thread || parents.get(t) == Some(&thread))) {
                    found.insert(data.event_index(thread, back));
                }
            }
        }
    }
    found
}

/// Whoever waited for a process follows the ends of its threads. Not where a number stands for two processes. Lists of their
/// own, behind those that are counted.
fn processes(data: &DatasetReader, counted: &mut Counted) -> HashMap<u32, (u32, u64, bool)> {
    let process_of = |thread: u32| data.manifest().threads.get(thread as usize).map_or(NONE, |t| t.process);
    let (mut waits, mut ends) = (Vec::new(), HashMap::<u32, Vec<(u32, u32)>>::new());
    let mut walk = data.events().iter();
    while let Some((thread, i, item)) = walk.item() {
        match item.other().map(|e| &e.kind) {
            Some(EventKind::Waited { pid }) => waits.push((i, *pid, process_of(thread))),
            Some(EventKind::Exit) => {
                let process = process_of(thread);
                if let Some(p) = data.manifest().processes.get(process as usize) {
                    ends.entry(p.pid).or_default().push((i, process));
                }
            }
            _ => {}
        }
    }
    let (mut special, mut ids) = (HashMap::new(), HashMap::new());
    for (event, pid, own) in waits {
        let Some(ends) = ends.get(&pid).filter(|ends| ends.iter().all(|e| e.1 == ends[0].1 && e.1 != own)) else {
            continue;
        };
        let id = *ids.entry(pid).or_insert_with(|| {
            let id = counted.add_list();
            for (seq, &(end, _)) in (0..).zip(ends) {
                counted.count(id, seq);
                special.insert(end, (id, seq, true));
            }
            id
        });
        special.insert(event, (id, ends.len() as u64, false));
    }
    special
}

impl Sync {
    /// With `by_turns` objects that threads take again and again go round ([`Turns`]), else as recorded. Errors: a damaged frame.
    pub(super) fn new(
        data: &DatasetReader,
        polls: &Polls,
        by_turns: bool,
        granted: Option<Granted>,
    ) -> Result<Sync, TraceError> {
        let mut ignored = if by_turns { handed_to_children(data) } else { HashSet::new() };
        ignored.extend(&polls.events);
        let turns = if by_turns { Turns::find(data, polls)? } else { Turns::default() };
        let keys = data.events().objects();
        let mut counted = Counted::new(keys.len());
        // A barrier may have the address and the epoch of something else, which must not wait for what the caller grants.
        let is_granted = |s: &SyncEvent| {
            let (space, object, _) = keys[s.object as usize];
            granted.as_ref().is_some_and(|g| g.place(data.shared(), (space, object), s.sync).is_some())
        };
        let each = |f: &mut dyn FnMut(u32, u64)| {
            for thread in 0..data.threads() {
                let mut walk = data.thread_events(thread);
                let first = data.event_index(thread, 0);
                while let Some(item) = walk.item() {
                    if let Some(s) = item.sync().filter(|s| s.releases && !turns.has(s.object) && !is_granted(s))
                        && (ignored.is_empty() || !ignored.contains(&(first + walk.done() - 1)))
                    {
                        f(s.object, s.seq);
                    }
                }
            }
        };
        each(&mut |object, seq| counted.count(object, seq));
        let special = processes(data, &mut counted);
        let lists = counted.len();
        let mut releases = Releases::new(counted);
        each(&mut |object, seq| releases.enter(object, seq));
        special.values().filter(|s| s.2).for_each(|&(id, seq, _)| releases.enter(id, seq));
        releases.sort();
        let mut objects = Vec::new();
        objects.resize_with(lists, Object::default);
        Ok(Sync { objects, releases, ignored, special, turns, granted })
    }

    /// As before the first event.
    pub(super) fn reset(&mut self) {
        self.objects.iter_mut().for_each(|o| *o = Object::default());
        self.releases.reset();
        self.turns.reset();
    }

    /// What an event means, given its number.
    pub(super) fn link(&self, data: &DatasetReader, event: u32, e: &Event) -> Link {
        let nothing = Link { event, object: NONE, seq: 0, needs: 0, releases: false };
        let (object, seq, acquires, releases) = match halves(&e.kind) {
            Some(_)
                if self
                    .granted
                    .as_ref()
                    .is_some_and(|g| g.object(data.shared(), data.address_space(e.thread), e).is_some()) =>
            {
                return nothing;
            }
            Some(_) if !self.ignored.is_empty() && self.ignored.contains(&event) => return nothing,
            Some(Halves { object: (object, epoch), seq, acquires, releases, .. }) => {
                let number = data.events().object((data.address_space(e.thread), object, epoch));
                (number.unwrap_or(NONE), seq, acquires, releases)
            }
            None => match self.special.get(&event) {
                Some(&(object, seq, releases)) => (object, seq, !releases, releases),
                None => return nothing,
            },
        };
        if object == NONE {
            return nothing;
        }
        let needs = if acquires && !self.turns.has(object) { self.releases.before(object, seq) } else { 0 };
        Link { event, object, seq, needs, releases }
    }

    /// Whether the event can happen now; if so, the largest virtual time of what it follows (0 if nothing).
    pub(super) fn ready(&self, link: &Link, e: &Event) -> Option<u64> {
        if self.turns.has(link.object) {
            return match halves(&e.kind) {
                Some(Halves { seq, acquires: true, .. }) => self.turns.ready(link.object, link.event, e.thread, seq),
                _ => Some(0),
            };
        }
        if link.object == NONE || link.needs == 0 {
            return Some(0);
        }
        self.releases.ready(link.object, link.needs)
    }

    /// Remembers that the event's thread waits for it to become ready.
    pub(super) fn wait(&mut self, link: &Link, e: &Event) {
        if self.turns.has(link.object) {
            return self.turns.wait(link.object, link.event, e.thread, link.seq);
        }
        self.objects[link.object as usize].waiters.push(Reverse((link.needs, e.thread)));
    }

    /// The event happens at `time`; threads that no longer wait are appended to `woken`.
    pub(super) fn execute(&mut self, link: &Link, e: &Event, time: u64, woken: &mut Vec<u32>) {
        if self.turns.has(link.object) {
            return self.turns.execute(link.object, link.event, e, time, woken);
        }
        if link.object == NONE {
            return;
        }
        let o = &mut self.objects[link.object as usize];
        if !matches!(e.kind, EventKind::Release { .. }) {
            o.taken = (e.thread, time);
        }
        if !link.releases {
            return;
        }
        let low = self.releases.low(link.object);
        if self.releases.ready(link.object, low).is_none_or(|t| time >= t) {
            let hands_on = matches!(e.kind, EventKind::Release { epoch: EPOCH_ALLOCATOR, .. });
            let began = match o.taken {
                _ if hands_on => time,
                (thread, began) if thread == e.thread => began,
                _ => 0,
            };
            o.last = (e.thread, began);
        }
        self.releases.execute(link.object, link.seq, time);
        let low = self.releases.low(link.object);
        while let Some(&Reverse((needs, thread))) = o.waiters.peek()
            && needs <= low
        {
            o.waiters.pop();
            woken.push(thread);
        }
    }

    /// Nobody can go on: lets go of what only the order of turns forbids. Whether that helps.
    pub(super) fn give_up(&mut self, woken: &mut Vec<u32>) -> bool {
        self.turns.give_up(woken)
    }

    /// Who made what the event follows, if that began long after the event's thread `arrived`.
    pub(super) fn first_by_chance(&self, link: &Link, arrived: u64) -> Option<u32> {
        if link.object == NONE || self.turns.has(link.object) {
            return None;
        }
        let (first, began) = self.objects[link.object as usize].last;
        (began >= arrived + LONG).then_some(first)
    }
}
