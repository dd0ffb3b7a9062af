//! Synchronisation edges: which events wait, and for what.
use super::chance::LONG;
use super::turns::Turns;
use crate::TraceError;
use crate::dataset::DatasetReader;
use crate::event::{Event, EventKind};
use crate::polls::Polls;
use hashbrown::{HashMap, HashSet};
use homenode_base::ring::EPOCH_ALLOCATOR;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What an event means for the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Link {
    /// Object, or `u32::MAX` if the event is no acquire and no release.
    object: u32,
    /// Releases of the object that it follows (those of lower number).
    needs: u32,
    /// Its own place among the releases, or `u32::MAX`.
    release: u32,
}

const NONE: u32 = u32::MAX;
const PENDING: u64 = u64::MAX;

/// The releases of one object in order of number.
#[derive(Debug, Default)]
struct Object {
    /// Virtual time of each release: [`PENDING`] until executed; below `low` the largest so far.
    times: Vec<u64>,
    /// The lowest release that is not executed.
    low: u32,
    /// Threads whose acquire needs more releases than `low`.
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
    links: Vec<Link>,
    /// What is taken in turns, if it matters who is next.
    turns: Turns,
}

/// Object and epoch, number, and whether it acquires and releases.
pub(super) type Halves = ((u64, u64), u64, bool, bool);

/// Acquire and release halves of an event.
pub(super) fn halves(kind: &EventKind) -> Option<Halves> {
    match *kind {
        EventKind::Release { object, epoch, seq } => Some(((object, epoch), seq, false, true)),
        EventKind::Acquire { object, epoch, seq } => Some(((object, epoch), seq, true, false)),
        EventKind::AcqRel { object, epoch, seq } => Some(((object, epoch), seq, true, true)),
        _ => None,
    }
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
    for e in data.events() {
        match e.kind {
            EventKind::Spawn { child } => drop(parents.insert(child, e.thread)),
            EventKind::Release { object, epoch: EPOCH_ALLOCATOR, .. } => {
                let by = freed.entry((data.address_space(e.thread), object)).or_default();
                if by.last() != Some(&e.thread) {
                    by.push(e.thread);
                }
            }
            _ => {}
        }
    }
    let mut found = HashSet::new();
    if freed.is_empty() || parents.len() < 2 {
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

/// Whoever waited for a process follows the ends of its threads. Not where a number stands for two processes.
fn processes(data: &DatasetReader, releases: &mut Vec<Vec<(u64, u32)>>, links: &mut [Link]) {
    let process_of = |thread: u32| data.manifest().threads.get(thread as usize).map_or(NONE, |t| t.process);
    let waited = |(i, e): (usize, &Event)| match e.kind {
        EventKind::Waited { pid } => Some((i, pid, process_of(e.thread))),
        _ => None,
    };
    let waits: Vec<(usize, u32, u32)> = data.events().iter().enumerate().filter_map(waited).collect();
    let mut ends: HashMap<u32, Vec<(u32, u32)>> = HashMap::new();
    for (i, e) in data.events().iter().enumerate().filter(|(_, e)| e.kind == EventKind::Exit && !waits.is_empty()) {
        let process = process_of(e.thread);
        if let Some(p) = data.manifest().processes.get(process as usize) {
            ends.entry(p.pid).or_default().push((i as u32, process));
        }
    }
    let mut ids: HashMap<u32, u32> = HashMap::new();
    for (event, pid, own) in waits {
        let Some(ends) = ends.get(&pid).filter(|ends| ends.iter().all(|e| e.1 == ends[0].1 && e.1 != own)) else {
            continue;
        };
        let id = *ids.entry(pid).or_insert_with(|| {
            let id = releases.len() as u32;
            let numbered = (0..).zip(ends).map(|(n, &(end, _))| {
                links[end as usize] = Link { object: id, needs: 0, release: n };
                (u64::from(n), end)
            });
            releases.push(numbered.collect());
            id
        });
        links[event] = Link { object: id, needs: releases[id as usize].len() as u32, release: NONE };
    }
}

impl Sync {
    /// With `by_turns` objects that threads take again and again go round ([`Turns`]), else as recorded. Errors: a damaged frame.
    pub(super) fn new(data: &DatasetReader, polls: &Polls, by_turns: bool) -> Result<Sync, TraceError> {
        let mut ids: HashMap<(u32, u64, u64), u32> = HashMap::new();
        let mut releases: Vec<Vec<(u64, u32)>> = Vec::new();
        let mut links = vec![Link { object: NONE, needs: 0, release: NONE }; data.events().len()];
        let chance = if by_turns { handed_to_children(data) } else { HashSet::new() };
        let waiting = |i: usize| polls.events.contains(&(i as u32)) || chance.contains(&(i as u32));
        for (i, e) in data.events().iter().enumerate() {
            if waiting(i) {
                continue;
            }
            let Some(((object, epoch), seq, _, is_release)) = halves(&e.kind) else { continue };
            let next = releases.len() as u32;
            let id = *ids.entry((data.address_space(e.thread), object, epoch)).or_insert(next);
            if id == next {
                releases.push(Vec::new());
            }
            links[i].object = id;
            if is_release {
                releases[id as usize].push((seq, i as u32));
            }
        }
        let turns = if by_turns { Turns::find(data, polls, &ids)? } else { Turns::default() };
        (0..).zip(&mut releases).filter(|(id, _)| turns.has(*id)).for_each(|(_, list)| list.clear());
        for list in &mut releases {
            list.sort_unstable();
            list.iter().enumerate().for_each(|(n, &(_, event))| links[event as usize].release = n as u32);
        }
        for (link, e) in links.iter_mut().zip(data.events()) {
            if link.object != NONE
                && let Some((_, seq, true, _)) = halves(&e.kind)
            {
                link.needs = releases[link.object as usize].partition_point(|&(s, _)| s < seq) as u32;
            }
        }
        processes(data, &mut releases, &mut links);
        let objects = releases.iter().map(|r| Object { times: vec![PENDING; r.len()], ..Object::default() }).collect();
        Ok(Sync { objects, links, turns })
    }

    /// Whether the event with this index can happen now; if so, the largest virtual time of what it follows (0 if nothing).
    pub(super) fn ready(&self, event: u32, e: &Event) -> Option<u64> {
        let link = self.links[event as usize];
        if self.turns.has(link.object) {
            return match halves(&e.kind) {
                Some((_, seq, true, _)) => self.turns.ready(link.object, event, e.thread, seq),
                _ => Some(0),
            };
        }
        if link.object == NONE || link.needs == 0 {
            return Some(0);
        }
        let o = &self.objects[link.object as usize];
        (o.low >= link.needs).then(|| o.times[link.needs as usize - 1])
    }

    /// Remembers that the event's thread waits for it to become ready.
    pub(super) fn wait(&mut self, event: u32, e: &Event) {
        let link = self.links[event as usize];
        if self.turns.has(link.object)
            && let Some((_, seq, ..)) = halves(&e.kind)
        {
            return self.turns.wait(link.object, event, e.thread, seq);
        }
        let thread = e.thread;
        self.objects[link.object as usize].waiters.push(Reverse((link.needs, thread)));
    }

    /// The event happens at `time`; threads that no longer wait are appended to `woken`.
    pub(super) fn execute(&mut self, event: u32, e: &Event, time: u64, woken: &mut Vec<u32>) {
        let link = self.links[event as usize];
        if self.turns.has(link.object) {
            return self.turns.execute(link.object, event, e, time, woken);
        }
        if link.object == NONE {
            return;
        }
        let o = &mut self.objects[link.object as usize];
        if !matches!(e.kind, EventKind::Release { .. }) {
            o.taken = (e.thread, time);
        }
        if link.release == NONE {
            return;
        }
        if o.times[..o.low as usize].last().is_none_or(|t| time >= *t) {
            let hands_on = matches!(e.kind, EventKind::Release { epoch: EPOCH_ALLOCATOR, .. });
            let began = match o.taken {
                _ if hands_on => time,
                (thread, began) if thread == e.thread => began,
                _ => 0,
            };
            o.last = (e.thread, began);
        }
        o.times[link.release as usize] = time;
        let mut largest = if o.low > 0 { o.times[o.low as usize - 1] } else { 0 };
        while let Some(t) = o.times.get_mut(o.low as usize).filter(|t| **t != PENDING) {
            largest = largest.max(*t);
            *t = largest;
            o.low += 1;
        }
        while let Some(&Reverse((needs, thread))) = o.waiters.peek()
            && needs <= o.low
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
    pub(super) fn first_by_chance(&self, event: u32, arrived: u64) -> Option<u32> {
        let link = self.links[event as usize];
        if link.object == NONE || self.turns.has(link.object) {
            return None;
        }
        let (first, began) = self.objects[link.object as usize].last;
        (began >= arrived + LONG).then_some(first)
    }
}
